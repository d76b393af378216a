"""Modules that several models are made of."""

from collections.abc import Callable, Sequence
from typing import Any

from _cresset import Tensor, _bool, _int
from cresset.nn import Module
from cresset.nn import Sequential

class Conv2dNormActivation(Sequential):
    def __init__(
        self, in_channels: _int, out_channels: _int, kernel_size: Any = 3, stride: Any = 1, padding: Any = None, groups: _int = 1,
        norm_layer: Callable[..., Module] | None = ..., activation_layer: Callable[..., Module] | None = ..., dilation: Any = 1,
        inplace: _bool = True, bias: _bool | None = None,
    ) -> None: ...  # fmt: skip

class Permute(Module):
    def __init__(self, dims: Sequence[_int]) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...

class SqueezeExcitation(Module):
    def __init__(
        self, input_channels: _int, squeeze_channels: _int, activation: Callable[..., Module] = ...,
        scale_activation: Callable[..., Module] = ...,
    ) -> None: ...  # fmt: skip
    def forward(self, input: Tensor) -> Tensor: ...
