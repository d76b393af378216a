"""What rows compute, in NumPy, where its own function has another signature."""

import math

import numpy as np


def _vector(function):
    ready = np.vectorize(function, otypes=[float])
    return lambda x: ready(x).reshape(np.shape(x)) if np.size(x) else np.zeros(np.shape(x))


erf, erfc, lgamma = _vector(math.erf), _vector(math.erfc), _vector(math.lgamma)
sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
rsqrt = lambda x: 1 / np.sqrt(x)  # noqa: E731
relu = lambda x: np.maximum(x, 0)  # noqa: E731
silu = lambda x: x / (1 + np.exp(-x))  # noqa: E731
softplus = lambda x: np.log1p(np.exp(x))  # noqa: E731
logsigmoid = lambda x: -np.log1p(np.exp(-x))  # noqa: E731
mish = lambda x: x * np.tanh(np.log1p(np.exp(x)))  # noqa: E731
softsign = lambda x: x / (1 + np.abs(x))  # noqa: E731
tanhshrink = lambda x: x - np.tanh(x)  # noqa: E731
relu6 = lambda x: np.clip(x, 0, 6)  # noqa: E731
hardtanh = lambda x: np.clip(x, -1, 1)  # noqa: E731
hardsigmoid = lambda x: np.clip(x / 6 + 0.5, 0, 1)  # noqa: E731
hardswish = lambda x: x * np.clip(x / 6 + 0.5, 0, 1)  # noqa: E731
hardshrink = lambda x: np.where(np.abs(x) > 0.5, x, 0)  # noqa: E731
softshrink = lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)  # noqa: E731
leaky_relu = lambda x: np.where(x > 0, x, 0.01 * x)  # noqa: E731
elu = lambda x: np.where(x > 0, x, np.expm1(x))  # noqa: E731
celu = elu
selu = lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))  # noqa: E731
frac = lambda x: x - np.trunc(x)  # noqa: E731
sgn = lambda x: np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))) if np.iscomplexobj(x) else np.sign(x)  # noqa: E731
sign = lambda x: x if x.dtype == bool else np.sign(x)  # noqa: E731
logit = lambda x: np.log(x / (1 - x))  # noqa: E731
xlogy = lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y)))  # noqa: E731


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def add(x, y):
    return np.logical_or(x, y) if x.dtype == bool else x + y


def rsub(x, y):
    return y - x


def true_divide(x, y):
    return np.true_divide(x, y)


def lerp(x, y, weight):
    return x + weight * (y - x)


def addcmul(x, y, z):
    return x + y * z


def addcdiv(x, y, z):
    return x + y / z


def clamp(x, low, high):
    return np.minimum(np.maximum(x, low), high)


# ---- reductions: dimension lists and keepdim -----------------------------------------------------------------------------


def _reduction(function):
    def reduce(x, dim=None, keepdim=False):
        return function(x, axis=dim, keepdims=keepdim)

    return reduce


sum, prod, mean, amax, amin, any, all = (_reduction(f) for f in (np.sum, np.prod, np.mean, np.max, np.min, np.any, np.all))
nansum = _reduction(np.nansum)
argmax, argmin = _reduction(np.argmax), _reduction(np.argmin)


def max_dim(x, dim, keepdim=False):
    return amax(x, dim, keepdim), argmax(x, dim, keepdim)


def min_dim(x, dim, keepdim=False):
    return amin(x, dim, keepdim), argmin(x, dim, keepdim)


def logsumexp(x, dim, keepdim=False):
    return np.log(np.sum(np.exp(x), axis=dim, keepdims=keepdim))


def var(x, dim, correction=1, keepdim=False):
    return np.var(x, axis=dim, ddof=correction, keepdims=keepdim)


def std(x, dim, correction=1, keepdim=False):
    return np.std(x, axis=dim, ddof=correction, keepdims=keepdim)


def var_mean(x, dim, correction=1, keepdim=False):
    return var(x, dim, correction, keepdim), np.mean(x, axis=dim, keepdims=keepdim)


def std_mean(x, dim, correction=1, keepdim=False):
    return std(x, dim, correction, keepdim), np.mean(x, axis=dim, keepdims=keepdim)


def vector_norm(x, order, dim):
    return np.linalg.norm(x, order, axis=dim[0])


def count_nonzero(x, dim):
    return np.count_nonzero(x, axis=dim)


def softmax(x, dim):
    e = np.exp(x)
    return e / e.sum(axis=dim, keepdims=True)


