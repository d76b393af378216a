"""References of the rows of conv, pool, norm, loss, softmax and nn compute, in plain NumPy: loops over small arrays, formulas from the definitions.

Backward functions of linear maps multiply by the transposes of the maps' matrices; those of analytic functions come from a complex step.
"""

import itertools
import math

import numpy as np

# ---- derivatives -------------------------------------------------------------------------------------------------------------


def transposed(linear, shape, grad):
    """The transpose of `linear` (whose inputs have this shape), times grad."""
    out = np.zeros(shape, np.result_type(grad, np.float64))
    for at in np.ndindex(*shape):
        unit = np.zeros(shape, out.dtype)
        unit[at] = 1
        out[at] = np.sum(linear(unit) * grad)
    return out.astype(grad.dtype)


def stepped(function, x, grad):
    """The gradient of sum(function(x) * grad) by x, where function is analytic: a complex step in each element."""
    out = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        moved = x.astype(np.complex128)
        moved[at] += 1e-30j
        out[at] = np.sum(np.imag(function(moved)) * grad) / 1e-30
    return out.astype(x.dtype)


def _many(values, count):
    values = (values,) if isinstance(values, int) else tuple(values)
    return values * count if len(values) == 1 else values


# ---- convolutions ------------------------------------------------------------------------------------------------------------


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.ndim - 2
    stride, padding, dilation, output_padding = (_many(v, n) for v in (stride, padding, dilation, output_padding))
    if transposed:
        return _transposed(x, weight, bias, stride, padding, dilation, output_padding, groups)
    kernel = weight.shape[2:]
    padded = np.zeros(x.shape[:2] + tuple(s + 2 * p for s, p in zip(x.shape[2:], padding, strict=True)), x.dtype)
    padded[(..., *[slice(p, p + s) for s, p in zip(x.shape[2:], padding, strict=True)])] = x
    size = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip(x.shape[2:], padding, dilation, kernel, stride, strict=True)]
    out = np.zeros((x.shape[0], weight.shape[0], *size), np.result_type(x, weight))
    per_in, per_out = weight.shape[1], weight.shape[0] // groups
    for at in np.ndindex(*size):
        window = padded[(..., *[slice(i * t, i * t + d * (k - 1) + 1, d) for i, t, d, k in zip(at, stride, dilation, kernel, strict=True)])]
        for o in range(weight.shape[0]):
            first = o // per_out * per_in
            out[(slice(None), o, *at)] = np.sum(window[:, first : first + per_in] * weight[o], axis=tuple(range(1, n + 2)))
    return out if bias is None else out + bias.reshape(-1, *[1] * n)


def _transposed(x, weight, bias, stride, padding, dilation, output_padding, groups):
    n, kernel = weight.ndim - 2, weight.shape[2:]
    size = [(s - 1) * t - 2 * p + d * (k - 1) + o + 1
            for s, t, p, d, k, o in zip(x.shape[2:], stride, padding, dilation, kernel, output_padding, strict=True)]  # fmt: skip
    out = np.zeros((x.shape[0], weight.shape[1] * groups, *size), np.result_type(x, weight))
    per_in, per_out = weight.shape[0] // groups, weight.shape[1]
    for at in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*kernel):
            to = [i * t - p + k * d for i, t, p, k, d in zip(at, stride, padding, tap, dilation, strict=True)]
            if not all(0 <= i < s for i, s in zip(to, size, strict=True)):
                continue
            for g in range(groups):
                mine, theirs = slice(g * per_in, (g + 1) * per_in), slice(g * per_out, (g + 1) * per_out)
                out[(slice(None), theirs, *to)] += x[(slice(None), mine, *at)] @ weight[(mine, slice(None), *tap)]
    return out if bias is None else out + bias.reshape(-1, *[1] * n)


def convolution_grad_input(grad, weight, sizes, *call):
    return transposed(lambda x: convolution(x, weight, None, *call), tuple(sizes), grad)


def convolution_grad_weight(grad, x, sizes, *call):
    return transposed(lambda weight: convolution(x, weight, None, *call), tuple(sizes), grad)


def _batched(n, function, x, weight, bias):
    """Without a batch dimension there is a batch of one."""
    return function(x, weight, bias) if x.ndim == n + 2 else function(x[None], weight, bias)[0]


