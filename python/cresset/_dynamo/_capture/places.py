"""Numbers of the kinds of places and checks of guards (python/bind_compile/guards.h)."""

(SLOT, STACK, GLOBALS, BUILTINS, CONST, CONTENTS, ATTR, MEMBER, TYPE_ATTR, TYPE, ITEM, INDEX, DICT, SELF, FUNCTION, CODE, CLOSURE, GRAD,
 REFERENT, SEEN) = range(20)  # fmt: skip
IS, OF_TYPE, EQUAL, LENGTH, KEYS, BOUND, MISSING, TENSOR, SAME, FORMULA = range(10)
RETURN, STEP, JUMP, PLAIN = range(4)
GENERAL, ONE, TUPLE = range(3)
