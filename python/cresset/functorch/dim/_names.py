"""The names that the results of a call are assigned to, read from the caller's code."""

import dis
import functools
import sys

_NOT_NAMES = {"STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE"}


def _stored(instruction):
    """Names that an instruction stores, or None where it stores elsewhere."""
    operation = instruction.opname
    if not operation.startswith("STORE_") or operation in _NOT_NAMES:
        return None
    if isinstance(instruction.argval, tuple):  # two steps in one instruction
        return instruction.argval[: operation.count("STORE_FAST")]
    return (instruction.argval,)


@functools.lru_cache(4096)
def _targets_at(code, offset):
    after = (i for i in dis.get_instructions(code) if i.offset > offset and i.opname not in ("CACHE", "EXTENDED_ARG"))
    first = next(after, None)
    if first is None:
        return None, ()
    if first.opname != "UNPACK_SEQUENCE":
        names = _stored(first)
        return (1, names[:1]) if names else (None, ())
    names = []
    for instruction in after:
        stored = _stored(instruction)
        if stored is None or len(names) >= first.arg:
            break
        names.extend(stored)
    return first.arg, tuple(names[: first.arg])


def targets(depth):
    """(how many targets the call's results are assigned to, None where they are not; those names that are plain, up to the first that
    is not) of the frame `depth` above the caller."""
    frame = sys._getframe(depth + 1)
    return _targets_at(frame.f_code, frame.f_lasti)
