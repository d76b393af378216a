"""The Pareto distribution."""

from . import constraints
from ._rows import from_rows
from .exponential import Exponential
from .transformed_distribution import Remade
from .transforms import AffineTransform, ExpTransform

__all__ = ["Pareto"]


@from_rows("scale", "alpha")
class Pareto(Remade):
    """The Pareto distribution of type 1 on [`scale`, inf), with tail exponent `alpha`.

    >>> torch.distributions.Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self._remake(validate_args, lambda: Exponential(self.alpha, validate_args), scale=scale, alpha=alpha)

    def _steps(self):
        return [ExpTransform(), AffineTransform(0, self.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)
