"""Arguments for the rows of softmax, loss and norm."""

import numpy as np
import references_loss as references
from samples import along

REDUCTIONS = (0, 1, 2)


def softmax_backward(source):
    for (x, dim), _ in along(source):
        yield (source.array(*x.shape), references.softmax(np.array(x), dim).astype(source.dtype), dim, source.dtype), {}


def log_softmax_backward(source):
    for (x, dim), _ in along(source):
        yield (source.array(*x.shape), references.log_softmax(np.array(x), dim).astype(source.dtype), dim, source.dtype), {}


# ---- classes -----------------------------------------------------------------------------------------------------------------


def _classes(*shapes):
    def generate(source):
        for shape in shapes:
            classes = shape[0] if len(shape) == 1 else shape[1]
            for i, x in enumerate(list(source.layouts(*shape))[:3]):
                target = source.random.integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
                weight = np.abs(source.array(classes)) + source.dtype.type(0.1) if i != 1 else None
                for reduction in REDUCTIONS:
                    yield (x, target, weight, reduction, -100), {}
                if target.ndim and target.size > 1:
                    yield (x, target, weight, 1, int(target.flat[0])), {}

    return generate


nll = _classes((5, 3), (4,), (2, 3, 4), (2, 3, 2, 2))
nll_flat = _classes((5, 3), (4,))
nll_images = _classes((2, 3, 2, 2))


def nll_parts(source):
    for args, _ in _classes((5, 3), (4,), (2, 3, 2, 2))(source):
        yield args, {}


def nll_backward(source):
    for (x, target, weight, reduction, ignored), _ in nll_parts(source):
        output, total = references.nll_loss_forward(np.array(x), target, weight, reduction, ignored)
        if reduction == 0:
            total = np.zeros((), source.dtype)
        yield (source.array(*np.shape(output)), x, target, weight, reduction, ignored, total), {}


def cross_entropy_parts(source):
    for args, _ in _classes((5, 3))(source):
        yield (*args, 0.0), {}
        yield (*args, 0.3), {}


def cross_entropy_backward(source):
    for (x, target, weight, *call), _ in cross_entropy_parts(source):
        loss, total, logsumexp = references.cross_entropy_parts(np.array(x), target, weight, *call)
        yield (source.array(*np.shape(loss)), x, target, weight, total, logsumexp, *call), {}


def cross_entropy(source):
    for args, _ in _classes((5, 3), (4,), (2, 3, 2, 2))(source):
        yield args, {}
        yield (*args, 0.25), {}
    for shape in [(5, 3), (2, 3, 4), (4,)]:
        x, target = source.array(*shape), np.abs(source.array(*shape))
        for reduction in REDUCTIONS:
            yield (x, target, np.abs(source.array(shape[0] if len(shape) == 1 else shape[1])), reduction, -100, 0.2), {}


# ---- losses ------------------------------------------------------------------------------------------------------------------


def _pairs(source, *shapes):
    for shape in shapes or [(5,), (3, 4), (), (2, 1, 3)]:
        yield from zip(source.layouts(*shape), reversed(list(source.layouts(*shape))), strict=True)


def losses(*choices, target=lambda source, y: y):
    """Inputs, targets and reductions; each choice is (further args, further kwargs) behind the reduction."""

    def generate(source):
        for i, (x, y) in enumerate(_pairs(source)):
            args, kwargs = choices[i % len(choices)] if choices else ((), {})
            for reduction in REDUCTIONS:
                yield (x, target(source, y), reduction, *args), kwargs

    return generate


def _signs(source, y):
    return (source.random.integers(0, 2, y.shape) * 2 - 1).astype(source.dtype)


def _positive(source, y):
    return np.abs(y) + source.dtype.type(0.05)


def _chances(source, y):
    return np.abs(np.sin(np.array(y)))


