"""Numbers that may be symbols: `SymInt`, `SymFloat`, `SymBool`, and functions that stand for Python's operators on them.

A symbolic number has a `node` with its expression and the environment that knows it (`torch.fx.experimental.sym_node`). Operators give new ones; asking
for the plain number (`int(s)`, `bool(s > 2)`) records a guard: the program goes on with the number of the example, and holds for such examples only.
"""

import math as _math
import numbers as _numbers

__all__ = ["SymBool", "SymFloat", "SymInt", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
           "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]  # fmt: skip


class _Symbolic:
    """The part that the three have in common."""

    __slots__ = ()

    def __repr__(self):
        return self.node.str()

    def __format__(self, spec):
        return format(str(self), spec)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __sym_float__(self):
        return self.node.combine("float")


class SymInt(_Symbolic):
    """An integer that may be any of a range: a size of a tensor whose shape is symbolic.

    >>> fake, shapes = torch._subclasses.fake_tensor, torch.fx.experimental.symbolic_shapes
    >>> mode = fake.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 6), static_shapes=False)
    >>> x.shape[0] * 2 + x.shape[1]
    2*s26 + s49
    >>> bool(x.shape[0] > 3), mode.shape_env.format_guards().strip()
    (True, '- s26 > 3')
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node):
        self.node = node

    def __bool__(self):
        return bool(self != 0)

    def __int__(self):
        return self.node.int_()

    __index__ = __int__

    def __float__(self):
        return float(self.node.int_())

    def __hash__(self):
        if self.node.is_nested_int():
            return hash(self.node.nested_int())
        raise TypeError("unhashable type: non-nested SymInt")

    def __pos__(self):
        return self

    def __trunc__(self):
        return self

    __floor__ = __ceil__ = conjugate = __trunc__

    def __round__(self, ndigits=None):
        return self

    def bit_length(self):
        """The bits that the number of the example takes, which becomes a guard."""
        return int(self).bit_length()

    def as_integer_ratio(self):
        """The number and 1."""
        return self, 1

    @property
    def real(self):
        """The number itself."""
        return self

    numerator = real


class SymFloat(_Symbolic):
    """A float that follows from symbolic integers, or that only the data tells.

    >>> fake, shapes = torch._subclasses.fake_tensor, torch.fx.experimental.symbolic_shapes
    >>> mode = fake.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4), static_shapes=False)
    >>> x.shape[0] / 3
    IntTrueDiv(s26, 3)
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node):
        self.node = node

    def __bool__(self):
        return bool(self != 0.0)

    def __float__(self):
        return self.node.guard_float("", 0)

    def __int__(self):
        return int(self.__trunc__())

    def __hash__(self):
        return hash(float(self))

    def __pos__(self):
        return self

    def __trunc__(self):
        return self.node.combine("trunc")

    def __floor__(self):
        return self.node.combine("floor")

    def __ceil__(self):
        return self.node.combine("ceil")

    def __round__(self, ndigits=None):
        return self.node.combine("round") if ndigits is None else round(float(self), ndigits)

    def conjugate(self):
        """The number itself."""
        return self

    def is_integer(self):
        """Whether there is nothing after the point, as a SymBool."""
        return self == sym_float(self.__floor__())

    def as_integer_ratio(self):
        """Two integers whose quotient is the number of the example, which becomes a guard."""
        return float(self).as_integer_ratio()

    def hex(self):
        """The number of the example in hexadecimal; it becomes a guard."""
        return float(self).hex()


