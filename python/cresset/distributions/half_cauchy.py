"""The half-Cauchy law."""

import math

import cresset as torch

from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The law of |X| where X follows Cauchy(0, `scale`).

    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    _kept = {}

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy, scale, validate_args)

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self):
        return self.base_dist.variance
