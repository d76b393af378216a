"""References of the rows of factory, memory, index and matmul compute, in plain NumPy."""

import math

import numpy as np

DEFAULT = np.dtype(np.float32)

# ---- factories ---------------------------------------------------------------------------------------------------------------


def _of(number):
    """The dtype that a number alone gives."""
    return np.dtype({bool: "bool", int: "int64", float: "float32"}.get(type(number), "complex64"))


def empty(size, dtype=DEFAULT, memory_format=None):
    out = np.zeros(size, dtype)
    if memory_format in ("channels_last", "channels_last_3d"):
        out = np.moveaxis(np.zeros((size[0], *size[2:], size[1]), dtype), -1, 1)
    return out


def empty_strided(size, stride, dtype=DEFAULT):
    memory = np.zeros(1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)), dtype)
    return np.lib.stride_tricks.as_strided(memory, size, [s * memory.itemsize for s in stride])


def zeros(size, dtype=DEFAULT):
    return np.zeros(size, dtype)


def ones(size, dtype=DEFAULT):
    return np.ones(size, dtype)


def full(size, value, dtype=None):
    return np.full(size, value, dtype or _of(value))


def scalar_tensor(value, dtype=DEFAULT):
    return np.asarray(value, dtype)


def _like(x, dtype, memory_format):
    """The same order of dimensions in memory, without gaps."""
    if memory_format:
        return empty(x.shape, dtype or x.dtype, memory_format)
    order = sorted(range(x.ndim), key=lambda d: (x.strides[d] == 0, -x.strides[d]))
    return np.transpose(np.zeros([x.shape[d] for d in order], dtype or x.dtype), np.argsort(order)) if x.ndim else np.zeros((), dtype or x.dtype)


def zeros_like(x, dtype=None, memory_format=None):
    return _like(x, dtype, memory_format)


def ones_like(x, dtype=None, memory_format=None):
    out = _like(x, dtype, memory_format)
    out[...] = 1
    return out


def full_like(x, value, dtype=None, memory_format=None):
    out = _like(x, dtype, memory_format)
    out[...] = value
    return out


def new_zeros(x, size, dtype=None):
    return np.zeros(size, dtype or x.dtype)


def new_ones(x, size, dtype=None):
    return np.ones(size, dtype or x.dtype)


def new_full(x, size, value, dtype=None):
    return np.full(size, value, dtype or x.dtype)


def new_empty_strided(x, size, stride, dtype=None):
    return empty_strided(size, stride, dtype or x.dtype)


def arange(*args, dtype=None):
    start, end, step = {1: (0, *args, 1), 2: (*args, 1)}.get(len(args), args)
    if dtype == np.int64:  # whole bounds; of the other integers only the values are whole
        start, end, step = int(start), int(end), int(step)
    kind = np.dtype(np.int64 if all(isinstance(v, int) for v in (start, end, step)) else np.float32)
    return np.array([start + i * step for i in range(max(math.ceil((end - start) / step), 0))]).astype(dtype or kind)


def range_closed(start, end, step=1, dtype=DEFAULT):
    return np.array([start + i * step for i in range(math.floor((end - start) / step) + 1)]).astype(dtype)


def _number(value):
    return value.item() if isinstance(value, np.ndarray) else value


def linspace(start, end, steps, dtype=DEFAULT):
    start, end = _number(start), _number(end)
    return np.array([start + (end - start) * i / max(steps - 1, 1) for i in range(steps)]).astype(dtype)


def logspace(start, end, steps, base=10.0, dtype=DEFAULT):
    start, end = _number(start), _number(end)
    return np.array([base ** (start + (end - start) * i / max(steps - 1, 1)) for i in range(steps)]).astype(dtype)


def eye(n, m=None, dtype=DEFAULT):
    return np.array([[i == j for j in range(n if m is None else m)] for i in range(n)]).reshape(n, n if m is None else m).astype(dtype)


def tril_indices(row, col, offset=0, dtype=np.dtype(np.int64)):
    places = [(i, j) for i in range(row) for j in range(col) if j - i <= offset]
    return np.array(places, dtype).reshape(-1, 2).T


def triu_indices(row, col, offset=0, dtype=np.dtype(np.int64)):
    places = [(i, j) for i in range(row) for j in range(col) if j - i >= offset]
    return np.array(places, dtype).reshape(-1, 2).T


# ---- memory ------------------------------------------------------------------------------------------------------------------


def copy_(x, source, non_blocking=False):
    x[...] = source
    return x


def fill_(x, value):
    x[...] = value
    return x


def zero_(x):
    x[...] = 0
    return x


def converted(x, *args, dtype=None, **options):
    """To a dtype, wherever it stands among the arguments, or that of a tensor."""
    found = [a.dtype if isinstance(a, np.ndarray) else a for a in args if isinstance(a, (np.ndarray, np.dtype))]
    return x.astype(dtype or (found or [x.dtype])[0])


def resize_(x, size):
    x.resize(size, refcheck=False)
    return x


def resize_as_(x, other):
    return resize_(x, other.shape)


# ---- index, matmul -----------------------------------------------------------------------------------------------------------


def _places(index, dim):
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[dim] = index[at]
        yield at, tuple(to)


def scatter(x, dim, index, source, *, reduce=None):
    out = x.copy()
    for at, to in _places(index, dim):
        new = source[at] if isinstance(source, np.ndarray) else np.asarray(source, x.dtype)
        out[to] = new if reduce is None else out[to] + new if reduce == "add" else out[to] * new
    return out


def _subscript(indices, ndim):
    """NumPy's subscript: None stands for a whole dimension."""
    return tuple(slice(None) if i is None else i for i in indices)


def index(x, indices):
    return x[_subscript(indices, x.ndim)]


def index_put(x, indices, values, accumulate=False):
    out, where = x.copy(), _subscript(indices, x.ndim)
    if accumulate:
        np.add.at(out, where, values)
    else:
        out[where] = values
    return out


def embedding(weight, indices, *unused):
    return weight[indices]


def embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    out = np.zeros((num_weights, grad.shape[-1]), grad.dtype)
    for at in np.ndindex(*indices.shape):
        word = int(indices[at])
        if word != padding_idx:
            out[word] += grad[at] / (np.sum(indices == word) if scale_grad_by_freq else 1)
    return out


def take_along_dim(x, indices, dim=None):
    return np.take_along_axis(x.ravel(), indices.ravel(), 0) if dim is None else np.take_along_axis(x, indices, dim)


def one_hot(x, num_classes):
    return (x[..., None] == np.arange(num_classes)).astype(np.int64)


def chain_matmul(matrices):
    out = matrices[0]
    for m in matrices[1:]:
        out = out @ m
    return out


def einsum(equation, operands, **unused):
    return np.asarray(np.einsum(equation.replace(" ", ""), *operands), np.result_type(*operands))
