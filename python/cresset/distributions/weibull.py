"""The Weibull distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .exponential import Exponential
from .transformed_distribution import Remade
from .transforms import AffineTransform, PowerTransform

__all__ = ["Weibull"]


@from_rows("scale", "concentration", "concentration_reciprocal")
class Weibull(Remade):
    """The Weibull distribution of scale `scale` and shape `concentration`.

    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        def base():
            self.concentration_reciprocal = self.concentration.reciprocal()
            return Exponential(torch.ones_like(self.scale), validate_args)

        self._remake(validate_args, base, scale=scale, concentration=concentration)

    def _steps(self):
        return [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
