"""Which transform leads from unconstrained numbers into a constraint.

`biject_to(constraint)` gives a bijective transform with a log determinant, `transform_to(constraint)` one that need not be bijective and is
cheaper where that matters, as for optimisation. `register` adds rules to them:

>>> C, T = torch.distributions.constraints, torch.distributions
>>> T.transform_to(C.simplex), T.biject_to(C.simplex)
(SoftmaxTransform(), StickBreakingTransform())
"""

from numbers import Number

from . import constraints as C
from . import transforms as T

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Rules from constraints to transforms.

    >>> registry = torch.distributions.constraint_registry.ConstraintRegistry()
    >>> rule = registry.register(torch.distributions.constraints.positive, lambda c: torch.distributions.ExpTransform())
    >>> registry(torch.distributions.constraints.greater_than(0.0))
    ExpTransform()
    """

    def __init__(self):
        self._rules = {}

    def register(self, constraint, factory=None):
        """Add a rule for the class of a constraint: `factory(constraint)` gives the transform. Without a factory, a decorator."""
        kind = type(constraint) if isinstance(constraint, C.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, C.Constraint)):
            raise TypeError(f"register: expected a constraint or a class of constraints, got {constraint}")

        def add(rule):
            self._rules[kind] = rule
            return rule

        return add if factory is None else add(factory)

    def __call__(self, constraint):
        """The transform for a constraint. Raises NotImplementedError where there is no rule for its class."""
        kind = type(constraint)
        if kind not in self._rules:
            raise NotImplementedError(f"no transform leads into a constraint of class {kind.__name__}")
        return self._rules[kind](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and (low, high) == (0, 1):
        return T.SigmoidTransform()
    return T.ComposeTransform([T.SigmoidTransform(), T.AffineTransform(low, high - low)])


def _beyond(bound, direction):
    return T.ComposeTransform([T.ExpTransform(), T.AffineTransform(bound, direction)])


for _registry in (biject_to, transform_to):
    for _kind, _rule in (
        (C.real, lambda c: T.identity_transform),
        (C.greater_than, lambda c: _beyond(c.lower_bound, 1)),
        (C.greater_than_eq, lambda c: _beyond(c.lower_bound, 1)),
        (C.less_than, lambda c: _beyond(c.upper_bound, -1)),
        (C.interval, _between),
        (C.half_open_interval, _between),
        (C.corr_cholesky, lambda c: T.CorrCholeskyTransform()),
        (C.independent, lambda c, go=_registry: T.IndependentTransform(go(c.base_constraint), c.reinterpreted_batch_ndims)),
        (C.cat, lambda c, go=_registry: T.CatTransform([go(part) for part in c.cseq], c.dim, c.lengths)),
        (C.stack, lambda c, go=_registry: T.StackTransform([go(part) for part in c.cseq], c.dim)),
    ):
        _registry.register(_kind, _rule)

biject_to.register(C.simplex, lambda c: T.StickBreakingTransform())
transform_to.register(C.simplex, lambda c: T.SoftmaxTransform())
transform_to.register(C.lower_cholesky, lambda c: T.LowerCholeskyTransform())
transform_to.register(C.positive_definite, lambda c: T.PositiveDefiniteTransform())
transform_to.register(C.positive_semidefinite, lambda c: T.PositiveDefiniteTransform())