plain = losses()
smooth = losses(((1.0,), {}), ((0.5,), {}), ((2.5,), {}))
signed = losses(target=_signs)
divergence = losses(target=_positive)


def divergence_log(source):
    yield from divergence(source)
    for args, kwargs in plain(source):
        yield args, {"log_target": True}


def binary_entropy(source):
    for x, y in _pairs(source):
        chance = (0.05 + 0.9 * _chances(source, x)).astype(source.dtype)
        for reduction in REDUCTIONS:
            yield (chance, _chances(source, y), None, reduction), {}
        yield (chance, _chances(source, y), _positive(source, x)), {}


def binary_entropy_logits(source):
    for x, y in _pairs(source, (5,), (3, 4)):
        last = x.shape[-1]
        for reduction in REDUCTIONS:
            yield (x, _chances(source, y), None, None, reduction), {}
        yield (x, _chances(source, y), _positive(source, y), _positive(source, source.array(last))), {}
        yield (x, _chances(source, y), None, _positive(source, source.array(last)), 2), {}


def poisson(source):
    for x, y in _pairs(source):
        for reduction in REDUCTIONS:
            yield (x, _positive(source, y), True, reduction == 1, 1e-8, reduction), {}
            yield (_positive(source, x), _positive(source, y), False, reduction == 0, 1e-3, reduction), {}


def hinge(source):
    for x, y in _pairs(source):
        for reduction in REDUCTIONS:
            yield (x, _signs(source, y), 0.8, reduction), {}


def ranking(source):
    for x, y in _pairs(source):
        for reduction in REDUCTIONS:
            yield (x, y, _signs(source, y), 0.3, reduction), {}


def cosine(source):
    for x, y in _pairs(source, (3, 4), (2, 3, 4)):
        yield (x, y), {}
        yield (x, y, -1, 1e-6), {}
        yield (x, y, 0), {}


def cosine_embedding(source):
    for x, y in _pairs(source, (3, 4)):
        for reduction in REDUCTIONS:
            yield (x, y, _signs(source, x[:, 0]), 0.2, reduction), {}
    yield (source.array(4), source.array(4), np.ones((), source.dtype)), {}


def distances(source):
    for x, y in _pairs(source, (3, 4), (4,)):
        for p in (2.0, 1.0, 3.0, float("inf")):
            yield (x, y, p, 1e-3, p == 2.0), {}


def triplets(source):
    for x, y in _pairs(source, (3, 4), (4,)):
        for reduction in REDUCTIONS:
            yield (x, y, source.array(*x.shape), 1.5, 2.0, 1e-4, reduction == 1, reduction), {}


def multi_margin(source):
    for shape, target in [((4,), ()), ((4,), (1,)), ((3, 5), (3,))]:
        for i, x in enumerate(_some(source, *shape)):
            classes = source.random.integers(0, shape[-1], target)
            for reduction in REDUCTIONS:
                yield (x, classes, 1 + i % 2, 0.7, _positive(source, source.array(shape[-1])) if i else None, reduction), {}


def multilabel_margin(source):
    for labels in [[2, 0, -1, 3], [-1, 1, 0, 2], [[1, -1, 3, 0], [3, 0, 2, 1]], [[2, -1, 0, 1], [-1, 0, 0, 0]]]:
        labels = np.array(labels)
        for reduction in REDUCTIONS:
            yield (source.array(*labels.shape), labels, reduction), {}


def multilabel_soft_margin(source):
    for x, y in _pairs(source, (5,), (3, 4)):
        for reduction in REDUCTIONS:
            yield (x, _chances(source, y), _positive(source, y) if reduction else None, reduction), {}


def gaussian_nll(source):
    for x, y in _pairs(source, (4,), (3, 4)):
        for reduction in REDUCTIONS:
            yield (x, y, _positive(source, y), reduction == 1, 1e-6, reduction), {}
    for x, y in _pairs(source, (3, 4)):
        yield (x, y, _positive(source, y[:, :1])), {}
        yield (x, y, _positive(source, y[:, 0])), {}


