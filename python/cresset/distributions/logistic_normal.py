"""The logistic-normal distribution."""

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The distribution on the simplex of a vector that is broken off a stick, as in `StickBreakingTransform`, by normal numbers.

    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3)).sample().sum()
    tensor(1.)
    """

    arg_constraints = Normal.arg_constraints
    support = constraints.simplex
    has_rsample = True
    _kept = {}

    def __init__(self, loc, scale, validate_args=None):
        numbers = Normal(loc, scale, validate_args)
        if len(numbers.batch_shape) == 0:
            numbers = numbers.expand((1,))
        TransformedDistribution.__init__(self, numbers, StickBreakingTransform(), validate_args)

    def _normal(self):
        return getattr(self.base_dist, "base_dist", self.base_dist)

    loc = property(lambda self: self._normal().loc)
    scale = property(lambda self: self._normal().scale)
