"""The half-normal law."""

import math

from ._half import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The law of |X| where X follows Normal(0, `scale`).

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _kept = {}

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal, scale, validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)
