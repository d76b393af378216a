"""Factors of low rank by random projections: N. Halko, P. Martinsson and J. Tropp, "Finding structure with randomness" (2009)."""

import cresset as torch

from ._core import overridable as _overridable
from . import _operators as _ops


def _check(op, A, q, niter):
    m, n = A.shape[-2:]
    if not 0 <= q <= min(m, n):
        raise ValueError(f"{op}: expected q within [0, {min(m, n)}], got {q}")
    if niter < 0:
        raise ValueError(f"{op}: niter must be a non-negative integer, got {niter}")


def svd_lowrank(A, q=6, niter=2, M=None):
    """U (..., m, q), S (..., q) and V (..., n, q) with U diag(S) V^H near A, or A - M, of matrices (..., m, n) that are of about rank q: the best
    within the range of `niter` steps of subspace iteration from q random directions, drawn by the default generator.

    >>> x = torch.outer(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 0.0, 1.0]))
    >>> torch.allclose(torch.svd_lowrank(x, q=1)[1], torch.tensor(5.0))
    True
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M
    tall = A.shape[-2] >= A.shape[-1]
    x = A if tall else A.mH
    qr, adjoint = _ops["linalg_qr"], x.mH
    basis = qr(x @ torch.randn(x.shape[-1], q, dtype=x.dtype, device=x.device))[0]
    for _ in range(niter):
        basis = qr(x @ qr(adjoint @ basis)[0])[0]
    u, s, vh = _ops["linalg_svd"](basis.mH @ x, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (u, s, v) if tall else (v, s, u)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components of the rows of A (..., m, n): U, S and V of `svd_lowrank` of A, less the mean of its rows unless `center` is
    false. q is at first the least of 6, m and n. ValueError for a q or niter that is out of range.

    >>> x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> torch.pca_lowrank(x, q=1)[2].abs().round()
    tensor([[1.],
            [0.]])
    """
    q = min(6, *A.shape[-2:]) if q is None else q
    _check("pca_lowrank", A, q, niter)
    if A.is_sparse:
        if A.dim() != 2:
            raise ValueError(f"pca_lowrank: expected a sparse matrix, got {A.dim()} dimensions")
        A = A.to_dense()  # the centred matrix has hardly a zero
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


_overridable.replace(globals(), "cresset")
