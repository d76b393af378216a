"""Operators under their names in the table of operators, and one overload at a time.

>>> torch.ops.aten.add(torch.tensor([1, 2]), 1)
tensor([2, 3])
>>> torch.ops.aten.add.overloads()[:4]
['Tensor', 'Scalar', 'out', 'Scalar_out']
>>> torch.ops.aten.add.Tensor(torch.tensor([1, 2]), torch.tensor([3, 4]))
tensor([4, 6])
"""

import types as _types

import _cresset

from ._core import aten_aliases as _aten_aliases, aten_composed as _aten_composed, aten_extra as _aten_extra
from ._core import (
    aten_forms as _aten_forms,
    aten_functions as _aten_functions,
    aten_gradients as _aten_gradients,
    aten_numbers as _aten_numbers,
    aten_quantized as _aten_quantized,
    aten_written as _aten_written,
    prim_functions as _prim_functions,
)
from ._core.aten_names import RENAMED as _RENAMED
from ._core.operators import OpOverload as _Overload, OpOverloadPacket as _Packet

__all__ = ["aten"]


class _Namespace(_types.ModuleType):
    """The operators of a library, found when asked for."""

    def __init__(self, name, entries):
        super().__init__(f"{__name__}.{name}")
        self.__dict__["_entries"] = entries
        self.__dict__["_made"] = {}  # name -> overload -> a function (packet, overload) that makes it

    def __getattr__(self, name):
        entries = None if name.startswith("__") else self.__dict__["_entries"].get(name)
        made = self.__dict__["_made"].get(name)
        defined = _defined.get(self.__name__.rpartition(".")[2], {})
        if entries is None and made is None and name in defined:
            return defined[name]
        if entries is None and made is None and not name.startswith("__"):
            entries = _of_libraries(self.__name__.rpartition(".")[2], name)
        if entries is None and made is None:
            raise AttributeError(f"'_OpNamespace' '{self.__name__.rpartition('.')[2]}' object has no attribute '{name}'", name=name, obj=self)
        found = self.__dict__[name] = _Packet(name, entries or {}, made, namespace=self.__name__.rpartition(".")[2])
        return found

    def __iter__(self):
        return iter(dict.fromkeys([*self._entries, *self._made, *_defined.get(self.__name__.rpartition(".")[2], ())]))

    def __dir__(self):
        return [*super().__dir__(), *self._entries, *self._made]


def _of_libraries(namespace, name):
    """The overloads of an operator that a shared library defines: their names and entries; None where there is none."""
    return {overload or "default": entry for op, overload, entry in _cresset._outside_ops(namespace) if op == name} or None


def _entries():
    """Name -> overload -> entry; overloads that write to `out` are the last."""
    found = {}
    for name, overload, *_ in sorted(_cresset.operators(), key=lambda row: row[2] == "out"):
        entry = f"{name}.{overload}" if overload else name
        found.setdefault(name, {})[_overload_name(entry)] = entry
    return found


def _overload_name(entry):
    return _RENAMED.get(entry, entry).partition(".")[2] or "default"


_defined = {}  # namespace -> name -> what torch.library made
aten = _Namespace("aten", _entries())
_aten_extra.TABLE.install(aten._made)
_aten_functions.TABLE.install(aten._made)
_aten_composed.TABLE.install(aten._made)
_aten_aliases.install(aten._entries, aten._made)
_aten_numbers.install(aten._made)
_aten_forms.TABLE.install(aten._made)
_aten_written.install(aten._made)


def _overload_of(entry):
    """The overload of an entry of the dispatcher, by its name: "add.Tensor", "ns::name"."""
    namespace, _, rest = entry.rpartition("::")
    name, overload = rest.partition(".")[0], _overload_name(rest)
    owner = aten if namespace in ("", "aten", "cresset") else globals()[namespace] if namespace in globals() else __getattr__(namespace)
    try:
        return getattr(getattr(owner, name), overload)
    except AttributeError:
        packet = owner.__dict__[name] = _Packet(name, {overload: entry}, namespace=None if owner is aten else namespace)
        return getattr(packet, overload)


_cresset._set_overload_finder(_overload_of)

loaded_libraries = set()
_OF_GROUPS = {"_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "c10d", "_dtensor"}


def load_library(path):
    """Opens a shared library, whose operators and classes are then in `torch.ops` and `torch.classes`. Errors: OSError for one that cannot be opened, as those
    that are linked to LibTorch; what its registrations raise, after which nothing of it stays registered.

    >>> try:
    ...     torch.ops.load_library("/nowhere.so")
    ... except OSError as error:
    ...     print(str(error).partition(":")[0])
    /nowhere.so
    """
    try:
        _cresset._load_library(str(path))
    except RuntimeError as error:
        text = str(error)
        if text.startswith("load_library: cannot open"):
            raise OSError(text.partition(": cannot open ")[2].partition(": ")[2] or text) from None
        raise
    loaded_libraries.add(str(path))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "higher_order":
        from ._higher_order_ops._operator import operators

        _defined[name] = operators
    if name in _OF_GROUPS and name not in _defined:
        try:
            from .distributed import _operators  # noqa: F401  which defines them
        except ModuleNotFoundError:  # a build without groups of processes has no such operators
            pass
    found = globals()[name] = _Namespace(name, {})
    return found


def _profiler_namespace():
    """Operators that begin and end a named part: PyTorch's programs call them by hand."""
    space = _Namespace("profiler", {})

    def enter(name, args=None):
        from .autograd.profiler import record_function

        return record_function(name, args).__enter__()

    def leave(handle):
        handle.__exit__(None, None, None)

    named = "__torch__." + "torch.classes.profiler._RecordFunction"
    for name, overload, call, schema in (
        ("_record_function_enter_new", "default", enter, f"_record_function_enter_new(str name, str? args=None) -> {named}"),
        ("_record_function_exit", "_RecordFunction", leave, f"_record_function_exit._RecordFunction({named} _0) -> ()"),
    ):
        space._made[name] = {overload: lambda packet, overload, call=call, schema=schema: _Overload(packet, overload, call=call, schema=schema)}
    return space


profiler = _profiler_namespace()


def _prim_namespace():
    """Operators that classes answer for their tensors, besides the geometry."""
    space = _Namespace("prim", {})
    for name, kind in (("device", "Device"), ("layout", "Layout")):
        schema = f"{name}(Tensor a) -> {kind}"
        space._made[name] = {
            "default": lambda packet, overload, name=name, schema=schema: _Overload(packet, overload, call=lambda a: getattr(a, name), schema=schema)
        }
    return space


prim = _prim_namespace()
prims = _Namespace("prims", {})
_prim_functions.TABLE.install(prims._made)
