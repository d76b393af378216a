"""Arguments for the rows of conv, pool, norm, loss, softmax and nn."""

import numpy as np
import references_nn as references

# ---- convolutions ------------------------------------------------------------------------------------------------------------

# (input, weight, bias or not, stride, padding, dilation, groups)
PLAIN = {
    1: [((2, 2, 6), (3, 2, 3), True, 1, 0, 1, 1), ((1, 4, 7), (4, 2, 2), False, 2, 1, 2, 2), ((2, 5), (3, 2, 5), True, 3, 0, 1, 1), ((0, 2, 4), (3, 2, 2), True, 1, 0, 1, 1)],
    2: [((2, 2, 4, 5), (3, 2, 2, 3), True, 1, 0, 1, 1), ((1, 4, 5, 4), (4, 1, 3, 2), False, (2, 1), (1, 0), (1, 2), 4), ((1, 3, 3), (2, 1, 1, 1), True, 1, 1, 1, 1),
        ((1, 2, 4, 4), (2, 2, 3, 3), False, 1, 1, 1, 1)],
    3: [((1, 2, 3, 3, 4), (2, 2, 2, 2, 2), True, 1, 0, 1, 1), ((1, 2, 3, 4, 3), (4, 1, 2, 1, 3), False, (1, 2, 1), (0, 0, 1), 1, 2), ((1, 3, 3, 2), (1, 1, 3, 2, 1), True, 2, 1, 1, 1)],
}  # fmt: skip
# (input, weight, bias or not, stride, padding, output_padding, groups, dilation)
TRANSPOSED = {
    1: [((2, 3, 4), (3, 2, 3), True, 1, 0, 0, 1, 1), ((1, 4, 4), (4, 1, 2), False, 3, 1, 2, 2, 1), ((2, 3), (2, 3, 2), True, 2, 0, 1, 1, 3)],
    2: [((1, 2, 3, 3), (2, 3, 2, 3), True, 1, 0, 0, 1, 1), ((2, 4, 3, 2), (4, 2, 3, 2), False, (2, 1), (1, 0), (1, 0), 2, (1, 2)), ((2, 2, 2), (2, 1, 2, 2), True, 2, 1, 1, 1, 1)],
    3: [((1, 2, 2, 3, 2), (2, 2, 2, 2, 2), True, 1, 0, 0, 1, 1), ((1, 2, 2, 2, 3), (2, 1, 1, 3, 2), False, (2, 1, 2), (0, 1, 0), (1, 0, 1), 2, 1)],
}  # fmt: skip


def _arrays(source, shape, weight, bias, channels):
    """A plain call, and one of an input and a weight with gaps and of other orders."""
    yield source.array(*shape), source.array(*weight), source.array(channels) if bias else None
    for x, w in list(zip(source.layouts(*shape), source.layouts(*weight), strict=False))[1:4:2]:
        yield x, w, source.array(2 * channels)[::2] if bias else None


def conv(n):
    def generate(source):
        for shape, weight, bias, *call in PLAIN[n]:
            for arrays in _arrays(source, shape, weight, bias, weight[0]):
                yield (*arrays, *call), {}

    return generate


def conv_named(n):
    def generate(source):
        for shape, weight, bias, stride, _, dilation, groups in PLAIN[n]:
            for padding in ("valid", "same"):
                for arrays in list(_arrays(source, shape, weight, bias, weight[0]))[:2]:
                    yield (*arrays, 1 if padding == "same" else stride, padding, dilation, groups), {}

    return generate


def conv_transpose(n):
    def generate(source):
        for shape, weight, bias, *call in TRANSPOSED[n]:
            for arrays in _arrays(source, shape, weight, bias, weight[1] * call[3]):
                yield (*arrays, *call), {}

    return generate


