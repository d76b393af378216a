"""The multivariate normal distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows, row
from .distribution import Distribution
from .utils import lazy_property, only_one

__all__ = ["MultivariateNormal"]


class WithCovariance(Distribution):
    """Matrices of a covariance: one of three forms is given, and all are made of its Cholesky factor, `_unbroadcasted_scale_tril`."""

    def _given_form(self, **forms):
        """The name and the value of the one that is given."""
        name = only_one(type(self).__name__, **forms)
        if forms[name].dim() < 2:
            raise ValueError(f"{type(self).__name__}: expected {name} with at least two dimensions, got {forms[name].dim()}")
        return name, forms[name]

    def _factor(self, name, value):
        """Keeps the factor of what is given."""
        make = {"covariance_matrix": torch.linalg.cholesky, "precision_matrix": row("_factor_of_precision")}.get(name)
        self._unbroadcasted_scale_tril = make(value) if make else value

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _square(self, matrix):
        return matrix.expand(*self._batch_shape, -1, -1)

    @lazy_property
    def scale_tril(self):
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        return self._square(row("_factor_to_covariance")(self._unbroadcasted_scale_tril))

    @lazy_property
    def precision_matrix(self):
        return self._square(row("_factor_to_precision")(self._unbroadcasted_scale_tril))


@from_rows(unbroadcasted_scale_tril="_unbroadcasted_scale_tril")
class MultivariateNormal(WithCovariance):
    """The normal distribution of vectors of mean `loc`.

    Its covariance is given by exactly one of `covariance_matrix`, its inverse `precision_matrix` and its Cholesky factor `scale_tril`; the
    last costs least.

    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _kept = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() == 0:
            raise ValueError("MultivariateNormal: expected loc with at least one dimension, got a number")
        name, matrix = self._given_form(covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril)
        batch = torch.broadcast_shapes(loc.shape[:-1], matrix.shape[:-2])
        self.loc = loc.expand(*batch, -1)
        setattr(self, name, matrix.expand(*batch, -1, -1))
        Distribution.__init__(self, batch, self.loc.shape[len(batch) :], validate_args)
        self._factor(name, matrix)
