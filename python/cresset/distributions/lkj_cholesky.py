"""The LKJ law of correlation matrices."""

import math

import cresset as torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The law of Cholesky factors of `dim` x `dim` correlation matrices M of density proportional to det(M)^(`concentration` - 1).

    Sampled by the onion method (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion
    method", 2009, section 3).

    >>> torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2)).exp()
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _kept = {"concentration": 0, "_beta": 0, "dim": 0}

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of what row i has below the diagonal.
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        before = torch.cat([torch.zeros(1, **options), torch.arange(dim - 1, **options)])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(before + 0.5, marginal.unsqueeze(-1) - 0.5 * before)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def _new_expanded(self, batch_shape, _instance):
        new = self._get_checked_instance(LKJCholesky, _instance)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        return new

    def sample(self, sample_shape=torch.Size()):
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = torch.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        sphere = normal / normal.norm(dim=-1, keepdim=True)
        sphere[..., 0, :].fill_(0.0)  # the first row has nothing below the diagonal
        w = torch.sqrt(y) * sphere
        rest = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny).sqrt()
        return w + torch.diag_embed(rest)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rows = self.dim - 1
        alpha = self.concentration + 0.5 * rows
        norm = 0.5 * rows * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, rows) - torch.lgamma(alpha) * rows
        return torch.sum(order * diagonal.log(), dim=-1) - norm
