"""The multivariate normal law."""

import math

import cresset as torch

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat, bvec):
    """Products of batches of matrices with batches of vectors."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """x' (L L')^-1 x of batches of lower triangular matrices and of vectors."""
    if bL.dim() == 2:  # one factor: all vectors are its right-hand sides
        solved = torch.linalg.solve_triangular(bL, bx.reshape(-1, bx.shape[-1]).mT, upper=False)
        return solved.square().sum(0).reshape(bx.shape[:-1])
    return torch.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False).square().sum((-2, -1))


def _precision_to_scale_tril(P):
    """The Cholesky factor of the inverse: the inverse of the factor of P turned around both ways, turned back."""
    turned = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    inverse = torch.flip(turned, (-2, -1)).mT
    return torch.linalg.solve_triangular(inverse, torch.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class MultivariateNormal(Distribution):
    """The normal law of vectors of mean `loc`.

    Its covariance is given by exactly one of `covariance_matrix`, its inverse `precision_matrix` and its Cholesky factor `scale_tril`; the
    last costs least.

    >>> law = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> law.log_prob(torch.zeros(2))
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
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, value),) = given.items()
        if value.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(value.shape[:-2], loc.shape[:-1])
        setattr(self, name, value.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = value
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(value)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(value)

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _square(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        return self._square(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        return self._square(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy if len(self._batch_shape) == 0 else entropy.expand(self._batch_shape)
