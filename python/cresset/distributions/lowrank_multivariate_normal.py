"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

import cresset as torch

from . import constraints
from ._rows import from_rows, row
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["LowRankMultivariateNormal"]


@from_rows(W="_unbroadcasted_cov_factor", D="_unbroadcasted_cov_diag", core="_capacitance_tril")
class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors of mean `loc` and covariance `cov_factor` `cov_factor`' + diag(`cov_diag`).

    Only a matrix of the rank's size is factored.

    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _kept = {"loc": 1, "cov_diag": 1, "cov_factor": 2}

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        rows = {loc.shape[-1:], cov_factor.shape[-2:-1], cov_diag.shape[-1:]}
        if len(rows) > 1 or loc.dim() == 0:
            raise ValueError(
                "LowRankMultivariateNormal: expected loc and cov_diag of one length n and a cov_factor of n rows, got shapes "
                f"{loc.shape}, {cov_diag.shape} and {cov_factor.shape}"
            )
        try:
            batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"LowRankMultivariateNormal: the batches do not broadcast, got loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag, self.cov_factor = loc.expand(*batch, -1), cov_diag.expand(*batch, -1), cov_factor.expand(*batch, -1, -1)
        Distribution.__init__(self, batch, loc.shape[-1:], validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = row("_lowrankmultivariatenormal_core")(cov_factor, cov_diag)

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        vars(new).update({name: value for name, value in vars(self).items() if name.startswith("_unbroadcasted") or name == "_capacitance_tril"})
        return new

    def _square(self, name):
        matrices = [self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag]
        more = [self._capacitance_tril] if name == "precision_matrix" else []
        return row(f"_lowrankmultivariatenormal_to_{name}")(*matrices, *more).expand(*self._batch_shape, -1, -1)

    @lazy_property
    def scale_tril(self):
        return self._square("scale_tril")

    @lazy_property
    def covariance_matrix(self):
        return self._square("covariance_matrix")

    @lazy_property
    def precision_matrix(self):
        return self._square("precision_matrix")
