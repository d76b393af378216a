"""The Laplace distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["Laplace"]


@from_rows("loc", "scale")
class Laplace(Distribution):
    """The distribution of density exp(-|x - loc| / scale) / (2 scale).

    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor(0.0)).exp()
    tensor(0.5000)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self._keep(validate_args, loc=loc, scale=scale)
