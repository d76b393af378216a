"""The von Mises law."""

import math

import cresset as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

# Abramowitz and Stegun, Handbook of Mathematical Functions, 9.8.1 to 9.8.4, as PyTorch takes them.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2),
)


def _polynomial(x, coefficients):
    result = coefficients[-1]
    for c in coefficients[-2::-1]:
        result = c + x * result
    return result


def _log_modified_bessel_fn(x, order=0):
    """The logarithm of the modified Bessel function of the first kind, of order 0 or 1, for positive x."""
    small = (_polynomial((x / 3.75).square(), _SMALL[order])).log()
    if order == 1:
        small = x.abs().log() + small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return torch.where(x < 3.75, small, large)


class VonMises(Distribution):
    """The von Mises law of angles: `loc` is the mode, `concentration` as one over the variance of a normal law. Values are in [-pi, pi).

    >>> torch.distributions.VonMises(torch.tensor(0.5), torch.tensor(2.0)).mean
    tensor(0.5000)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _kept = {"loc": 0, "concentration": 0}

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration)

    @lazy_property
    def _loc(self):
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self):
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        # For tiny concentrations, where the above cancels, its Taylor series.
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=torch.Size()):
        """Rejection from a wrapped Cauchy law (Best and Fisher, "Efficient simulation of the von Mises distribution", 1979), in float64."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            loc, k, r = (v.expand(shape) for v in (self._loc, self._concentration, self._proposal_r))
            x = torch.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
            done = torch.zeros(shape, dtype=torch.bool, device=self.loc.device)
            while not done.all():
                u1, u2, u3 = torch.rand((3,) + shape, dtype=loc.dtype, device=loc.device).unbind()
                z = torch.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        k = self.concentration
        return 1 - (_log_modified_bessel_fn(k, order=1) - _log_modified_bessel_fn(k, order=0)).exp()
