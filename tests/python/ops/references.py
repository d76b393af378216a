"""References of rows in NumPy, where its own function has another signature."""

import math

import numpy as np

complex_number = complex  # the type, before a row of its name


def _vector(function):
    """An elementwise function of one or more arrays, computed in double; whole numbers give the default dtype."""

    def apply(*xs):
        dtype = np.result_type(*xs)
        arrays = np.broadcast_arrays(*xs)
        values = [function(*map(float, point)) for point in zip(*(a.ravel() for a in arrays), strict=True)]
        return np.array(values, float).reshape(arrays[0].shape).astype(dtype if dtype.kind in "fc" else np.float32)

    return apply


def _whole(function):
    return lambda x: function(x) if x.dtype.kind == "f" else x


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
xlogy = lambda x, y: np.where(x == 0, np.zeros_like(x), x * np.log(np.where(x == 0, np.ones_like(y), y)))  # noqa: E731
floor, ceil, trunc = (_whole(f) for f in (np.floor, np.ceil, np.trunc))


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


def _counting(function):
    """Sums of whole numbers are int64."""

    def reduce(x, dim=None, keepdim=False):
        return function(x, axis=dim, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "biu" else None)

    return reduce


def _truth(function):
    """Of bytes it stays a byte."""

    def reduce(x, dim=None, keepdim=False):
        return np.asarray(function(x, axis=dim, keepdims=keepdim)).astype(np.uint8 if x.dtype == np.uint8 else bool)

    return reduce


mean, amax, amin, any, all = _reduction(np.mean), _reduction(np.max), _reduction(np.min), _truth(np.any), _truth(np.all)
sum, prod, nansum = (_counting(f) for f in (np.sum, np.prod, np.nansum))
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


# ---- backward functions of activations ---------------------------------------------------------------------------------------


def threshold(x, threshold, value):
    return np.where(x > threshold, x, np.asarray(value, x.dtype))


def threshold_backward(grad, x, threshold):
    return np.where(x > threshold, grad, np.zeros_like(grad))


def hardtanh_backward(grad, x, low, high):
    return np.where((x > low) & (x < high), grad, np.zeros_like(grad))


def leaky_relu_backward(grad, x, slope, is_result):
    return (grad * np.where(x > 0, 1, slope)).astype(grad.dtype)


def prelu(x, weight):
    shape = [1, -1] + [1] * (x.ndim - 2) if weight.size > 1 else [1] * x.ndim
    return np.where(x >= 0, x, weight.reshape(shape) * x)


def elu_backward(grad, alpha, scale, input_scale, is_result, x):
    # Of alpha (exp(c x) - 1) below zero: a result r has exp(c x) = r / alpha + 1.
    inside = alpha * input_scale * np.exp(x * input_scale) if not is_result else input_scale * (x + alpha * scale) / scale
    return (grad * scale * np.where(x > 0, 1, inside)).astype(grad.dtype)


def _stepped(function):
    """The backward function of an analytic function: a complex step gives its slope to the last digit."""

    def backward(grad, x, *args):
        slope = np.imag(function(x.astype(np.complex128) + 1e-30j, *args)) / 1e-30
        return (grad * slope).astype(np.result_type(grad, x))

    return backward


silu_backward, log_sigmoid_backward = _stepped(silu), _stepped(logsigmoid)
mish_backward = _stepped(mish)
softplus_backward = _stepped(lambda x, beta, threshold: np.where(x.real * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta))
hardsigmoid_backward = _stepped(lambda x: np.where(np.abs(x.real) < 3, x / 6, 0))
hardswish_backward = _stepped(lambda x: np.where(x.real >= 3, x, np.where(x.real <= -3, 0, x * (x + 3) / 6)))
hardshrink_backward = _stepped(lambda x, lambd: np.where(np.abs(x.real) > lambd, x, 0))
softshrink_backward = hardshrink_backward
_tanh_gelu_backward = _stepped(lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def gelu_backward(grad, x, *, approximate="none"):
    if approximate == "tanh":
        return _tanh_gelu_backward(grad, x)
    return grad * (0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)).astype(x.dtype)


def tanh_backward(grad, output):
    return grad * np.conj(1 - output * output)


def sigmoid_backward(grad, output):
    return grad * np.conj(output * (1 - output))


def glu(x, dim=-1):
    a, b = np.split(x, 2, axis=dim)
    return a / (1 + np.exp(-b))


# ---- numbers as arguments ---------------------------------------------------------------------------------------------------


def div_mode(x, y, *, rounding_mode=None):
    if rounding_mode is None:
        quotient = np.true_divide(x, y)
        return quotient if x.dtype.kind in "fc" else quotient.astype(np.float32)
    whole = np.floor_divide(x, y) if rounding_mode == "floor" else (x.astype(float) / y).astype(x.dtype)
    return np.trunc(whole) if whole.dtype.kind == "f" else whole


def div_floor(x, y):
    return np.floor_divide(x, y)


