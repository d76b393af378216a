"""References of the rows of nn in plain NumPy: padding, resizing, sliding blocks and attention."""

import math

import numpy as np
from references_nn import stepped, transposed

# ---- padding -----------------------------------------------------------------------------------------------------------------

MODES = ["reflect", "edge", "wrap"]


def _pairs(pad, ndim):
    """NumPy's (before, after) of each dimension; PyTorch's list has the last dimension first."""
    given = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    return [(0, 0)] * (ndim - len(given)) + given[::-1]


def constant_pad_nd(x, pad, value=0):
    if not pad:
        return x
    pairs = _pairs(pad, x.ndim)
    out = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)
    return out[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, out.shape, strict=True))]


def pad_mode(x, pad, mode):
    pairs = _pairs(pad, x.ndim)
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]
    return np.pad(cut, [(max(a, 0), max(b, 0)) for a, b in pairs], mode=MODES[mode])


def pad_mode_backward(grad, sizes, pad, mode):
    return transposed(lambda x: pad_mode(x, pad, mode), tuple(sizes), grad)


def pad(x, pad, mode="constant", value=None):
    return constant_pad_nd(x, pad, value or 0) if mode == "constant" else pad_mode(x, pad, ["reflect", "replicate", "circular"].index(mode))


# ---- resizing: a matrix of weights for each dimension ------------------------------------------------------------------------


def _cubic(t, a):
    t = abs(t)
    return (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0.0


def _lanczos(t):
    return float(np.sinc(t) * np.sinc(t / 3)) if abs(t) < 3 else 0.0


def _axis(size, out, mode, align_corners, antialias, given, image):
    """For images, plain nearest mode ignores a given scale where a size stays or doubles."""
    scale = 1 / given if given else size / out
    if align_corners and mode >= 2:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    weights = np.zeros((out, size))
    for o in range(out):
        at = scale * o if align_corners else scale * (o + 0.5) - 0.5
        if size == out and mode != 3 and not align_corners:
            at = o
        if mode == 0:
            weights[o, o if image and size == out else o // 2 if image and out == 2 * size else min(math.floor(o * scale), size - 1)] = 1
        elif mode == 1:
            weights[o, min(math.floor((o + 0.5) * scale), size - 1)] = 1
        elif antialias:
            scale = 1 if size == out else scale
            stretch, centre = max(scale, 1), scale * (o + 0.5)
            support = stretch * (mode - 1)
            taps = range(max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), size))
            distance = [(j + 0.5 - centre) / stretch for j in taps]
            own = [max(1 - abs(d), 0) if mode == 2 else _cubic(d, -0.5) if mode == 3 else _lanczos(d) for d in distance]
            weights[o, taps] = np.array(own) / sum(own)
        elif mode == 2:
            at = max(at, 0)
            low = min(math.floor(at), size - 1)
            weights[o, low] += 1 - (at - low)
            weights[o, min(low + 1, size - 1)] += at - low
        else:
            low = math.floor(at)
            for j in range(low - 1, low + 3):
                weights[o, min(max(j, 0), size - 1)] += _cubic(at - j, -0.75)
    return weights


def resize_images(x, output_size, mode, align_corners, antialias, scales=None):
    out, dtype = x.astype(np.result_type(x, np.float64)), x.dtype
    for d, size in enumerate(output_size):
        weights = _axis(x.shape[d + 2], size, mode, align_corners, antialias, scales[d] if scales else None, len(output_size) == 2)
        out = np.moveaxis(np.tensordot(weights, out, (1, d + 2)), 0, d + 2)
    return out.astype(dtype)


def resize_images_backward(grad, input_size, *call):
    return transposed(lambda x: resize_images(x, grad.shape[2:], *call), tuple(input_size), grad)