def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    n = weight.ndim - 2
    if padding == "valid":
        padding = 0
    if padding == "same":  # the larger half goes behind
        total = [d * (k - 1) for d, k in zip(_many(dilation, n), weight.shape[2:], strict=True)]
        x, padding = np.pad(x, [(0, 0)] * (x.ndim - n) + [(t // 2, t - t // 2) for t in total]), 0
    return _batched(n, lambda *a: convolution(*a, stride, padding, dilation, False, 0, groups), x, weight, bias)


def conv_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _batched(weight.ndim - 2, lambda *a: convolution(*a, stride, padding, dilation, True, output_padding, groups), x, weight, bias)


# ---- pooling -----------------------------------------------------------------------------------------------------------------


def _pooled(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows there are: rounded up, one must still begin inside the input or the padding before it."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def _windows(n, x, kernel, stride, padding, dilation, ceil_mode):
    """Pairs of an output's place and, for each dimension, the positions that its window covers, outside ones included."""
    kernel, padding, dilation = _many(kernel, n), _many(padding, n), _many(dilation, n)
    stride = _many(stride, n) if np.size(stride) else kernel
    counts = [_pooled(s, k, t, p, d, ceil_mode) for s, k, t, p, d in zip(x.shape[-n:], kernel, stride, padding, dilation, strict=True)]
    places = [[[i * t - p + j * d for j in range(k)] for i in range(c)] for c, k, t, p, d in zip(counts, kernel, stride, padding, dilation, strict=True)]
    return counts, [(at, [places[d][i] for d, i in enumerate(at)]) for at in np.ndindex(*counts)]


def _inside(x, n, positions):
    return [[i for i in line if 0 <= i < s] for line, s in zip(positions, x.shape[-n:], strict=True)]


def _greatest(x, n, counts, windows):
    lead = x.shape[:-n]
    values, indices = np.zeros((*lead, *counts), x.dtype), np.zeros((*lead, *counts), np.int64)
    for at, positions in windows:
        for channel in np.ndindex(*lead):
            place = max(itertools.product(*_inside(x, n, positions)), key=lambda p, channel=channel: x[(*channel, *p)])
            values[(*channel, *at)] = x[(*channel, *place)]
            indices[(*channel, *at)] = np.ravel_multi_index(place, x.shape[-n:])
    return values, indices


def _max_pool(n):
    def pool(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        return _greatest(x, n, *_windows(n, x, kernel, stride, padding, dilation, ceil_mode))

    return pool


def _first(function):
    return lambda *args, **kwargs: function(*args, **kwargs)[0]


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_max_pool, (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = map(_first, (max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices))


def _avg_pool(n):
    def pool(x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        counts, windows = _windows(n, x, kernel, stride, padding, 1, ceil_mode)
        out = np.zeros((*x.shape[:-n], *counts), x.dtype)
        for at, positions in windows:
            inside = _inside(x, n, positions)
            # Padding counts; what lies behind it does not.
            padded = [[i for i in line if i < s + p] for line, s, p in zip(positions, x.shape[-n:], _many(padding, n), strict=True)]
            divisor = divisor_override or math.prod(len(line) for line in (padded if count_include_pad else inside))
            window = x[(..., *np.ix_(*inside))]
            out[(..., *at)] = window.sum(axis=tuple(range(-n, 0))) / divisor
        return out

    return pool


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))


def avg_pool_backward(grad, x, *call):
    *call, dims = call
    return transposed(lambda v: _avg_pool(dims)(v, *call), x.shape, grad)


def _adaptive_windows(n, x, size):
    """Output i of c covers floor(i s / c) to ceil((i + 1) s / c)."""
    size = [s if c is None else c for s, c in zip(x.shape[-n:], _many(size, n), strict=True)]
    lines = [[list(range(i * s // c, -(-(i + 1) * s // c))) for i in range(c)] for s, c in zip(x.shape[-n:], size, strict=True)]
    return size, [(at, [lines[d][i] for d, i in enumerate(at)]) for at in np.ndindex(*size)]


def _adaptive_avg(n):
    def pool(x, size):
        counts, windows = _adaptive_windows(n, x, size)
        out = np.zeros((*x.shape[:-n], *counts), x.dtype)
        for at, positions in windows:
            out[(..., *at)] = x[(..., *np.ix_(*positions))].mean(axis=tuple(range(-n, 0)))
        return out

    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg, (1, 2, 3))


def adaptive_avg_pool_backward(grad, x, dims):
    return transposed(lambda v: _adaptive_avg(dims)(v, grad.shape[-dims:]), x.shape, grad)


def _adaptive_max(n):
    return lambda x, size: _greatest(x, n, *_adaptive_windows(n, x, size))


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(_adaptive_max, (1, 2, 3))


def pool_gather(x, indices, dims):
    flat = x.reshape(*x.shape[:-dims], -1)
    return np.take_along_axis(flat, indices.reshape(*indices.shape[:-dims], -1), -1).reshape(indices.shape)


def pool_backward_by_index(grad, indices, sizes, dims):
    return transposed(lambda x: pool_gather(x, indices, dims), tuple(sizes), grad)


def lp_pool(x, norm_type, kernel, stride=(), ceil_mode=False):
    n = len(kernel)
    counts, windows = _windows(n, x, kernel, stride, 0, 1, ceil_mode)
    out = np.zeros((*x.shape[:-n], *counts), x.dtype)
    volume = math.prod(kernel)
    for at, positions in windows:
        inside = _inside(x, n, positions)
        window = x[(..., *np.ix_(*inside))]
        # The mean of the covered part stands for the whole window.
        total = (window**norm_type).sum(axis=tuple(range(-n, 0))) * (volume / math.prod(len(line) for line in inside))
        out[(..., *at)] = np.sign(total) * np.abs(total) ** (1 / norm_type)
    return out
