"""The Dirichlet distribution."""

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


@from_rows()
class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution on the simplex, of density proportional to the product of x_i^(concentration_i - 1).

    >>> torch.distributions.Dirichlet(torch.ones(3)).log_prob(torch.tensor([0.2, 0.3, 0.5])).exp()
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _kept = {"concentration": 1}

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() == 0:
            raise ValueError("Dirichlet: expected concentration with at least one dimension, got a number")
        self.concentration = concentration
        *batch, count = concentration.shape
        super().__init__(concentration.shape[: len(batch)], concentration.shape[len(batch) :], validate_args)
