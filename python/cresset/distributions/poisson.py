"""The Poisson distribution."""

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily

__all__ = ["Poisson"]


@from_rows("rate")
class Poisson(ExponentialFamily):
    """The Poisson distribution of counts of mean `rate`; zero is allowed.

    >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        self._keep(validate_args, rate=rate)
