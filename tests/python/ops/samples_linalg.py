"""Arguments for the rows of linear algebra."""

import numpy as np
import references_linalg as references


def _some(source, *shape):
    return list(source.layouts(*shape))[:3]


def _distinct(x):
    """Away from singular matrices: the diagonal counts most."""
    k = min(x.shape[-2:])
    step = np.zeros(x.shape[-2:], x.dtype)
    step[np.arange(k), np.arange(k)] = 12 + 3 * np.arange(k)
    return x + step


def _with_layouts(x):
    yield x
    yield np.ascontiguousarray(np.swapaxes(x, -2, -1)).swapaxes(-2, -1)
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
    wide[..., 1::2] = x
    yield wide[..., 1::2]


SQUARES = [(3, 3), (2, 4, 4), (1, 1), (2, 1, 2, 2)]
MATRICES = [(3, 3), (4, 2), (2, 5), (2, 3, 4), (2, 1, 4, 3)]


def squares(source):
    for shape in SQUARES:
        for x in _with_layouts(source.array(*shape) / 4):
            yield (x,), {}


def regular(source):
    for shape in [*SQUARES, (0, 3, 3)]:
        for x in _with_layouts(_distinct(source.array(*shape))):
            yield (x,), {}


def matrices(source):
    for shape in MATRICES:
        for x in _with_layouts(_distinct(source.array(*shape))):
            yield (x,), {}


def _definite(source, *shape):
    x = source.array(*shape)
    return x @ references.adjoint(x) + 4 * np.eye(shape[-1], dtype=x.dtype)


def definite_matrices(source):
    for shape in SQUARES:
        for x in _with_layouts(_definite(source, *shape)):
            yield (x,), {}


def definite(source):
    for (x,), _ in definite_matrices(source):
        yield (x,), {}
        yield (x,), {"upper": True}


def factors(source):
    for (x,), _ in regular(source):
        if source.dtype.kind == "c":
            np.einsum("...ii->...i", x).imag = 0  # the diagonal of a factor is real
        yield (x,), {}
        yield (x, True), {}


def factored_systems(source):
    for a, b in [((3, 3), (3, 2)), ((2, 3, 3), (3, 1)), ((2, 2), (3, 2, 2))]:
        for x in _with_layouts(_distinct(source.array(*a))):
            yield (source.array(*b), x), {}
            yield (source.array(*b), x, True), {}


def factored(source):
    for (x,), _ in matrices(source):
        lu, pivots = references.lu_factor(np.asarray(x))
        yield (lu, pivots), {}
    yield (lu, pivots), {"unpack_data": False}
    yield (lu, pivots), {"unpack_pivots": False}


# No right side, nor its transpose, has the shape of a vector for each matrix.
SYSTEMS = [((3, 3), (3, 2)), ((2, 3, 3), (3, 4)), ((3, 3), (2, 3, 1)), ((2, 1, 2, 2), (3, 2, 2))]


def _right(shape):
    return (*shape[:-2], shape[-1], shape[-2])


def systems(source):
    for a, b in SYSTEMS:
        for x in _with_layouts(_distinct(source.array(*a))):
            yield (x, source.array(*b)), {}
            yield (x, source.array(*_right(b))), {"left": False}
    yield (_distinct(source.array(3, 3)), source.array(3)), {}
    yield (_distinct(source.array(2, 3, 3)), source.array(2, 3)), {}


def lu_systems(source):
    for a, b in SYSTEMS:
        lu, pivots = references.lu_factor(_distinct(source.array(*a)))
        for adjoint in (False, True):
            yield (lu, pivots, source.array(*b)), {"adjoint": adjoint}
            yield (lu, pivots, source.array(*_right(b))), {"left": False, "adjoint": adjoint}


def triangular_systems(source):
    for a, b in SYSTEMS:
        for x in _with_layouts(_distinct(source.array(*a))):
            yield (x, source.array(*b)), {"upper": True}
            yield (x, source.array(*_right(b))), {"upper": False, "left": False}
            yield (x / 8, source.array(*b)), {"upper": False, "unitriangular": True}


