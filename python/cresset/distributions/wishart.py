"""The Wishart distribution."""

import warnings

import cresset as torch

from . import constraints
from ._rows import from_rows, row
from .exp_family import ExponentialFamily
from .multivariate_normal import WithCovariance

__all__ = ["Wishart"]


@from_rows(unbroadcasted_scale_tril="_unbroadcasted_scale_tril")
class Wishart(WithCovariance, ExponentialFamily):
    """The distribution of sums of `df` outer products of normal vectors of mean 0 and a given covariance.

    That is given by exactly one of `covariance_matrix`, its inverse `precision_matrix` and its Cholesky factor `scale_tril`; the last costs
    least. `df` need not be whole, but above the number of rows less 1.

    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _kept = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    @property
    def arg_constraints(self):
        """Those of the matrices, and the bound of df, which depends on their size."""
        matrices = dict.fromkeys(("covariance_matrix", "precision_matrix"), constraints.positive_definite)
        return {**matrices, "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[0] - 1)}

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        try:
            name, matrix = self._given_form(covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril)
        except ValueError as error:
            raise (AssertionError if "exactly one" in str(error) else ValueError)(*error.args) from None
        given = df if isinstance(df, torch.Tensor) else torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = torch.broadcast_shapes(matrix.shape[:-2], given.shape)
        self.df, self._event_shape = given.expand(batch), matrix.shape[-2:]
        size = matrix.size(-1)
        if not (self.df > size - 1).all():
            raise ValueError(f"Wishart: expected df above {size - 1}, got {df}")
        setattr(self, name, matrix.expand(*batch, -1, -1))
        ExponentialFamily.__init__(self, batch, self._event_shape, validate_args)
        if (self.df < size).any():
            warnings.warn("Wishart: samples are likely to be singular, since df is below the number of rows", stacklevel=2)
        self._factor(name, matrix)

    def _draw(self, sample_shape):
        return row("_wishart_draw")(sample_shape, self.df, self._unbroadcasted_scale_tril)

    def _is_singular(self, draws, sample_dims):
        """Of each draw: whether a matrix of its batch is singular."""
        regular = self.support.check(draws)
        return ~(regular.flatten(sample_dims).all(-1) if self._batch_shape else regular)

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):
        """As of other distributions; samples that turn out singular are drawn again, at most `max_try_correction` times, 10 by default."""
        self._draw(sample_shape)  # PyTorch takes regular matrices for singular ones at first, and draws them again
        draws = self._draw(sample_shape)
        singular = self._is_singular(draws, len(sample_shape))
        if singular.any():
            warnings.warn("Wishart: some samples are singular and are drawn again", stacklevel=2)
        tries = 10 if max_try_correction is None else max_try_correction
        while tries > 0 and singular.any():
            tries, again = tries - 1, self._draw((int(singular.sum()),))
            draws[singular] = again
            singular[singular.clone()] = self._is_singular(again, 1)
        return draws
