"""torch.distributions: probability distributions."""

from collections.abc import Callable
from typing import Any, TypeVar

from _cresset.distributions import *

from . import constraints as constraints, transforms as transforms
from .transforms import *

_Rule = TypeVar("_Rule", bound=Callable[..., Any])

class _ConstraintRegistry:
    def register(self, constraint: Any, factory: Callable[..., Transform] | None = None) -> Any: ...
    def __call__(self, constraint: constraints.Constraint) -> Transform: ...

biject_to: _ConstraintRegistry
transform_to: _ConstraintRegistry

def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[_Rule], _Rule]: ...