def div_trunc(x, y):
    return div_mode(x, y, rounding_mode="trunc")


def remainder_of_number(number, y):
    return np.remainder(np.asarray(number, y.dtype), y)


def power_of_number(number, y):
    return np.power(np.asarray(number, y.dtype), y)


def float_power(x, y):
    return np.float_power(x, y)


def _number_first(function):
    return lambda number, y: function(np.asarray(number, y.dtype), y)


bitwise_and_number, bitwise_or_number, bitwise_xor_number = map(_number_first, (np.bitwise_and, np.bitwise_or, np.bitwise_xor))
left_shift_number, right_shift_number = map(_number_first, (np.left_shift, np.right_shift))


def left_shift(x, number):
    return np.left_shift(x, np.asarray(number, x.dtype))


def right_shift(x, number):
    return np.right_shift(x, np.asarray(number, x.dtype))


def clamp_optional(x, min=None, max=None):
    out = x if min is None else np.maximum(x, np.asarray(min, x.dtype))
    return out if max is None else np.minimum(out, np.asarray(max, x.dtype))


def where_numbers(condition, x, y):
    """A number takes the dtype of the other side; two of them the default one."""
    array = next((v for v in (x, y) if isinstance(v, np.ndarray)), None)
    dtype = array.dtype if array is not None else np.dtype(np.float32 if isinstance(x, float) else np.int64)
    return np.where(condition, np.asarray(x, dtype), np.asarray(y, dtype))


def copysign(x, number):
    return np.copysign(x, np.asarray(number, x.dtype))


def xlogy_number_first(x, y):
    return xlogy(np.asarray(x, y.dtype), y)


def xlogy_number_last(x, y):
    return xlogy(x, np.asarray(y, x.dtype))


# ---- special functions, complex numbers, dtypes ------------------------------------------------------------------------------


def round_decimals(x, *, decimals):
    return np.round(x.astype(float), decimals).astype(x.dtype)


def _erfinv(y):
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    x = (low + high) / 2
    for _ in range(2):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def _polygamma(n, x):
    """(-1)^(n+1) n! times the sum of 1 / (x+k)^(n+1): the first terms, and Euler and Maclaurin's formula for the rest."""
    terms = 40
    if n == 0:
        z = x + terms
        rest = math.log(z) - 1 / (2 * z) - 1 / (12 * z**2) + 1 / (120 * z**4) - 1 / (252 * z**6)
        return rest - math.fsum(1 / (x + k) for k in range(terms))
    s, z = n + 1, x + terms
    rest = z ** (1 - s) / (s - 1) + z**-s / 2 + s * z ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * z ** (-s - 3) / 720
    return (-1) ** (n + 1) * math.factorial(n) * (math.fsum((x + k) ** -s for k in range(terms)) + rest)


erfinv, digamma = _vector(_erfinv), _vector(lambda x: _polygamma(0, x))


def polygamma(n, x):
    return _vector(lambda v: _polygamma(n, v))(x)


def polygamma_(x, n):
    x[...] = polygamma(n, x)
    return x


def view_as_real(x):
    return np.stack([x.real, x.imag], axis=-1)


def view_as_complex(x):
    return x[..., 0] + 1j * x[..., 1]


def view_dtype(x, dtype):
    return np.frombuffer(x.tobytes(), dtype).reshape(x.shape if x.itemsize == dtype.itemsize else (*x.shape[:-1], -1))


def complex(real, imag):
    return (real + 1j * imag).astype(np.result_type(real.dtype, np.complex64))


def polar(abs, angle):
    return (abs * (np.cos(angle) + 1j * np.sin(angle))).astype(np.result_type(abs.dtype, np.complex64))


def _promoted(*dtypes):
    """A whole number beside a real or complex one leaves it as it is."""
    inexact = [d for d in dtypes if d.kind in "fc"]
    return np.result_type(*(inexact or dtypes))


def result_type(*values):
    """Tensors without dimensions, and then numbers, count only where their kind (truth, whole, real, complex) is above the others'."""
    default = {bool: "bool", int: "int64", float: "float32", complex_number: "complex64"}
    rank = lambda dtype: "b iu f c".split().index(next(k for k in "b iu f c".split() if dtype.kind in k))  # noqa: E731
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    groups = [[a.dtype for a in arrays if a.ndim], [a.dtype for a in arrays if not a.ndim]]
    groups.append([np.dtype(default[type(v)]) for v in values if not isinstance(v, np.ndarray)])
    best = None
    for dtypes in filter(None, groups):
        own = _promoted(*dtypes)
        if best is None:
            best = own
        elif rank(own) > rank(best):
            best = np.result_type(best, np.complex64) if own.kind == "c" and best.kind == "f" else own
    return best


# ---- further reductions, orders and shapes -----------------------------------------------------------------------------------


def nanmean(x, dim=None, keepdim=False):
    return np.nanmean(x, axis=dim, keepdims=keepdim)


