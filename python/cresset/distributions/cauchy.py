"""The Cauchy distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["Cauchy"]


@from_rows("loc", "scale")
class Cauchy(Distribution):
    """The Cauchy (Lorentz) distribution of median `loc` and half width at half maximum `scale`. It has no mean.

    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self._keep(validate_args, loc=loc, scale=scale)
