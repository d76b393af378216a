"""Invertible functions of tensors with the determinants of their derivatives."""

from collections.abc import Sequence
from typing import Self, TypeAlias

from _cresset import Size, Tensor, _bool, _float, _int

from . import Distribution
from .constraints import Constraint

_Value: TypeAlias = Tensor | _float

class Transform:
    bijective: _bool
    domain: Constraint
    codomain: Constraint
    def __init__(self, cache_size: _int = 0) -> None: ...
    @property
    def event_dim(self) -> _int: ...
    @property
    def inv(self) -> Transform: ...
    @property
    def sign(self) -> Tensor | _int: ...
    def with_cache(self, cache_size: _int = 1) -> Self: ...
    def __call__(self, x: Tensor) -> Tensor: ...
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: ...
    def forward_shape(self, shape: Sequence[_int]) -> Size: ...
    def inverse_shape(self, shape: Sequence[_int]) -> Size: ...

class AbsTransform(Transform): ...

class AffineTransform(Transform):
    loc: _Value
    scale: _Value
    def __init__(self, loc: _Value, scale: _Value, event_dim: _int = 0, cache_size: _int = 0) -> None: ...

class CatTransform(Transform):
    transforms: list[Transform]
    lengths: list[_int]
    dim: _int
    def __init__(self, tseq: Sequence[Transform], dim: _int = 0, lengths: Sequence[_int] | None = None, cache_size: _int = 0) -> None: ...

class ComposeTransform(Transform):
    parts: list[Transform]
    def __init__(self, parts: list[Transform], cache_size: _int = 0) -> None: ...

class CorrCholeskyTransform(Transform): ...

class CumulativeDistributionTransform(Transform):
    distribution: Distribution
    def __init__(self, distribution: Distribution, cache_size: _int = 0) -> None: ...

class ExpTransform(Transform): ...

class IndependentTransform(Transform):
    base_transform: Transform
    reinterpreted_batch_ndims: _int
    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: _int, cache_size: _int = 0) -> None: ...

class LowerCholeskyTransform(Transform): ...
class PositiveDefiniteTransform(Transform): ...

class PowerTransform(Transform):
    exponent: Tensor
    def __init__(self, exponent: _Value, cache_size: _int = 0) -> None: ...

class ReshapeTransform(Transform):
    in_shape: Size
    out_shape: Size
    def __init__(self, in_shape: Sequence[_int], out_shape: Sequence[_int], cache_size: _int = 0) -> None: ...

class SigmoidTransform(Transform): ...
class SoftmaxTransform(Transform): ...
class SoftplusTransform(Transform): ...

class StackTransform(Transform):
    transforms: list[Transform]
    dim: _int
    def __init__(self, tseq: Sequence[Transform], dim: _int = 0, cache_size: _int = 0) -> None: ...

class StickBreakingTransform(Transform): ...
class TanhTransform(Transform): ...

identity_transform: ComposeTransform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "Transform",
    "identity_transform",
]