# ---- normalisation -----------------------------------------------------------------------------------------------------------


def _affine(source, shape):
    yield None, None
    yield source.array(*shape), source.array(*shape)
    yield source.array(*shape), None


def _some(source, *shape):
    return list(source.layouts(*shape))[:3]


def native_layer_norm(source):
    for shape, normalised in [((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((4,), (4,))]:
        for x in _some(source, *shape):
            for weight, bias in _affine(source, normalised):
                yield (x, normalised, weight, bias, 1e-5), {}


def rms_norm(source):
    for (x, shape, weight, _, eps), _ in native_layer_norm(source):
        yield (x, shape, weight, None if weight is None else eps), {}


def native_layer_norm_backward(source):
    for (x, shape, weight, bias, eps), _ in native_layer_norm(source):
        _, mean, rstd = references.native_layer_norm(np.array(x), shape, weight, bias, eps)
        yield (source.array(*x.shape), x, shape, mean, rstd, weight), {}


def native_group_norm(source):
    for shape, groups in [((2, 4), 2), ((2, 4, 3), 4), ((1, 6, 2, 2), 3), ((2, 2, 3), 1)]:
        for x in _some(source, *shape):
            for weight, bias in _affine(source, (shape[1],)):
                yield (x, weight, bias, shape[0], shape[1], int(np.prod(shape[2:])), groups, 1e-5), {}


def group_norm(source):
    for (x, weight, bias, _, _, _, groups, eps), _ in native_group_norm(source):
        yield (x, groups, weight, bias, eps), {}


def native_group_norm_backward(source):
    for (x, weight, bias, _, _, _, groups, eps), _ in native_group_norm(source):
        _, mean, rstd = references.native_group_norm(np.array(x), weight, bias, 0, 0, 0, groups, eps)
        yield (source.array(*x.shape), x, mean, rstd, weight, groups), {}


def native_batch_norm(source):
    for shape in [(5, 3), (3, 2, 4), (2, 3, 2, 2)]:
        for x in _some(source, *shape):
            for weight, bias in _affine(source, (shape[1],)):
                running = source.array(shape[1]), np.abs(source.array(shape[1])) + source.dtype.type(0.5)
                yield (x, weight, bias, None, None, True, 0.1, 1e-5), {}
                yield (x, weight, bias, *running, True, 0.3, 1e-5), {}
                yield (x, weight, bias, *running, False, 0.1, 1e-3), {}


def batch_norm(source):
    for args, _ in native_batch_norm(source):
        yield (*args, False), {}


def instance_norm(source):
    for args, _ in native_batch_norm(source):
        if args[0].ndim > 2:
            yield (*args, False), {}


def native_batch_norm_backward(source):
    for (x, weight, bias, mean, var, training, momentum, eps), _ in native_batch_norm(source):
        kept = [None if v is None else v.copy() for v in (mean, var)]
        _, save_mean, save_rstd = references.native_batch_norm(np.array(x), weight, bias, mean, var, training, momentum, eps)
        yield (source.array(*x.shape), x, weight, *kept, save_mean, save_rstd, training, eps), {}


def normalize(source):
    for x in _some(source, 3, 4):
        for p in (2.0, 1.0, 3.0):
            yield (x, p, [1], 1e-9), {}
    yield (source.array(2, 3, 4), 2.0, [0, 2], 1e-9), {}


def standardize(source):
    for x in _some(source, 3, 2, 4):
        yield (x, source.array(3, 1, 1), 1 + abs(source.array(3, 1, 1))), {}
        yield (x, source.array(), 1 + abs(source.array())), {}


def local_response_norm(source):
    for shape in [(2, 5, 3), (1, 3, 2, 2)]:
        for x in _some(source, *shape):
            for size in (1, 2, 3):
                yield (x, size, 0.5, 0.75, 1.0), {}
