"""`custom_op` and its object, where PyTorch has them.

>>> torch._library.custom_ops.custom_op is torch.library.custom_op
True
"""

_NAMES = {"CustomOpDef": "CustomOpDef", "custom_op": "custom_op", "OPDEFS": "_of_functions"}


def __getattr__(name):
    from .. import library

    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(library, _NAMES[name])


def _maybe_get_opdef(op):
    """The object that `custom_op` made, of itself, an overload or a name; None for other operators."""
    from ..library import CustomOpDef, _of_functions

    if isinstance(op, CustomOpDef):
        return op
    return _of_functions.get(op if isinstance(op, str) else op._name)
