"""The Dirichlet law."""

import cresset as torch

from ..autograd import Function
from ..autograd.function import once_differentiable
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class _Dirichlet(Function):
    """Samples with the derivative by the concentration (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018)."""

    @staticmethod
    def forward(ctx, concentration):
        x = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        slope = torch._dirichlet_grad(x, concentration, total)
        return slope * (grad - (x * grad).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """The Dirichlet law on the simplex, of density proportional to the product of x_i^(concentration_i - 1).

    >>> torch.distributions.Dirichlet(torch.ones(3)).log_prob(torch.tensor([0.2, 0.3, 0.5])).exp()
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _kept = {"concentration": 1}

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        c = self.concentration
        return torch.xlogy(c - 1.0, value).sum(-1) + torch.lgamma(c.sum(-1)) - torch.lgamma(c).sum(-1)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        # With all concentrations below 1 the density is unbounded at corners: one of those.
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        best = torch.nn.functional.one_hot(mode[corner].argmax(dim=-1), less.shape[-1])
        mode[corner] = best.to(mode)
        return mode

    @property
    def variance(self):
        c = self.concentration
        total = c.sum(-1, True)
        return c * (total - c) / (total.pow(2) * (total + 1))

    def entropy(self):
        c = self.concentration
        size, total = c.size(-1), c.sum(-1)
        return torch.lgamma(c).sum(-1) - torch.lgamma(total) - (size - total) * torch.digamma(total) - ((c - 1.0) * torch.digamma(c)).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