def aminmax(x, *, dim=None, keepdim=False):
    return np.min(x, axis=dim, keepdims=keepdim), np.max(x, axis=dim, keepdims=keepdim)


def var_unbiased(x, *args, keepdim=False):
    *dim, unbiased = args
    return np.asarray(np.var(x, axis=dim[0] if dim else None, ddof=int(unbiased), keepdims=keepdim), x.real.dtype)


def std_unbiased(x, *args, keepdim=False):
    return np.sqrt(var_unbiased(x, *args, keepdim=keepdim))


def _mean_unbiased(x, *args, keepdim=False):
    return np.asarray(np.mean(x, axis=args[0] if len(args) > 1 else None, keepdims=keepdim), x.dtype)


def var_mean_unbiased(x, *args, keepdim=False):
    return var_unbiased(x, *args, keepdim=keepdim), _mean_unbiased(x, *args, keepdim=keepdim)


def std_mean_unbiased(x, *args, keepdim=False):
    return std_unbiased(x, *args, keepdim=keepdim), _mean_unbiased(x, *args, keepdim=keepdim)


def norm(x, p=2, dim=None, keepdim=False):
    p, a = 2 if p is None else p, np.abs(x).astype(x.real.dtype)
    if p in (np.inf, -np.inf):
        return (np.max if p > 0 else np.min)(a, axis=dim, keepdims=keepdim)
    total = np.sum(a != 0, axis=dim, keepdims=keepdim) if p == 0 else np.sum(a**p, axis=dim, keepdims=keepdim) ** (1 / p)
    return np.asarray(total, a.dtype)


def count_all(x, dim=None):
    return np.asarray(np.count_nonzero(x, axis=dim), np.int64)


def stable_sort(x, *, stable, dim=-1, descending=False):
    key = -x.astype(np.int64) if descending and x.dtype.kind in "biu" else -x if descending else x
    order = np.argsort(key, axis=dim, kind="stable")
    return np.take_along_axis(x, order, dim), order


def stable_argsort(x, *, stable, dim=-1, descending=False):
    return stable_sort(x, stable=stable, dim=dim, descending=descending)[1]


def msort(x):
    return np.sort(x, axis=0)


def _pick(x, place, dim, keepdim, order):
    """Value at `place` along dim once sorted, and its position before."""
    place = np.expand_dims(np.asarray(place), dim) if np.ndim(place) else np.full([1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)], place)
    index = np.take_along_axis(order, place, dim)
    value = np.take_along_axis(x, index, dim)
    return (value, index) if keepdim else (np.squeeze(value, dim), np.squeeze(index, dim))


def kthvalue(x, k, dim=-1, keepdim=False):
    return _pick(x, k - 1, dim, keepdim, np.argsort(x, axis=dim, kind="stable"))


def median(x):
    return np.sort(x, axis=None)[(x.size - 1) // 2]


def median_dim(x, dim, keepdim=False):
    return _pick(x, (x.shape[dim] - 1) // 2, dim, keepdim, np.argsort(x, axis=dim, kind="stable"))


def nanmedian(x):
    known = x[~np.isnan(x)]
    return median(known)


def nanmedian_dim(x, dim, keepdim=False):
    known = np.sum(~np.isnan(x), axis=dim)
    return _pick(x, np.maximum(known - 1, 0) // 2, dim, keepdim, np.argsort(x, axis=dim, kind="stable"))


def mode(x, dim=-1, keepdim=False):
    """The value that comes most often, the smallest of several, and its last place."""
    moved = np.moveaxis(x, dim, -1)
    values, places = np.empty(moved.shape[:-1], x.dtype), np.empty(moved.shape[:-1], np.int64)
    for at in np.ndindex(*moved.shape[:-1]):
        line = moved[at].tolist()
        best = max(sorted(set(line)), key=line.count)
        values[at], places[at] = best, max(i for i, v in enumerate(line) if v == best)
    return (np.expand_dims(values, dim), np.expand_dims(places, dim)) if keepdim else (values, places)


def reshape_as(x, other):
    return x.reshape(other.shape)


def expand_as(x, other):
    return np.broadcast_to(x, other.shape)


def broadcast_tensors(tensors):
    return tuple(np.broadcast_arrays(*tensors))


def tensor_split_indices(x, indices, dim=0):
    return tuple(np.split(x, indices, axis=dim))


def swap_last(x):
    return np.swapaxes(x, -1, -2)


def meshgrid(tensors, *, indexing="ij"):
    return tuple(np.meshgrid(*tensors, indexing=indexing))


def alias(x):
    return x


def squeeze_dims(x, dims):
    return np.squeeze(x, tuple(d for d in dims if x.ndim and x.shape[d] == 1))


def allclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(np.allclose(x, y, rtol, atol, equal_nan))


def equal(x, y):
    return bool(np.array_equal(x, y))


def is_nonzero(x):
    return bool(x.reshape(()))
