"""Arguments for the rows of nn."""

import numpy as np
import references_spatial as references


def _some(source, *shape):
    return list(source.layouts(*shape))[:3]


def constant_pads(source):
    for shape, pad, value in [
        ((3, 4), (1, 2), 0),
        ((3, 4), (1, 0, 2, 1), 2),
        ((2, 3, 4), (-1, 2, 0, -1), 1),
        ((4,), (0, 0), 3),
        ((0, 2), (1, 1, 1, 0), 1),
        ((), (), 0),
    ]:
        for x in source.layouts(*shape):
            yield (x, pad, value), {}


PADS = [
    ((2, 5), (2, 1)),
    ((1, 2, 4), (-1, 2)),
    ((2, 3, 4), (1, 2, 2, 0)),
    ((1, 2, 3, 4), (3, 0, 1, -1)),
    ((1, 1, 3, 2, 3), (1, 2, 1, 0, 2, 2)),
    ((2, 3, 3, 2), (1, 1, 0, 2, 1, 1)),
]


def mode_pads(source):
    for shape, pad in PADS:
        for mode in (0, 1, 2):
            for x in _some(source, *shape):
                yield (x, pad, mode), {}


def mode_pads_backward(source):
    for (x, pad, mode), _ in list(mode_pads(source))[::3]:
        yield (source.array(*references.pad_mode(x, pad, mode).shape), x.shape, pad, mode), {}


def pads(source):
    for (x, pad, value), _ in constant_pads(source):
        yield (x, pad), {}
        yield (x, pad, "constant", float(value)), {}
    if source.dtype.kind in "fc":
        for (x, pad, mode), _ in mode_pads(source):
            yield (x, pad, ("reflect", "replicate", "circular")[mode]), {}


IMAGES = [((1, 2, 5), (3,)), ((2, 1, 4), (7,)), ((1, 2, 3, 4), (5, 6)), ((2, 1, 5, 4), (2, 4)), ((1, 1, 3, 2, 4), (4, 2, 3))]


def _resizings(source):
    for shape, size in IMAGES:
        for x in _some(source, *shape):
            for mode in (0, 1, 2, 3) if len(shape) == 4 else (0, 1, 2):
                for align_corners in (False, True) if mode >= 2 else (False,):
                    yield x, size, mode, align_corners, False
                if mode >= 2 and len(shape) == 4:
                    yield x, size, mode, False, True
            if len(shape) == 4:
                yield x, size, 4, False, True


def resize_images(source):
    for x, size, *call in _resizings(source):
        yield (x, size, *call, None), {}
        if not call[1]:
            yield (x, size, *call, tuple(1.7 for _ in size)), {}


def resize_images_backward(source):
    for (x, size, *call), _ in list(resize_images(source))[::3]:
        yield (source.array(*x.shape[:2], *size), x.shape, *call), {}


def upsample(mode):
    """By sizes and by factors."""

    def generate(source):
        for x, size, own, align_corners, antialias in _resizings(source):
            if own == mode:
                extra = (align_corners,) if mode >= 2 else ()
                last = (antialias,) if mode >= 2 else ()
                yield (x, size, *extra, None, *last), {}
                yield (x, None, *extra, tuple(1.5 for _ in size), *last), {}

    return generate


nearest, nearest_exact, linear, bicubic = map(upsample, range(4))


def upsample_of(mode, dims):
    def generate(source):
        for x, size, own, align_corners, antialias in _resizings(source):
            if own == mode and len(size) == dims and not antialias:
                yield (x, size, *((align_corners,) if mode >= 2 else ())), {}
                if not align_corners:
                    yield (x, size, *((align_corners,) if mode >= 2 else ()), *[1.7] * dims), {}

    return generate


nearest1d, nearest2d, nearest3d = (upsample_of(0, n) for n in (1, 2, 3))
linear1d, linear2d, linear3d = (upsample_of(2, n) for n in (1, 2, 3))
bicubic2d = upsample_of(3, 2)

BLOCKS = [((2, 3), (1, 1), (0, 0), (1, 1)), ((2, 2), (1, 2), (1, 0), (2, 1)), ((1, 3), (2, 1), (0, 1), (1, 2))]


def im2col_batched(source):
    for x in _some(source, 2, 2, 4, 5):
        for call in BLOCKS:
            yield (x, *call), {}


def im2col(source):
    yield from im2col_batched(source)
    for call in BLOCKS:
        yield (source.array(2, 4, 5), *call), {}


def _folded(generate):
    def folded(source):
        for (x, *call), _ in generate(source):
            y = source.array(*references.im2col(x, *call).shape[::-1]).T if x.flags.c_contiguous else source.array(*references.im2col(x, *call).shape)
            yield (y, x.shape[-2:], *call), {}

    return folded


col2im_batched, col2im = _folded(im2col_batched), _folded(im2col)


def pixel_shuffle(source):
    for shape, r in [((2, 8, 2, 3), 2), ((9, 1, 2), 3), ((1, 3, 2, 2), 1)]:
        for x in source.layouts(*shape):
            yield (x, r), {}


def pixel_unshuffle(source):
    for shape, r in [((2, 2, 4, 6), 2), ((1, 3, 6), 3)]:
        for x in source.layouts(*shape):
            yield (x, r), {}


def attention(source):
    for q, k, v_width, masks in [((2, 2, 3, 4), (2, 2, 5, 4), 4, True), ((1, 4, 3, 2), (1, 2, 3, 2), 3, False)]:
        values = (*k[:3], v_width)
        for mask in (None, "bool", "float") if masks else (None,):
            for causal in (False, True) if mask is None else (False,):
                made = None
                if mask == "bool":
                    made = source.random.integers(0, 2, (q[2], k[2])).astype(bool)
                    made[:, 0] = True
                elif mask == "float":
                    made = source.array(1, q[1], q[2], k[2])
                plain = source.array(*q), source.array(*k), source.array(*values)
                heads_last = tuple(np.ascontiguousarray(np.swapaxes(a, 1, 2)).swapaxes(1, 2) for a in plain)
                for arrays in (plain, heads_last):
                    yield (*arrays, made, causal, 0.4), {}


def attention_backward(source):
    for (q, k, v, mask, causal, scale), _ in attention(source):
        out, logsumexp = references.attention(q, k, v, mask, causal, scale)
        yield (source.array(*out.shape), q, k, v, mask, out, logsumexp, causal, scale), {}


def dot_product_attention(source):
    for (q, k, v, mask, causal, scale), _ in attention(source):
        yield (q, k, v, mask, 0.0, causal), {"scale": scale, "enable_gqa": q.shape[1] != k.shape[1]}
    yield (source.array(2, 3, 4), source.array(2, 5, 4), source.array(2, 5, 4)), {}


def bilinear(source):
    for lead in [(3,), (2, 2), ()]:
        for bias in (None, source.array(4)):
            yield (source.array(*lead, 2), source.array(*lead, 3), source.array(4, 2, 3), bias), {}
    yield (source.array(2, 3).T, source.array(6, 3)[::2], source.array(3, 2, 4).T), {}