conv1d, conv2d, conv3d = map(conv, (1, 2, 3))
conv1d_named, conv2d_named, conv3d_named = map(conv_named, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(conv_transpose, (1, 2, 3))


def convolution(source):
    """Every argument written out, with a batch, as lists."""
    full = lambda value, n: (value,) * n if isinstance(value, int) else value  # noqa: E731
    for n in (1, 2, 3):
        for shape, weight, bias, stride, padding, dilation, groups in PLAIN[n]:
            if len(shape) == n + 2:
                arrays = next(_arrays(source, shape, weight, bias, weight[0]))
                yield (*arrays, full(stride, n), full(padding, n), full(dilation, n), False, (0,) * n, groups), {}
        for shape, weight, bias, stride, padding, output_padding, groups, dilation in TRANSPOSED[n]:
            if len(shape) == n + 2:
                arrays = list(_arrays(source, shape, weight, bias, weight[1] * groups))[-1]
                yield (*arrays, full(stride, n), full(padding, n), full(dilation, n), True, full(output_padding, n), groups), {}


def _with_output(source):
    for (x, weight, _, *call), _ in convolution(source):
        yield source.array(*references.convolution(x, weight, None, *call).shape), x, weight, call


def convolution_grad_input(source):
    for grad, x, weight, call in _with_output(source):
        yield (grad, weight, x.shape, *call), {}


def convolution_grad_weight(source):
    for grad, x, weight, call in _with_output(source):
        yield (grad, x, weight.shape, *call), {}


# ---- pooling -----------------------------------------------------------------------------------------------------------------

SPACES = {1: [(2, 3, 7), (2, 6)], 2: [(1, 2, 5, 6), (2, 4, 4)], 3: [(1, 2, 3, 4, 4), (1, 4, 3, 3)]}


def _spaces(source, n, distinct=False):
    for shape in SPACES[n]:
        if distinct:
            x = source.random.permutation(int(np.prod(shape))).reshape(shape).astype(source.dtype)
            yield x
            yield np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -n - 1, -1)), -1, -n - 1)  # channels last
        else:
            yield from list(source.layouts(*shape))[:3]


def max_pool(n):
    calls = [((2,), (), 0, 1, False), ((3,), (2,), 1, 1, True), ((2,), (1,), 0, 2, False), ((3,), (3,), 1, 1, True)]

    def generate(source):
        for x in _spaces(source, n, distinct=True):
            for kernel, stride, padding, dilation, ceil_mode in calls:
                yield (x, kernel * n, stride * n, padding, dilation, ceil_mode), {}
            yield (x, (1,) * (n - 1) + (3,), (), (0,) * (n - 1) + (1,)), {}

    return generate


def avg_pool(n):
    calls = [((2,), (), 0, False, True, None), ((3,), (2,), 1, True, True, None), ((3,), (2,), 1, True, False, None), ((2,), (1,), 0, False, True, 5)]

    def generate(source):
        for x in _spaces(source, n):
            for kernel, stride, padding, *rest in calls:
                yield (x, kernel * n, stride * n, padding, *rest), {}

    return generate


def avg_pool_backward(source):
    for n in (2, 3):
        forward = getattr(references, f"avg_pool{n}d")
        for i, ((x, kernel, stride, padding, *rest), _) in enumerate(avg_pool(n)(source)):
            if i % 3 == 0:
                grad = source.array(*forward(x, kernel, stride, padding, *rest).shape)
                yield (grad, x, kernel, stride or kernel, (padding,) * n, *rest, n), {}


ADAPTED = {1: [(3,), (1,), (5,)], 2: [(2, 3), (1, 1), (4, 2)], 3: [(2, 1, 3), (1, 1, 1), (3, 2, 2)]}


def adaptive(n, distinct=False):
    def generate(source):
        for x in _spaces(source, n, distinct):
            for size in ADAPTED[n]:
                yield (x, size), {}

    return generate


def adaptive_backward(source):
    for n in (2, 3):
        for (x, size), _ in adaptive(n)(source):
            yield (source.array(*x.shape[:-n], *size), x, n), {}


max_pool1d, max_pool2d, max_pool3d = map(max_pool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(avg_pool, (1, 2, 3))
adaptive1d, adaptive2d, adaptive3d = map(adaptive, (1, 2, 3))
adaptive_distinct1d, adaptive_distinct2d, adaptive_distinct3d = (adaptive(n, True) for n in (1, 2, 3))


def _taken(source):
    """Indices that windows, which overlap, have found."""
    for n, kernel in ((1, 3), (2, 2), (3, 2)):
        x = source.array(2, *SPACES[n][1])
        indices = getattr(references, f"max_pool{n}d_with_indices")(x, (kernel,) * n, (1,) * n)[1]
        yield x, indices, n


def pool_gather(source):
    for x, indices, n in _taken(source):
        yield (x, indices, n), {}


def pool_backward_by_index(source):
    for x, indices, n in _taken(source):
        yield (source.array(*indices.shape), indices, x.shape, n), {}


def lp_pool(source):
    for n in (1, 2, 3):
        for x in _spaces(source, n):
            yield (x, 2.0, (2,) * n), {}
            yield (x, 3.0, (2,) * n, (1,) * n, True), {}
            yield (x, 1.0, (3,) * n, (2,) * n, True), {}