def _upsample(mode, cubic_or_linear):
    def upsample(x, output_size, *rest):
        align_corners, factors, antialias = (*rest, False)[:3] if cubic_or_linear else (False, rest[0], False)
        size = output_size or [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
        return resize_images(x, size, mode, align_corners, antialias, factors)

    return upsample


upsample_nearest, upsample_nearest_exact = _upsample(0, False), _upsample(1, False)
upsample_linear, upsample_bicubic = _upsample(2, True), _upsample(3, True)


def upsample_nearest_of(x, output_size, *scales):
    return resize_images(x, output_size, 0, False, False, scales if any(scales) else None)


def upsample_linear_of(x, output_size, align_corners, *scales):
    return resize_images(x, output_size, 2, align_corners, False, scales if any(scales) else None)


def upsample_bicubic_of(x, output_size, align_corners, *scales):
    return resize_images(x, output_size, 3, align_corners, False, scales if any(scales) else None)


# ---- sliding blocks, pixels ---------------------------------------------------------------------------------------------------


def im2col(x, kernel, dilation, padding, stride):
    if x.ndim == 3:
        return im2col(x[None], kernel, dilation, padding, stride)[0]
    padded = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    high, wide = [(padded.shape[2 + d] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1 for d in range(2)]
    columns = []
    for i in range(high):
        for j in range(wide):
            rows = [i * stride[0] + k * dilation[0] for k in range(kernel[0])]
            cols = [j * stride[1] + k * dilation[1] for k in range(kernel[1])]
            columns.append(padded[:, :, rows][:, :, :, cols].reshape(x.shape[0], -1))
    return np.stack(columns, axis=-1)


def col2im(x, output_size, kernel, *call):
    if x.ndim == 2:
        return col2im(x[None], output_size, kernel, *call)[0]
    shape = (x.shape[0], x.shape[1] // math.prod(kernel), *output_size)
    return transposed(lambda v: im2col(v, kernel, *call), shape, x)


def pixel_shuffle(x, r):
    out = np.zeros((*x.shape[:-3], x.shape[-3] // r**2, x.shape[-2] * r, x.shape[-1] * r), x.dtype)
    for c, h, w in np.ndindex(*out.shape[-3:]):
        out[..., c, h, w] = x[..., c * r * r + h % r * r + w % r, h // r, w // r]
    return out


def pixel_unshuffle(x, r):
    out = np.zeros((*x.shape[:-3], x.shape[-3] * r**2, x.shape[-2] // r, x.shape[-1] // r), x.dtype)
    for c, h, w in np.ndindex(*x.shape[-3:]):
        out[..., c * r * r + h % r * r + w % r, h // r, w // r] = x[..., c, h, w]
    return out


# ---- attention, affine maps --------------------------------------------------------------------------------------------------


def attention(q, k, v, mask, is_causal, scale):
    """Each head of queries meets its group's keys; also the logarithm of what the exponentials add up to."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * scale
    allowed = np.ones(scores.shape, bool)
    if is_causal:
        allowed &= np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None and mask.dtype == bool:
        allowed &= mask
    elif mask is not None:
        scores = scores + mask
    e = np.where(allowed, np.exp(scores), 0)
    total = e.sum(axis=-1)
    out = np.einsum("bhqk,bhkd->bhqd", e / total[..., None], v)
    dtype = np.result_type(q, k, v)
    return out.astype(dtype), np.log(total).astype(dtype)


def attention_backward(grad, q, k, v, mask, out, logsumexp, is_causal, scale):
    return (stepped(lambda x: attention(x, k, v, mask, is_causal, scale)[0], q, grad),
            stepped(lambda x: attention(q, x, v, mask, is_causal, scale)[0], k, grad),
            stepped(lambda x: attention(q, k, x, mask, is_causal, scale)[0], v, grad))  # fmt: skip


def scaled_dot_product_attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if q.ndim == 3:
        return attention(q[:, None], k[:, None], v[:, None], None if mask is None else mask[:, None] if mask.ndim == 3 else mask, is_causal, scale)[0][:, 0]
    return attention(q, k, v, mask, is_causal, scale)[0]


def bilinear(x, y, weight, bias=None):
    out = np.einsum("...i,oij,...j->...o", x, weight, y)
    return out if bias is None else out + bias