def log_softmax(x, dim):
    return np.log(softmax(x, dim))


def softmin(x, dim):
    return softmax(-x, dim)


def cummax(x, dim):
    return _running(x, dim, lambda new, old: new >= old)


def cummin(x, dim):
    return _running(x, dim, lambda new, old: new <= old)


def _running(x, dim, better):
    values, indices = x.copy(), np.zeros(x.shape, np.int64)
    moved, places = np.moveaxis(values, dim, 0), np.moveaxis(indices, dim, 0)
    for i in range(1, moved.shape[0]):
        wins = better(moved[i], moved[i - 1])
        moved[i] = np.where(wins, moved[i], moved[i - 1])
        places[i] = np.where(wins, i, places[i - 1])
    return values, indices


def logcumsumexp(x, dim):
    return np.log(np.cumsum(np.exp(x), axis=dim))


# ---- views -----------------------------------------------------------------------------------------------------------------


def squeeze_dim(x, dim):
    return np.squeeze(x, dim) if x.shape[dim] == 1 else x


def expand(x, size):
    return np.broadcast_to(x, size)


def select(x, dim, index):
    return np.take(x, index, axis=dim)


def narrow(x, dim, start, length):
    return slices(x, dim, start, start + length)


def slices(x, dim=0, start=None, end=None, step=1):
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, end, step)
    return x[tuple(index)]


def diagonal(x, offset=0, dim1=0, dim2=1):
    return np.diagonal(x, offset, dim1, dim2)


def flatten(x, start=0, end=-1):
    if x.ndim == 0:
        return x.reshape(1)
    end = end % x.ndim
    return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])


def unflatten(x, dim, sizes):
    dim = dim % x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def chunk(x, chunks, dim=0):
    return split(x, -(-x.shape[dim] // chunks), dim)


def split(x, size, dim=0):
    return tuple(slices(x, dim, start, start + size) for start in range(0, x.shape[dim], size))


def split_sizes(x, sizes, dim=0):
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=dim))


def unbind(x, dim=0):
    return tuple(np.moveaxis(x, dim, 0))


def unfold(x, dim, size, step):
    windows = [slices(x, dim, at, at + size) for at in range(0, x.shape[dim] - size + 1, step)]
    return np.stack([np.moveaxis(w, dim, -1) for w in windows], axis=dim)


def as_strided(x, size, stride, offset):
    return np.lib.stride_tricks.as_strided(x.ravel()[offset:], size, [s * x.itemsize for s in stride])


def roll(x, shifts, dims=None):
    return np.roll(x, shifts, axis=dims)


def tensor_split(x, sections, dim=0):
    return tuple(np.array_split(x, sections, axis=dim))


# ---- indexing --------------------------------------------------------------------------------------------------------------


def index_select(x, dim, index):
    return np.take(x, index, axis=dim)


def gather(x, dim, index):
    out = np.empty(index.shape, x.dtype)
    for at in np.ndindex(*index.shape):
        source = list(at)
        source[dim] = index[at]
        out[at] = x[tuple(source)]
    return out


def scatter(x, dim, index, source):
    out = x.copy()
    for at in np.ndindex(*index.shape):
        target = list(at)
        target[dim] = index[at]
        out[tuple(target)] = source[at]
    return out


def scatter_add(x, dim, index, source):
    out = x.copy()
    for at in np.ndindex(*index.shape):
        target = list(at)
        target[dim] = index[at]
        out[tuple(target)] += source[at]
    return out


def index_add(x, dim, index, source):
    out = x.copy()
    moved = np.moveaxis(out, dim, 0)
    np.add.at(moved, index, np.moveaxis(source, dim, 0))
    return out


def masked_fill(x, mask, value):
    return np.where(mask, np.asarray(value, x.dtype), x)


def masked_select(x, mask):
    return x[mask]


def nonzero(x):
    return np.argwhere(x)


def sort(x, dim, descending=False):
    order = np.argsort(x, axis=dim, kind="stable")
    order = np.flip(order, axis=dim) if descending else order
    return np.take_along_axis(x, order, dim), order


def argsort(x, dim, descending=False):
    return sort(x, dim, descending)[1]


def topk(x, k, dim=-1, largest=True):
    values, indices = sort(x, dim, largest)
    return slices(values, dim, 0, k), slices(indices, dim, 0, k)


# ---- matrix products -------------------------------------------------------------------------------------------------------


def addmm(x, a, b):
    return x + np.matmul(a, b)


def linear(x, weight, bias):
    return np.matmul(x, weight.T) + bias
