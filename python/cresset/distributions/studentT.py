"""Student's t law."""

import math

import cresset as torch

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t law of `df` degrees of freedom, moved by `loc` and stretched by `scale`.

    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _kept = {"df": 0, "loc": 0, "scale": 0, "_chi2": 0}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        df = self.df
        large = self.scale.pow(2) * df / torch.where(df > 2, df - 2, torch.ones_like(df))
        return large.masked_fill(df <= 2, math.inf).masked_fill(df <= 1, math.nan)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        chi2 = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * torch.rsqrt(chi2 / self.df))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df) - torch.lgamma(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - norm

    def entropy(self):
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(next_half)
        return self.scale.log() + next_half * (torch.digamma(next_half) - torch.digamma(half)) + 0.5 * self.df.log() + beta