def triangular_calls(source):
    for a, b in SYSTEMS:
        for x in _with_layouts(_distinct(source.array(*a))):
            yield (source.array(*b), x), {}
            yield (source.array(*b), x, False, True), {}
            yield (source.array(*b), x / 8, True, False, True), {}


def qr_modes(source):
    for (x,), _ in matrices(source):
        yield (x,), {}
        if x.shape[-2] <= x.shape[-1]:
            yield (x, "complete"), {}


def qr_calls(source):
    yield from qr_modes(source)


def reflections(source):
    for shape, k in [((3, 3), 3), ((4, 2), 2), ((2, 4, 3), 2), ((2, 4, 3), 3)]:
        for x in _with_layouts(source.array(*shape) / 4):
            yield (x, source.array(*shape[:-2], k) / 4), {}


def reflected(source):
    for (x, tau), _ in reflections(source):
        m, batch = x.shape[-2], x.shape[:-2]
        if tau.shape[-1] < min(x.shape[-2:]):
            continue
        yield (x, tau, source.array(*batch, m, 2)), {}
        yield (x, tau, source.array(*batch, m, 2), True, True), {}
        yield (x, tau, source.array(*batch, 2, m), False), {}


def hermitian(source):
    for (x,), _ in definite_matrices(source):
        yield (x,), {}
        yield (x, "U"), {}


def pinv_calls(source):
    for (x,), _ in matrices(source):
        yield (x,), {}
    yield (x,), {"atol": 0.01, "rtol": 0.001}
    yield (_definite(source, 3, 3),), {"hermitian": True}


def ranks(source):
    for (x,), _ in matrices(source):
        yield (x,), {}
    ones = np.ones((3, 4), source.dtype)
    yield (ones,), {}
    yield (np.stack([ones, np.eye(3, 4, dtype=source.dtype)]),), {}
    yield (np.diag([4, 2, 1]).astype(source.dtype),), {"atol": 1.5}
    yield (np.diag([4, 2, 1]).astype(source.dtype),), {"rtol": 0.6}
    yield (np.ones((3, 3), source.dtype),), {"hermitian": True}


def powers(source):
    for (x,), _ in regular(source):
        for n in (0, 1, 3, -2):
            yield (x / 8, n), {}


def norm_orders(source):
    for x in _with_layouts(_distinct(source.array(2, 4, 3))):
        for order in (1, -1, 2, -2, float("inf"), float("-inf")):
            yield (x, order), {}
            yield (x, order), {"dim": (2, 0), "keepdim": True}
            yield (x, order), {"dim": (0, 1)}


def norm_names(source):
    for x in _with_layouts(_distinct(source.array(2, 4, 3))):
        for order in ("fro", "nuc"):
            yield (x, order), {}
            yield (x, order), {"dim": (2, 0), "keepdim": True}


def norm_calls(source):
    x = _distinct(source.array(3, 4))
    yield (x,), {}
    yield (x,), {"keepdim": True}
    yield (source.array(2, 3, 2),), {}
    for order in (1, 2, float("inf")):
        yield (x, order), {}
        yield (x, order, 1), {}
        yield (x, order, (0, 1)), {"keepdim": True}


def cond_calls(source):
    for (x,), _ in list(regular(source))[:9]:
        for p in (None, 1, -1, 2, -2, float("inf"), float("-inf")):
            yield (x, p), {}


def cond_names(source):
    for (x,), _ in list(regular(source))[:9]:
        for p in ("fro", "nuc"):
            yield (x, p), {}


def tensor_inverses(source):
    yield (_distinct(source.array(6, 6)).reshape(2, 3, 6), 2), {}
    yield (_distinct(source.array(4, 4)).reshape(4, 2, 2), 1), {}


def tensor_systems(source):
    yield (_distinct(source.array(6, 6)).reshape(2, 3, 6), source.array(2, 3)), {}
    yield (_distinct(source.array(4, 4)).reshape(4, 2, 2), source.array(4)), {}


def vectors(source):
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((4, 1, 2), (3, 2))]:
        for x in source.layouts(*a):
            yield (x, source.array(*b)), {}
