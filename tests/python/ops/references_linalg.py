"""References of the rows of linear algebra, by NumPy's own factorisations or plain loops. Where a factor has a free sign or phase the loops
follow LAPACK: Householder's beta is -sign(Re x1) |x|, pivots are the first of the largest |Re| + |Im|."""

import numpy as np


def adjoint(x):
    return np.conj(np.swapaxes(x, -2, -1))


def each(function, *arrays, core=2):
    """The function on every matrix of a batch; its results stacked."""
    cores = (core,) * len(arrays) if isinstance(core, int) else core
    shape = np.broadcast_shapes(*(a.shape[: a.ndim - c] for a, c in zip(arrays, cores, strict=True)))
    whole = [np.broadcast_to(a, shape + a.shape[a.ndim - c :]) for a, c in zip(arrays, cores, strict=True)]
    results = [function(*(np.asarray(w[i]) for w in whole)) for i in np.ndindex(shape)]
    if not results:
        one = function(*(np.ones(w.shape[len(shape) :], w.dtype) + 2 * np.eye(*w.shape[-2:], dtype=w.dtype) if c == 2 else np.ones(w.shape[len(shape) :], w.dtype)
                         for w, c in zip(whole, cores, strict=True)))  # fmt: skip
        empty = lambda r: np.zeros(shape + np.shape(r), np.asarray(r).dtype)  # noqa: E731
        return tuple(empty(r) for r in one) if isinstance(one, tuple) else empty(one)
    join = lambda parts: np.stack([np.asarray(p) for p in parts]).reshape(shape + np.shape(parts[0]))  # noqa: E731
    if isinstance(results[0], tuple):
        return tuple(join([r[k] for r in results]) for k in range(len(results[0])))
    return join(results)


def _info(x, core=2):
    return np.zeros(x.shape[: x.ndim - core], np.int32)


# ---- Cholesky ----------------------------------------------------------------------------------------------------------------


def cholesky(a, upper=False):
    triangle = np.triu(a) if upper else np.tril(a)
    whole = triangle + adjoint(np.triu(a, 1) if upper else np.tril(a, -1))
    i = np.arange(a.shape[-1])
    whole[..., i, i] = whole[..., i, i].real
    factor = np.linalg.cholesky(whole)
    return adjoint(factor) if upper else factor


def cholesky_ex(a, upper=False):
    return cholesky(a, upper), _info(a)


def cholesky_inverse(factor, upper=False):
    low = adjoint(np.triu(factor)) if upper else np.tril(factor)
    return np.linalg.inv(low @ adjoint(low))


def cholesky_solve(b, factor, upper=False):
    low = adjoint(np.triu(factor)) if upper else np.tril(factor)
    return _solve(low @ adjoint(low), b)


# ---- LU ----------------------------------------------------------------------------------------------------------------------


def _lu(a):
    a = a.copy()
    m, n = a.shape
    pivots = np.zeros(min(m, n), np.int32)
    for k in range(min(m, n)):
        p = k + int(np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)))
        pivots[k] = p + 1
        a[[k, p]] = a[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, pivots


def _unpack(lu, pivots):
    m, n = lu.shape
    k = min(m, n)
    rows = np.arange(m)
    for i, p in enumerate(pivots):
        rows[[i, p - 1]] = rows[[p - 1, i]]
    p = np.zeros((m, m), lu.dtype)
    p[rows, np.arange(m)] = 1
    return p, np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=lu.dtype), np.triu(lu[:k])


def lu_factor(a):
    return each(_lu, a)


def lu_factor_ex(a):
    return (*lu_factor(a), _info(a))


def lu_unpack(lu, pivots, unpack_data=True, unpack_pivots=True):
    p, lower, upper = each(_unpack, lu, pivots, core=(2, 1))
    none = np.zeros(0, lu.dtype)
    return p if unpack_pivots else none, lower if unpack_data else none, upper if unpack_data else none


def lu(a):
    return lu_unpack(*lu_factor(a))


def lu_solve(lu, pivots, b, left=True, adjoint=False):
    p, lower, upper = lu_unpack(lu, pivots)
    a = p @ lower @ upper
    a = np.conj(np.swapaxes(a, -2, -1)) if adjoint else a
    return _solve(a, b, left)


def _solve(a, b, left=True):
    if left:
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return np.linalg.solve(np.broadcast_to(a, shape + a.shape[-2:]), np.broadcast_to(b, shape + b.shape[-2:]))
    return np.swapaxes(_solve(np.swapaxes(a, -2, -1), np.swapaxes(b, -2, -1)), -2, -1)


def solve(a, b, left=True):
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        return _solve(a, b[..., None])[..., 0]
    return _solve(a, b, left)


def solve_ex(a, b, left=True):
    return solve(a, b, left), _info(a)


def inv_ex(a):
    return np.linalg.inv(a), _info(a)


def _triangle(a, upper, unit):
    a = np.triu(a) if upper else np.tril(a)
    return a - a * np.eye(a.shape[-1], dtype=a.dtype) + np.eye(a.shape[-1], dtype=a.dtype) if unit else a


