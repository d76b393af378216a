"""Further names of operators, as PyTorch's table has them: overloads that are the call of another one, which modes see in their place.

>>> torch.ops.aten.absolute.default._schema
aten::absolute(Tensor self) -> Tensor
>>> torch.ops.aten.absolute.default(torch.tensor([-1.0, 2.0]))
tensor([1., 2.])
"""

import functools

import _cresset

from .aten_names import RENAMED
from .operators import Composed

# Names of rows that PyTorch's table has not: functions of Python, or of C++ alone.
_OF_FUNCTIONS = frozenset({"logsigmoid", "logsigmoid_", "_segment_reduce"})
# Name -> the operator of its overloads, where rows have no such name.
_BESIDE = {"linalg_matmul": "matmul", "special_logsumexp": "logsumexp", "special_softmax": "softmax", "special_log_softmax": "log_softmax"}
# Aliases that write no result of a tensor and a number.
_OF_TENSORS = frozenset({"subtract", "multiply", "divide", "true_divide"})
# Overloads that have other names under an alias.
_OVERLOADS = {
    "special_xlogy": {
        "Tensor": "default", "OutTensor": "out", "Scalar_Self": "self_scalar", "OutScalar_Self": "self_scalar_out", "Scalar_Other": "other_scalar",
        "OutScalar_Other": "other_scalar_out",
    },
    "swapdims": {"int": "default"}, "swapaxes": {"int": "default"},
    "special_softmax": {"int": "default"}, "special_log_softmax": {"int": "default"},
}  # fmt: skip
_ARGUMENTS = {"swapaxes": ("dim", "axis"), "swapaxes_": ("dim", "axis"), "special_log_softmax": ("dim, ", "dim, *, ")}


def _overload_of(alias, entry):
    """PyTorch's name of an alias's overload for an entry of the table; None where PyTorch has none."""
    name = RENAMED.get(entry, entry).partition(".")[2] or "default"
    if (
        alias in _OF_FUNCTIONS
        or (alias in _OF_TENSORS and name.startswith("Scalar") and name.endswith("_out"))
        or (alias.startswith("special_") and alias.endswith("_"))
    ):
        return None
    return _OVERLOADS[alias].get(name) if alias in _OVERLOADS else name


def _made(alias, entry, packet, overload):
    text = _cresset._entry(entry)[0]
    arguments = text[text.index("(") :].replace(*_ARGUMENTS.get(alias, ("", "")))
    return Composed(packet, overload, schema=f"{alias}{'' if overload == 'default' else '.' + overload}{arguments}", call=functools.partial(_call, entry))


def _call(entry, *args, **kwargs):
    from .. import ops

    return ops._overload_of(entry)(*args, **kwargs)


def install(entries, made):
    """Adds them to the namespace's table `made`; `entries` has the rows: name -> overload -> entry."""
    pairs = [(alias, other, overload) for alias, other in _BESIDE.items() if alias not in entries for overload in entries[other].values()]
    for name, overload, form, _, aliases, _ in _cresset.operators():
        entry = f"{name}.{overload}" if overload else name
        pairs += [(alias.removesuffix("_out") if form == "out" else alias, name, entry) for alias in aliases.split()]
    for alias, _, entry in pairs:
        overload = _overload_of(alias, entry)
        if overload is not None and alias not in entries:
            made.setdefault(alias, {}).setdefault(overload, functools.partial(_made, alias, entry))
