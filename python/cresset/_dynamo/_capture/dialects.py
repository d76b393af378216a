"""The instructions of CPython 3.11 to 3.13 as those that the machine executes: all that differs between their bytecodes, but for frames, is here."""

import dis
import sys

_VERSION = sys.version_info[:2]
#: Whether the marker that is pushed with a function that is called lies below it.
NULL_BELOW = _VERSION < (3, 13)
#: Whether a return ends the frame itself, not the caller of its evaluation.
RETURN_ENDS_FRAME = _VERSION >= (3, 12)
#: Instructions that return, by their numbers.
RETURNS = frozenset(dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap)

#: How many instructions at the end of a jump take from the stack what the machine has taken already.
_TAKEN = {("FOR_ITER", "END_FOR"): 1 if _VERSION < (3, 13) else 2, ("SEND", "END_SEND"): 1}
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_RENAMED = {
    "JUMP_FORWARD": "JUMP", "JUMP_BACKWARD": "JUMP", "JUMP_BACKWARD_NO_INTERRUPT": "JUMP", "LOAD_FAST_CHECK": "LOAD_FAST", "GET_YIELD_FROM_ITER": "GET_ITER",
    "POP_JUMP_FORWARD_IF_TRUE": "POP_JUMP_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE": "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_FALSE": "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_NONE": "POP_JUMP_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE": "POP_JUMP_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE",
}  # fmt: skip
_INTRINSICS = {3: "STOPITERATION_ERROR", 5: "UNARY_POSITIVE", 6: "LIST_TO_TUPLE"}
_FORMATS = {"FORMAT_SIMPLE": 0, "FORMAT_WITH_SPEC": 4}


class Instruction:
    """One instruction. `begin` is the offset where it starts with its prefixes (extended arguments)."""

    __slots__ = ("arg", "begin", "cells", "jump", "line", "loop", "name", "offset", "real", "value")

    def __init__(self, one, begin, line):
        self.name, self.arg, self.value, self.offset, self.begin, self.line = one.opname, one.arg, one.argval, one.offset, begin, line
        self.real = one.opcode, one.arg
        self.jump = None  # index of the instruction that it jumps to
        self.loop = None  # of the one that begins a comprehension: the index after its loop, and what that adds to the depth of the stack

    def effect(self):
        """The change of the depth of the stack where it does not jump."""
        return dis.stack_effect(*self.real, jump=False)


def decoded(code):
    """The instructions of a code object, and the index of each by its offset."""
    found, index = [], {}
    cells = _cells(code)
    begin, line = None, code.co_firstlineno
    for one in dis.get_instructions(code):
        line = one.positions.lineno or line
        index[one.offset] = len(found)
        if one.opname == "EXTENDED_ARG":
            begin = one.offset if begin is None else begin
            continue
        made = Instruction(one, one.offset if begin is None else begin, line)
        begin = None
        if found and found[-1].name == "TO_BOOL" and made.name.startswith("POP_JUMP_IF_"):
            index[one.offset] -= 1
            made.offset = made.begin = found.pop().offset
        _rename(made, cells)
        found.append(made)
    for made in found:
        if made.real[0] in _JUMPS:
            made.jump = _target(found, made, index[made.value])
    for i, made in enumerate(found):
        if made.name == "GET_ITER":
            made.loop = _comprehension(found, i)
    return found, index


def _cells(code):
    """Numbers of the variables that are cells."""
    names = [*code.co_varnames, *(name for name in code.co_cellvars if name not in code.co_varnames), *code.co_freevars]
    return {i for i, name in enumerate(names) if name in code.co_cellvars or i >= len(names) - len(code.co_freevars)}


def _target(found, made, target):
    """Where a jump leads: past the instructions that only take from the stack what the machine has taken already."""
    return target + _TAKEN.get((made.name, found[target].name), 0)


def _rename(made, cells):
    name, arg = made.name, made.arg
    made.name = _RENAMED.get(name, name)
    if name == "LOAD_GLOBAL" and arg & 1:
        made.name = "LOAD_GLOBAL_TO_CALL"
    elif name == "LOAD_ATTR" and _VERSION >= (3, 12) and arg & 1:
        made.name = "LOAD_METHOD"
    elif name == "LOAD_SUPER_ATTR":
        made.name = "LOAD_SUPER_METHOD" if arg & 1 else name
        made.arg = arg & 2
    elif name == "LOAD_FAST" and arg in cells:
        made.name = "LOAD_CLOSURE"
    elif name in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
        made.arg, made.cells = (arg >> 4, arg & 15), cells
    elif name == "COMPARE_OP" and _VERSION >= (3, 13) and arg & 16:
        made.name = "COMPARE_TO_BOOL"
    elif name == "CALL_INTRINSIC_1":
        made.name = _INTRINSICS.get(arg, name)
    elif name in _FORMATS:
        made.name, made.arg = "FORMAT_VALUE", _FORMATS[name]
    elif name == "MAKE_FUNCTION":
        made.arg = arg or 0


def _comprehension(found, start):
    """The `loop` of a comprehension, which is a function that is called at once, or from 3.12 on part of the code; None for another loop."""
    at = start + 1
    names = [one.name for one in found[at : at + 2]]
    if names == ["PRECALL", "CALL"] and found[at].arg == 0:
        return at + 2, -1
    while at < len(found) and found[at].name in ("LOAD_FAST_AND_CLEAR", "MAKE_CELL"):
        at += 1
    put_away = sum(one.name == "LOAD_FAST_AND_CLEAR" for one in found[start + 1 : at])
    loop = next((one for one in found[at : at + 4] if one.name == "FOR_ITER"), None)
    return (loop.jump, put_away) if put_away and loop is not None else None