def solve_triangular(a, b, upper, left=True, unitriangular=False):
    return _solve(_triangle(a, upper, unitriangular), b, left)


def triangular_solve(b, a, upper=True, transpose=False, unitriangular=False):
    t = _triangle(a, upper, unitriangular)
    x = _solve(np.swapaxes(t, -2, -1) if transpose else t, b)
    return x, np.broadcast_to(a, x.shape[:-2] + a.shape[-2:])


def slogdet(a):
    return tuple(np.linalg.slogdet(a))


def logdet(a):
    return np.log(np.linalg.det(a))


# ---- QR ----------------------------------------------------------------------------------------------------------------------


def _geqrf(a):
    a = a.copy()
    m, n = a.shape
    tau = np.zeros(min(m, n), a.dtype)
    for k in range(min(m, n)):
        x = a[k:, k]
        if np.linalg.norm(x[1:]) == 0 and x[0].imag == 0:
            continue
        beta = -np.copysign(np.linalg.norm(x), x[0].real)
        tau[k] = (beta - x[0]) / beta
        v = x / (x[0] - beta)
        v[0] = 1
        a[k:, k + 1 :] -= np.conj(tau[k]) * np.outer(v, np.conj(v) @ a[k:, k + 1 :])
        a[k, k], a[k + 1 :, k] = beta, v[1:]
    return a, tau


def _q(vectors, tau):
    """The whole product of the reflections."""
    q = np.eye(vectors.shape[0], dtype=vectors.dtype)
    for k in range(len(tau)):
        v = np.concatenate([np.zeros(k), [1], vectors[k + 1 :, k]]).astype(vectors.dtype)
        q = q @ (np.eye(len(v)) - tau[k] * np.outer(v, np.conj(v))).astype(vectors.dtype)
    return q


def geqrf(a):
    return each(_geqrf, a)


def qr(a, mode="reduced"):
    rank = a.shape[-2] if mode == "complete" else min(a.shape[-2:])

    def one(x):
        vectors, tau = _geqrf(x)
        return _q(vectors, tau)[:, :rank], np.triu(vectors)[:rank]

    q, r = each(one, a)
    return np.zeros(0, a.dtype) if mode == "r" else q, r


def qr_private(a, mode="reduced"):
    return geqrf(a) if mode == "raw" else qr(a, mode)


def householder_product(vectors, tau):
    return each(lambda v, t: _q(v, t)[:, : v.shape[1]], vectors, tau, core=(2, 1))


def ormqr(vectors, tau, other, left=True, transpose=False):
    q = each(_q, vectors, tau, core=(2, 1))
    q = adjoint(q) if transpose else q
    return q @ other if left else other @ q


# ---- spectra, norms ----------------------------------------------------------------------------------------------------------


def eigvalsh(a, uplo="L"):
    return np.linalg.eigvalsh(a, uplo)


def svdvals(a):
    return np.linalg.svd(a, compute_uv=False)


def _cutoff(a, atol, rtol):
    usual = np.finfo(a.dtype).eps * max(a.shape[-2:])
    return atol or 0.0, rtol if rtol is not None else 0.0 if atol else usual


def pinv(a, atol=None, rtol=None, hermitian=False):
    atol, rtol = _cutoff(a, atol, rtol)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > np.maximum(atol, rtol * s[..., :1])
    return adjoint(vh) * np.where(kept, 1 / np.where(kept, s, 1), 0)[..., None, :].astype(s.dtype) @ adjoint(u)


def matrix_rank(a, atol=None, rtol=None, hermitian=False):
    atol, rtol = _cutoff(a, atol, rtol)
    s = svdvals(a)
    return (s > np.maximum(atol, rtol * s[..., :1])).sum(-1)


def matrix_exp(a):
    """By the Taylor series of a matrix halved many times, in twice the precision."""
    wide = a.astype(np.clongdouble)
    term = result = np.broadcast_to(np.eye(a.shape[-1], dtype=wide.dtype), a.shape)
    for i in range(1, 25):
        term = term @ (wide / 256) / i
        result = result + term
    for _ in range(8):
        result = result @ result
    return (result if a.dtype.kind == "c" else result.real).astype(a.dtype)


def matrix_norm(a, ord="fro", dim=(-2, -1), keepdim=False):
    return np.linalg.norm(a, ord, tuple(dim), keepdim)


def norm(a, ord=None, dim=None, keepdim=False):
    if ord is None and dim is None:
        return np.sqrt((np.abs(a) ** 2).sum(keepdims=keepdim))
    return np.linalg.norm(
        a, ord, tuple(dim) if isinstance(dim, (list, tuple)) and len(dim) == 2 else dim[0] if isinstance(dim, (list, tuple)) else dim, keepdim
    )


def cond(a, p=None):
    return np.linalg.cond(a, p).real


def vecdot(x, y, dim=-1):
    return (np.conj(x) * y).sum(dim)
