"""Values that go into operators of programs and come out of them, as the types of their schemas have them."""

import enum
import operator

import cresset as torch

UNFIT = object()  # stands for a value that is none of the type
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _as_int(value):
    if type(value) is int:
        return value if -(2**63) <= value < 2**63 else UNFIT
    if isinstance(value, torch.SymInt):
        return value
    if isinstance(value, torch.Tensor):
        return int(value) if value.numel() == 1 else UNFIT
    if isinstance(value, (float, str, complex)):
        return UNFIT
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":  # NumPy's truth values are no indices
        return int(value)
    try:
        return operator.index(value) if hasattr(value, "__index__") else int(value)
    except (TypeError, ValueError):
        return UNFIT


def _as_float(value):
    if type(value) is float or isinstance(value, (torch.SymFloat, torch.SymInt)):
        return value
    if isinstance(value, torch.Tensor) and (value.numel() != 1 or value.is_complex()):
        return UNFIT
    if isinstance(value, (str, complex)):
        return UNFIT
    try:
        return float(value)
    except (TypeError, ValueError):
        return UNFIT


def _as_bool(value):
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, torch.SymBool):
        return value
    if isinstance(value, torch.Tensor):
        return bool(value) if value.numel() == 1 else UNFIT
    return bool(value) if hasattr(value, "__bool__") and not hasattr(value, "__len__") else UNFIT


def _as_str(value):
    if isinstance(value, bytes):
        return value.decode()
    return value if isinstance(value, str) else UNFIT


def _as_number(value):
    return value if isinstance(value, (int, float, complex, *_SYMBOLS)) else UNFIT


def _as_dtype(value):
    from .schema import DTYPES

    return getattr(torch, DTYPES[str(value)]) if str(value) in DTYPES else value if isinstance(value, torch.dtype) else UNFIT


def _as_device(value):
    return torch.device(value) if isinstance(value, str) else value if isinstance(value, torch.device) else UNFIT


def _as_complex(value):
    return complex(value) if isinstance(value, (int, float, complex)) else UNFIT


def _as_dict(value, key, item):
    if not isinstance(value, dict):
        return UNFIT
    found = {taken(k, key): taken(v, item) for k, v in value.items()}
    return UNFIT if any(part is UNFIT for pair in found.items() for part in pair) else found


def _as_tuple(value, parts):
    if not isinstance(value, (tuple, list)) or len(value) != len(parts):
        return UNFIT
    found = tuple(map(taken, value, parts))
    return UNFIT if any(part is UNFIT for part in found) else found


def _as_future(value):
    from ..futures import Future

    return value if isinstance(value, Future) else UNFIT


def _as_reference(value):
    from ..distributed import rpc

    return value if isinstance(value, rpc.RRef) else UNFIT


def _of_parts(value, base):
    """The value as a type with parts has it: values that do not exist yet are taken as they are."""
    from .schema import parts_of

    name, parts = parts_of(base)
    if name == "Dict":
        return _as_dict(value, *parts)
    if name == "Future":
        return _as_future(value)
    return _as_reference(value) if name == "RRef" else _as_tuple(value, parts)


def _one_of(*classes):
    return lambda value: value if isinstance(value, classes) else UNFIT


_OF = {
    "Tensor": _one_of(torch.Tensor), "int": _as_int, "SymInt": _as_int, "float": _as_float, "bool": _as_bool, "str": _as_str, "Scalar": _as_number,
    "complex": _as_complex, "ScalarType": _as_dtype, "Device": _as_device, "Layout": _one_of(torch.layout), "MemoryFormat": _one_of(torch.memory_format),
    "Generator": _one_of(torch.Generator), "Stream": _one_of(torch.Stream), "Storage": _one_of(torch.UntypedStorage, torch.TypedStorage),
    "QScheme": _one_of(torch.qscheme), "Any": lambda value: value, "AnyEnumType": _one_of(enum.Enum),
}  # fmt: skip
KINDS = frozenset(_OF)
_CLASSES = "__torch__.torch.classes."  # what the names of registered classes begin with
_PLAIN_VALUES = (torch.Tensor, bool, float, str, list, tuple, dict)


def is_kind(base):
    """Whether schemas have a type of that name."""
    return base in KINDS or base.startswith(_CLASSES)


def taken(value, argument):
    """The value as the type of an argument, or a result, has it; UNFIT for one that is none of it."""
    if value is None and (argument.optional or argument.type == "Tensor"):  # an undefined tensor
        return None
    if argument.listed:
        return _listed(value, argument, argument.nested)
    return _item(value, argument)


def _item(value, argument):
    if value is None and argument.optional_items:
        return None
    if argument.base.startswith(_CLASSES):
        return UNFIT if isinstance(value, _PLAIN_VALUES) else value
    return _of_parts(value, argument.base) if argument.base.endswith(")") else _OF[argument.base](value)


def _listed(value, argument, nested):
    if argument.listed_size and not nested and _repeats(value, argument.base):
        return [_item(value, argument)] * argument.listed_size
    if isinstance(value, torch.Tensor) and argument.base in ("int", "SymInt") and value.dim() == 1 and not value.is_floating_point():
        value = value.tolist()
    if not hasattr(value, "__len__") or isinstance(value, (torch.Tensor, dict)) or (isinstance(value, str) and argument.base != "str"):
        return UNFIT
    found = [_listed(v, argument, False) if nested else _item(v, argument) for v in value]
    return UNFIT if any(v is UNFIT for v in found) else found


def _repeats(value, base):
    """Whether one number stands for a list of a size."""
    return isinstance(value, (int, torch.SymInt) if base in ("int", "SymInt") else float) and not isinstance(value, bool)
