"""The Kumaraswamy distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .transformed_distribution import Remade
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform

__all__ = ["Kumaraswamy"]


@from_rows("concentration1", "concentration0")
class Kumaraswamy(Remade):
    """The Kumaraswamy distribution on (0, 1), of distribution function 1 - (1 - x^concentration1)^concentration0.

    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = dict.fromkeys(("concentration1", "concentration0"), constraints.positive)
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        def base():
            return Uniform(torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0), validate_args)

        self._remake(validate_args, base, concentration1=concentration1, concentration0=concentration0)

    def _steps(self):
        outer, inner = self.concentration1.reciprocal(), self.concentration0.reciprocal()
        return [PowerTransform(inner), AffineTransform(1.0, -1.0), PowerTransform(outer)]
