"""Regions in which the parameters and the values of distributions lie."""

from collections.abc import Callable, Sequence
from typing import Any

from _cresset import Tensor, _bool, _int

class Constraint:
    is_discrete: _bool
    event_dim: _int
    def check(self, value: Tensor) -> Tensor: ...

class _Dependent(Constraint):
    def __call__(self, *, is_discrete: _bool = ..., event_dim: _int = ...) -> _Dependent: ...

class dependent_property(property, _Dependent):
    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: _bool | None = ..., event_dim: _int | None = ...) -> None: ...
    def __call__(self, fn: Callable[..., Any]) -> dependent_property: ...  # type: ignore[override]

class independent(Constraint):
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: _int) -> None: ...

class MixtureSameFamilyConstraint(Constraint):
    def __init__(self, base_constraint: Constraint) -> None: ...

class integer_interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None: ...

class greater_than(Constraint):
    def __init__(self, lower_bound: Any) -> None: ...

class greater_than_eq(Constraint):
    def __init__(self, lower_bound: Any) -> None: ...

class less_than(Constraint):
    def __init__(self, upper_bound: Any) -> None: ...

class multinomial(Constraint):
    def __init__(self, upper_bound: Any) -> None: ...

class interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None: ...

class half_open_interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None: ...

class cat(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: _int = 0, lengths: Sequence[_int] | None = None) -> None: ...

class stack(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: _int = 0) -> None: ...

dependent: _Dependent
boolean: Constraint
corr_cholesky: Constraint
lower_cholesky: Constraint
lower_triangular: Constraint
nonnegative: Constraint
nonnegative_integer: Constraint
one_hot: Constraint
positive: Constraint
positive_definite: Constraint
positive_integer: Constraint
positive_semidefinite: Constraint
real: Constraint
real_vector: Constraint
simplex: Constraint
square: Constraint
symmetric: Constraint
unit_interval: Constraint

def is_dependent(constraint: Constraint) -> _bool: ...
