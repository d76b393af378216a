"""The logistic-normal law."""

from . import constraints
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The law on the simplex of a vector that is broken off a stick, as in `StickBreakingTransform`, by normal numbers.

    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3)).sample().sum()
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _kept = {}

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self):
        return self.base_dist.base_dist if isinstance(self.base_dist, Independent) else self.base_dist

    @property
    def loc(self):
        return self._normal.loc

    @property
    def scale(self):
        return self._normal.scale
