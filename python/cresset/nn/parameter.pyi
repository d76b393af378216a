"""Tensors that modules know as their own."""

from typing import Any

from _cresset import Tensor, _bool, _Device, _dtype

class Parameter(Tensor):
    def __new__(cls, data: Tensor | None = None, requires_grad: _bool = True) -> Parameter: ...

class Buffer(Tensor):
    persistent: _bool
    def __new__(cls, data: Tensor | None = None, *, persistent: _bool = True) -> Buffer: ...

class UninitializedTensorMixin:
    def materialize(self, shape: Any, device: _Device | None = None, dtype: _dtype | None = None) -> None: ...

class UninitializedParameter(UninitializedTensorMixin, Parameter):
    def __new__(cls, requires_grad: _bool = True, device: _Device | None = None, dtype: _dtype | None = None) -> UninitializedParameter: ...

class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    persistent: _bool
    def __new__(
        cls, requires_grad: _bool = False, device: _Device | None = None, dtype: _dtype | None = None, persistent: _bool = True
    ) -> UninitializedBuffer: ...

def is_lazy(param: Any) -> _bool: ...
