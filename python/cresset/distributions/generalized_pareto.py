"""The generalized Pareto distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["GeneralizedPareto"]


@from_rows("loc", "scale", "concentration")
class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: location `loc`, scale `scale`, shape `concentration` (0: exponential; -1: uniform).

    `log_survival_function(value)` and `log_cdf(value)` are log P(X > value) and log P(X <= value).

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self._keep(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, torch.inf))