class SymBool(_Symbolic):
    """A truth value that follows from symbolic numbers. As a condition it is that of the example, which becomes a guard.

    >>> fake, shapes = torch._subclasses.fake_tensor, torch.fx.experimental.symbolic_shapes
    >>> mode = fake.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4), static_shapes=False)
    >>> x.shape[0] % 3 == 0
    Eq(Mod(s26, 3), 0)
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node):
        self.node = node

    def __bool__(self):
        return bool(self.node.bool_())

    def __int__(self):
        return int(bool(self))

    def __hash__(self):
        return hash(bool(self))

    def __sym_not__(self):
        return self.node.combine("not")

    def __sym_ite__(self, then, otherwise):
        return self.node.combine("ite", then, otherwise)


_NUMBERS = (int, float, bool, SymInt, SymFloat, SymBool)


def _two(operation, swapped=False):
    def run(self, other):
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        return self.node.combine_from(operation, other) if swapped else self.node.combine(operation, other)

    return run


def _one(operation):
    return lambda self: self.node.combine(operation)


def _add_operators():
    arithmetic = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod", "pow": "pow"}
    bits = {"and": "bitand", "or": "bitor", "xor": "bitxor", "lshift": "lshift", "rshift": "rshift"}
    for cls, names in ((SymInt, {**arithmetic, **bits}), (SymFloat, arithmetic), (SymBool, {"and": "and", "or": "or"})):
        for name, operation in names.items():
            setattr(cls, f"__{name}__", _two(operation))
            setattr(cls, f"__r{name}__", _two(operation, swapped=True))
    for name in ("int_truediv", "float_truediv", "int_floordiv", "float_pow", "pow_by_natural"):
        operation = {"int_truediv": "truediv", "float_truediv": "truediv", "int_floordiv": "floordiv"}.get(name, "pow")
        for cls in (SymInt, SymFloat):
            setattr(cls, f"__{name}__", _two(operation))
            setattr(cls, f"__r{name}__", _two(operation, swapped=True))
    for name in ("add", "sub", "mul"):  # a truth value counts as 0 or 1
        setattr(SymBool, f"__{name}__", lambda self, other, name=name: getattr(_as_int(self), f"__{name}__")(other))
        setattr(SymBool, f"__r{name}__", lambda self, other, name=name: getattr(_as_int(self), f"__r{name}__")(other))
    for cls in (SymInt, SymFloat, SymBool):
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            setattr(cls, f"__{name}__", _two(name))
        cls.__sym_max__, cls.__sym_min__ = _two("max"), _two("min")
    for cls in (SymInt, SymFloat):
        cls.__neg__, cls.__abs__ = _one("neg"), _one("abs")
        for name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2"):
            setattr(cls, f"__sym_{name}__", _one(name))


def _as_int(truth):
    return truth.node.combine("ite", 1, 0)


_add_operators()


def _number(value):
    if isinstance(value, (int, float, SymInt, SymFloat)):
        return value
    if isinstance(value, _numbers.Real):  # NumPy's
        return int(value) if isinstance(value, _numbers.Integral) else float(value)
    raise AssertionError(f"expected a number, got {type(value)}")


def sym_int(a):
    """The number rounded towards zero, as an int.

    >>> torch.sym_int(-2.7)
    -2
    """
    return a if isinstance(a, SymInt) else a.__trunc__() if isinstance(a, SymFloat) else int(a)


def sym_float(a):
    """The number as a float.

    >>> torch.sym_float(2)
    2.0
    """
    return a if isinstance(a, SymFloat) else a.__sym_float__() if isinstance(a, _Symbolic) else float(a)


def sym_not(a):
    """Whether the value is false.

    >>> torch.sym_not(True)
    False
    """
    return a.__sym_not__() if isinstance(a, SymBool) else not a


def sym_max(a, b):
    """The larger of two numbers; a float if one of them is. AssertionError for what is no number.

    >>> torch.sym_max(2, 3.0)
    3.0
    """
    return _extreme("max", max, a, b)


def sym_min(a, b):
    """The smaller of two numbers; a float if one of them is. AssertionError for what is no number.

    >>> torch.sym_min(2, 3.0)
    2.0
    """
    return _extreme("min", min, a, b)


def _extreme(operation, plain, a, b):
    a, b = _number(a), _number(b)
    if isinstance(a, _Symbolic):
        return a.node.combine(operation, b)
    if isinstance(b, _Symbolic):
        return b.node.combine(operation, a)
    out = plain(a, b)
    return float(out) if isinstance(a, float) or isinstance(b, float) else out


def sym_ite(b, t, f):
    """`t` where `b` is true, `f` elsewhere. AssertionError for a condition that is no bool, and for values of different types.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if isinstance(b, SymBool):
        return b.__sym_ite__(t, f)
    if not isinstance(b, bool):
        raise AssertionError(f"sym_ite: expected a bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"sym_ite: expected values of one type, got {type(t)} and {type(f)}")
    return t if b else f


def _function(name):
    def of(a):
        return a.node.combine(name) if isinstance(a, _Symbolic) else getattr(_math, name)(a)

    of.__name__ = of.__qualname__ = f"_sym_{name}"
    return of


def sym_sqrt(a):
    """The square root of a number.

    >>> torch.sym_sqrt(4)
    2.0
    """
    return _sym_sqrt(a)


_sym_sqrt, _sym_cos, _sym_cosh, _sym_sin, _sym_sinh, _sym_tan, _sym_tanh, _sym_asin, _sym_acos, _sym_atan, _sym_log2 = (
    _function(name) for name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")
)


def sym_sum(args):
    """The sum of a list of numbers.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def sym_fresh_size(expr):
    """The size itself.

    >>> torch.sym_fresh_size(3)
    3
    """
    return expr


def sym_constrain_range(size, *, min=None, max=None):  # noqa: A002
    """The size lies within min..max from now on. RuntimeError for a number outside.

    >>> torch.sym_constrain_range(3, min=1, max=4)
    """
    if isinstance(size, SymInt):
        for holds in ([] if min is None else [size >= min]) + ([] if max is None else [size <= max]):
            if isinstance(holds, SymBool):
                holds.node.expect_true("", 0)
        return
    low, high = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    if not low <= int(size) <= high:
        raise RuntimeError(f"Invalid value range for {int(size)} between [{low}, {high}].")


def sym_constrain_range_for_size(size, *, min=None, max=None):  # noqa: A002
    """The same for a size, which is at least 0.

    >>> torch.sym_constrain_range_for_size(3, max=4)
    """
    sym_constrain_range(size, min=0 if min is None else min, max=max)
