"""The LKJ distribution of correlation matrices."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


@from_rows()
class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of `dim` x `dim` correlation matrices M of density proportional to det(M)^(`concentration` - 1).

    >>> torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2)).exp()
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _kept = {"concentration": 0, "dim": 0}

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"LKJCholesky: expected dim of at least 2, got {dim}")
        (self.concentration,), self.dim = broadcast_all(concentration), dim
        Distribution.__init__(self, self.concentration.shape, torch.Size([dim] * 2), validate_args)
