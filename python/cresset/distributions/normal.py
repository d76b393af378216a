"""The normal distribution."""

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily

__all__ = ["Normal"]


@from_rows("loc", "scale")
class Normal(ExponentialFamily):
    """The normal (Gaussian) distribution of mean `loc` and standard deviation `scale`.

    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc, scale, validate_args=None):
        self._keep(validate_args, loc=loc, scale=scale)
