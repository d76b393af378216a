"""The Gumbel distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .transformed_distribution import Remade
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform

__all__ = ["Gumbel"]


@from_rows("loc", "scale")
class Gumbel(Remade):
    """The Gumbel distribution of largest values, with mode `loc` and spread `scale`.

    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        def base():
            limits = torch.finfo(self.loc.dtype)
            return Uniform(torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps), validate_args)

        self._remake(validate_args, base, loc=loc, scale=scale)

    def _steps(self):
        minus_log = [ExpTransform().inv, AffineTransform(0, -torch.ones_like(self.scale))]
        return [*minus_log, ExpTransform().inv, AffineTransform(self.loc, -self.scale)]
