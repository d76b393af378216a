"""The inverse gamma distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows, of
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


@from_rows()
class InverseGamma(TransformedDistribution):
    """The distribution of 1 / X where X follows Gamma(`concentration`, `rate`).

    >>> torch.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive
    has_rsample = True
    _kept = {}
    concentration, rate = of("base_dist.concentration"), of("base_dist.rate")

    def __init__(self, concentration, rate, validate_args=None):
        inverted = Gamma(concentration, rate, validate_args)
        one = torch.ones((), dtype=inverted.rate.dtype, device=inverted.rate.device)
        TransformedDistribution.__init__(self, inverted, PowerTransform(-one), validate_args)
