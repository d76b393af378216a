"""The generalized Pareto law."""

import math

import cresset as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto law of exceedances: location `loc`, scale `scale`, shape `concentration` (0: exponential; -1: uniform).

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _kept = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def _standard(self, value):
        return (value - self.loc) / self.scale

    @property
    def _is_exponential(self):
        return torch.isclose(self.concentration, torch.zeros_like(self.concentration))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, flat = self._standard(value), self._is_exponential
        safe = torch.where(flat, torch.ones_like(self.concentration), self.concentration)
        power = torch.where(flat, z, (1 / safe + 1.0) * torch.log1p(safe * z))
        return -self.scale.log() - power

    def log_survival_function(self, value):
        """log P(X > value)."""
        if self._validate_args:
            self._validate_sample(value)
        z, flat = self._standard(value), self._is_exponential
        safe = torch.where(flat, torch.ones_like(self.concentration), self.concentration)
        return torch.where(flat, -z, -torch.log1p(safe * z) / safe)

    def log_cdf(self, value):
        """log P(X <= value)."""
        return torch.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        flat = self._is_exponential
        safe = torch.where(flat, torch.ones_like(self.concentration), self.concentration)
        left = torch.log1p(-value)
        return torch.where(flat, self.loc - self.scale * left, self.loc + self.scale / safe * torch.expm1(-safe * left))

    @property
    def mean(self):
        c = self.concentration
        return (self.loc + self.scale / (1 - c)).masked_fill(c >= 1, math.nan)

    @property
    def variance(self):
        c = self.concentration
        return (self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))).masked_fill(c >= 0.5, math.nan)

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)
