"""The gamma distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


@from_rows("concentration", "rate")
class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and inverse scale `rate`.

    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self._keep(validate_args, concentration=concentration, rate=rate)

    def _validate_sample(self, value):
        super()._validate_sample(torch.as_tensor(value))  # numbers are values too
