"""The exponential distribution."""

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily

__all__ = ["Exponential"]


@from_rows("rate")
class Exponential(ExponentialFamily):
    """The exponential distribution of rate `rate`.

    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate, validate_args=None):
        self._keep(validate_args, rate=rate)
