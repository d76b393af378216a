"""Code objects as lists of instructions, their tables of handlers, and copies with a trap."""

import dis
import functools

import _cresset_compile

from .dialects import RETURN_ENDS_FRAME, RETURNS, decoded

TRAP = _cresset_compile.TRAP
_RETURN, _LOAD_CONST, _EXIT = dis.opmap["RETURN_VALUE"], dis.opmap["LOAD_CONST"], dis.opmap.get("INTERPRETER_EXIT")


class Listing:
    """The instructions of a code object; `index` finds one by its offset, `slots` names its variables, cells and free variables."""

    def __init__(self, code):
        self.instructions, self.index = decoded(code)
        self.handlers = dis._parse_exception_table(code)
        self.slots = _slots(code)
        self.num_cells = len(code.co_cellvars)

    def handler(self, offset):
        """The handler of errors of the instruction at an offset; None without one."""
        for row in self.handlers:
            if row.start <= offset < row.end:
                return row
        return None


def _slots(code):
    """Names by number: variables, then cells that are no variables, then free variables."""
    return [*code.co_varnames, *(name for name in code.co_cellvars if name not in code.co_varnames), *code.co_freevars]


_known = {}


def listing(code):
    """The listing of a code object."""
    known = _known.get(id(code))
    if known is None or known[0] is not code:
        known = _known[id(code)] = code, Listing(code)
    return known[1]


def forget():
    """Drops all listings."""
    _known.clear()


def call_start(instructions, index):
    """The index where a call begins: that of the names of its keywords, or of its preparation."""
    while index > 0 and instructions[index - 1].name in ("PRECALL", "KW_NAMES"):
        index -= 1
    return index


@functools.lru_cache(4096)
def with_trap(code, end, depth):
    """A copy of a code object that stops at the offset `end`, where the stack has `depth` values: (copy, offset of the trap, whether it returns TRAP).

    Where the code returns there anyway the copy is the code itself, and the trap is nowhere.
    """
    body = bytearray(code.co_code)
    if body[end] in RETURNS:
        return code, -2, False
    if RETURN_ENDS_FRAME:
        body[end : end + 2] = bytes((_EXIT, 0))
        return code.replace(co_code=bytes(body)), end, False
    if depth > 0:
        body[end : end + 2] = bytes((_RETURN, 0))
        return code.replace(co_code=bytes(body)), end, False
    number = len(code.co_consts)
    if number > 255:
        return None
    body[end : end + 4] = bytes((_LOAD_CONST, number, _RETURN, 0))
    return code.replace(co_code=bytes(body), co_consts=(*code.co_consts, TRAP)), end + 2, True


@functools.lru_cache(4096)
def with_return(code):
    """A code object, itself or a copy of it, and an offset where it returns what is on the stack."""
    instructions = listing(code).instructions
    for one in instructions:
        if one.name == "RETURN_VALUE":
            return code, one.offset
    last = next((one for one in instructions if one.name == "RETURN_CONST"), instructions[-1]).offset
    body = bytearray(code.co_code)
    body[last : last + 2] = bytes((_RETURN, 0))
    return code.replace(co_code=bytes(body)), last
