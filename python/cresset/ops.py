"""Operators under their names in the table of operators, and one overload at a time.

>>> torch.ops.aten.add(torch.tensor([1, 2]), 1)
tensor([2, 3])
>>> torch.ops.aten.add.overloads()
['Tensor', 'out', 'Scalar', 'Scalar_out']
>>> torch.ops.aten.add.Tensor(torch.tensor([1, 2]), torch.tensor([3, 4]))
tensor([4, 6])
"""

import types as _types

import _cresset

__all__ = ["aten"]


class _Overload:
    """One overload of an operator: takes what its schema lists, and nothing else."""

    def __init__(self, packet, overload, entry):
        self.__name__ = overload
        self.overloadpacket = packet
        self._call = _cresset.make_op(packet.__name__, [entry])

    def __call__(self, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        return self._call(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self.__name__}')>"

    def __str__(self):
        return f"aten.{self.overloadpacket.__name__}.{self.__name__}"

    def __deepcopy__(self, memo):
        return self


class _Packet:
    """All overloads of an operator: a call goes to the first that its arguments fit."""

    def __init__(self, name, overloads):
        self.__name__ = name
        self._overloads = overloads
        self._call = _cresset.make_op(name, list(overloads.values()))

    def __call__(self, *args, **kwargs):
        if _cresset._taken_over(args, kwargs):
            return _cresset._hand_over(self, args, kwargs)
        return self._call(*args, **kwargs)

    def overloads(self):
        """The names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, overload):
        overloads = self.__dict__.get("_overloads", {})
        if overload.startswith("__") or overload not in overloads:
            raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{overload}'", name=overload, obj=self)
        found = self.__dict__[overload] = _Overload(self, overload, overloads[overload])
        return found

    def __deepcopy__(self, memo):
        return self

    def __dir__(self):
        return [*super().__dir__(), *self._overloads]

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


class _MethodPacket(_Packet):
    """A method of tensors that is no operator of the table, with the overload of PyTorch's schema."""

    def __init__(self, name, overload, method):
        self.__name__, self._overloads, self._call = name, {overload: name}, method

    def __getattr__(self, overload):
        if overload.startswith("__") or overload not in self._overloads:
            raise AttributeError(f"aten.{self.__name__} has no overload {overload!r}", name=overload, obj=self)
        found = self.__dict__[overload] = _MethodOverload(self, overload)
        return found


class _MethodOverload(_Overload):
    def __init__(self, packet, overload):
        self.__name__, self.overloadpacket, self._call = overload, packet, packet._call


_METHODS = {"_local_scalar_dense": "default item", "_unsafe_view": "default view", "detach": "default detach", "detach_": "default detach_", "fill_diagonal_": "default fill_diagonal_",
            "is_contiguous": "default is_contiguous", "is_pinned": "default is_pinned", "lift": "default clone", "lift_fresh": "default alias", "set_": "source_Tensor set_",
            "sym_numel": "default numel", "sym_size": "int size", "sym_storage_offset": "default storage_offset", "sym_stride": "int stride"}  # fmt: skip


def _method(name):
    import cresset

    overload, method = _METHODS[name].split()
    return _MethodPacket(name, overload, getattr(cresset.Tensor, method, None) or getattr(cresset, method))


class _Namespace(_types.ModuleType):
    """The operators of a library, found when asked for."""

    def __init__(self, name, entries):
        super().__init__(f"{__name__}.{name}")
        self._entries = entries

    def __getattr__(self, name):
        entries = None if name.startswith("__") else self.__dict__["_entries"].get(name)
        defined = _defined.get(self.__name__.rpartition(".")[2], {})
        if entries is None and name in defined:
            return defined[name]
        if entries is None and self.__name__ == f"{__name__}.aten" and name in _METHODS:
            found = self.__dict__[name] = _method(name)
            return found
        if entries is None:
            raise AttributeError(f"'_OpNamespace' '{self.__name__.rpartition('.')[2]}' object has no attribute '{name}'", name=name, obj=self)
        found = self.__dict__[name] = _Packet(name, entries)
        return found

    def __dir__(self):
        return [*super().__dir__(), *self._entries]


def _entries():
    found = {}
    for name, overload, *_ in _cresset.operators():
        found.setdefault(name, {})[overload or "default"] = f"{name}.{overload}" if overload else name
    return found


_defined = {}  # namespace -> name -> what torch.library made
aten = _Namespace("aten", _entries())


loaded_libraries = set()


def load_library(path):
    """Opens a shared library, whose operators are then in `torch.ops`. OSError for one that cannot be opened, as those that are linked to LibTorch.

    >>> try:
    ...     torch.ops.load_library("/nowhere.so")
    ... except OSError as error:
    ...     print(str(error).partition(":")[0])
    /nowhere.so
    """
    import ctypes

    ctypes.CDLL(str(path))
    loaded_libraries.add(str(path))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "higher_order":
        from ._higher_order_ops._operator import operators

        _defined[name] = operators
    found = globals()[name] = _Namespace(name, {})
    return found
