"""What a name that is not there raises: the error names it and says where progress is tracked."""

import sys

_TRACKED = "docs/parity.md tells what is there"


def error(module, name):
    """The exception for a module's `__getattr__` to raise."""
    import opcode

    frame = sys._getframe(2)
    what = f"{name!r} from {module!r}"
    # `from torch import x` would replace an AttributeError by words of its own.
    if frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {what}: Cresset has none ({_TRACKED})", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r} ({_TRACKED})", name=name, obj=sys.modules.get(module))
