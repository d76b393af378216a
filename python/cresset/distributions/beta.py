"""The beta distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Beta"]


@from_rows(both="_dirichlet.concentration")
class Beta(ExponentialFamily):
    """The beta distribution on [0, 1], of density x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / B.

    >>> torch.distributions.Beta(2.0, 2.0).log_prob(torch.tensor(0.5)).exp()
    tensor(1.5000)
    """

    arg_constraints = dict.fromkeys(("concentration1", "concentration0"), constraints.positive)
    support = constraints.unit_interval
    has_rsample = True
    _kept = {"_dirichlet": 0}

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = torch.stack(broadcast_all(concentration1, concentration0), dim=-1)
        self._dirichlet = Dirichlet(both, validate_args)
        ExponentialFamily.__init__(self, self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self):
        """The power of x, plus 1."""
        return self._dirichlet.concentration.select(-1, 0)

    @property
    def concentration0(self):
        """The power of 1 - x, plus 1."""
        return self._dirichlet.concentration.select(-1, 1)
