"""References of the rows of softmax, loss and norm compute, in plain NumPy."""

import numpy as np
from references_nn import stepped

NONE, MEAN, SUM = 0, 1, 2


def reduced(loss, reduction):
    return np.mean(loss) if reduction == MEAN else np.sum(loss) if reduction == SUM else loss


def _like(*arrays):
    """Results in the dtype of their inputs."""
    return np.result_type(*[a for a in arrays if isinstance(a, np.ndarray)])


# ---- softmax -----------------------------------------------------------------------------------------------------------------


def softmax(x, dim, axis_keeps=True):
    e = np.exp(x)
    return e / e.sum(axis=dim, keepdims=True)


def log_softmax(x, dim):
    return x - np.log(np.exp(x).sum(axis=dim, keepdims=True))


def softmax_backward(grad, output, dim, input_dtype=None):
    """The product with softmax's matrix of derivatives, diag(y) - y y', line by line."""
    g, y = np.moveaxis(grad, dim, -1), np.moveaxis(output, dim, -1)
    out = np.empty_like(np.ascontiguousarray(y))
    for at in np.ndindex(*y.shape[:-1]):
        out[at] = (np.diag(y[at]) - np.outer(y[at], y[at])) @ g[at]
    return np.moveaxis(out, -1, dim)


def log_softmax_backward(grad, output, dim, input_dtype=None):
    g, y = np.moveaxis(grad, dim, -1), np.moveaxis(output, dim, -1)
    out = np.empty_like(np.ascontiguousarray(y))
    for at in np.ndindex(*y.shape[:-1]):
        out[at] = (np.eye(y.shape[-1]) - np.exp(y[at])[:, None]) @ g[at]
    return np.moveaxis(out, -1, dim)


# ---- classes -----------------------------------------------------------------------------------------------------------------


def _chosen(x, target, weight, ignore_index):
    """For each target: its place, its class's log probability and weight; ignored ones weigh nothing."""
    x = x[None] if x.ndim == 1 else x
    target = target.reshape(x.shape[0], *x.shape[2:])
    picked, weights = np.zeros(target.shape, x.dtype), np.zeros(target.shape, x.dtype)
    for at in np.ndindex(*target.shape):
        c = int(target[at])
        if c != ignore_index:
            picked[at] = x[(at[0], c, *at[1:])]
            weights[at] = 1 if weight is None else weight[c]
    return picked, weights


def nll_loss_forward(x, target, weight=None, reduction=MEAN, ignore_index=-100):
    picked, weights = _chosen(x, target, weight, ignore_index)
    loss, total = -picked * weights, weights.sum()
    if reduction == NONE:
        return loss.reshape(target.shape), np.zeros((), x.dtype)
    return (np.sum(loss) / total if reduction == MEAN else np.sum(loss)).astype(x.dtype), total.astype(x.dtype)


def nll_loss(*args, **kwargs):
    return nll_loss_forward(*args, **kwargs)[0]


def nll_loss_backward(grad, x, target, weight, reduction, ignore_index, total_weight):
    return stepped(lambda v: _nll_linear(v, target, weight, reduction, ignore_index), x, grad)


def _nll_linear(x, target, weight, reduction, ignore_index):
    picked, weights = _chosen(x, target, weight, ignore_index)
    loss = -picked * weights
    return loss.reshape(target.shape) if reduction == NONE else np.sum(loss) / (np.sum(weights) if reduction == MEAN else 1)


def cross_entropy(x, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0):
    """Targets are classes, or probabilities of all of them."""
    axis = 0 if x.ndim == 1 else 1
    logp, classes = log_softmax(x, axis), x.shape[axis]
    w = np.ones(classes, x.dtype) if weight is None else weight
    if target.dtype.kind == "f":
        wide = w.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
        loss = -np.sum((target * (1 - label_smoothing) + label_smoothing / classes) * wide * logp, axis=axis)
        return np.sum(loss) / max(loss.size, 1) if reduction == MEAN else reduced(loss, reduction)
    picked, weights = _chosen(logp, target, w, ignore_index)
    logp2 = logp[None] if x.ndim == 1 else logp
    smooth = -np.sum(logp2 * w.reshape([-1 if d == 1 else 1 for d in range(logp2.ndim)]), axis=1)
    smooth = np.where(target.reshape(weights.shape) == ignore_index, 0, smooth)
    loss = -(1 - label_smoothing) * picked * weights + label_smoothing / classes * smooth
    if reduction == NONE:
        return loss.reshape(target.shape)
    return np.sum(loss) / np.sum(weights) if reduction == MEAN else np.sum(loss)


def cross_entropy_parts(x, target, weight, reduction, ignore_index, label_smoothing):
    total = 0 if reduction == NONE else _chosen(x, target, weight, ignore_index)[1].sum()
    loss = cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing)
    return np.asarray(loss, x.dtype), np.asarray(total, x.dtype), np.log(np.exp(x).sum(axis=1)).astype(x.dtype)


def cross_entropy_backward(grad, x, target, weight, total_weight, logsumexp, reduction, ignore_index, label_smoothing):
    return stepped(lambda v: cross_entropy(v, target, weight, reduction, ignore_index, label_smoothing), x, grad)


# ---- losses ------------------------------------------------------------------------------------------------------------------


def l1_loss(x, target, reduction=MEAN):
    return reduced(np.abs(x - target), reduction)


def mse_loss(x, target, reduction=MEAN):
    return reduced((x - target) ** 2, reduction)


def smooth_l1_loss(x, target, reduction=MEAN, beta=1.0):
    d = np.abs(x - target)
    return reduced(np.where(d < beta, d * d / (2 * beta), d - beta / 2) if beta else d, reduction).astype(_like(x, target))


def huber_loss(x, target, reduction=MEAN, delta=1.0):
    d = np.abs(x - target)
    return reduced(np.where(d < delta, d * d / 2, delta * (d - delta / 2)), reduction).astype(_like(x, target))


def kl_div(x, target, reduction=MEAN, *, log_target=False):
    if log_target:
        return reduced(np.exp(target) * (target - x), reduction)
    return reduced(np.where(target > 0, target * np.log(np.where(target > 0, target, np.ones_like(target))), np.zeros_like(target)) - target * x, reduction)


def binary_cross_entropy(x, target, weight=None, reduction=MEAN):
    clamped = lambda v: np.maximum(np.log(v), -100)  # noqa: E731
    loss = -(target * clamped(x) + (1 - target) * clamped(1 - x))
    return reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=MEAN):
    p = 1 / (1 + np.exp(-x))
    loss = -(target * np.log(p) * (1 if pos_weight is None else pos_weight) + (1 - target) * np.log(1 - p))
    return reduced(loss if weight is None else loss * weight, reduction)


def soft_margin_loss(x, target, reduction=MEAN):
    return reduced(np.log(1 + np.exp(-target * x)), reduction)


def poisson_nll_loss(x, target, log_input, full, eps, reduction):
    loss = np.exp(x) - target * x if log_input else x - target * np.log(x + x.dtype.type(eps))
    if full:
        stirling = target * np.log(target) - target + np.log(2 * np.pi * target).astype(x.dtype) / 2
        loss = loss + np.where(target > 1, stirling, np.zeros_like(target))
    return reduced(loss, reduction)


def hinge_embedding_loss(x, target, margin=1.0, reduction=MEAN):
    return reduced(np.where(target == 1, x, np.maximum(margin - x, 0)), reduction).astype(x.dtype)


def margin_ranking_loss(x, y, target, margin=0.0, reduction=MEAN):
    return reduced(np.maximum(-target * (x - y) + margin, 0), reduction).astype(x.dtype)


def cosine_similarity(x, y, dim=1, eps=1e-8):
    length = lambda v: np.maximum(np.sqrt(np.sum(v * v, axis=dim)), eps)  # noqa: E731
    return (np.sum(x * y, axis=dim) / (length(x) * length(y))).astype(x.dtype)


def cosine_embedding_loss(x, y, target, margin=0.0, reduction=MEAN):
    cosine = np.sum(x * y, axis=-1) / np.sqrt(np.sum(x * x, axis=-1) * np.sum(y * y, axis=-1))
    return reduced(np.where(target == 1, 1 - cosine, np.maximum(cosine - margin, 0)), reduction).astype(x.dtype)


def pairwise_distance(x, y, p=2, eps=1e-6, keepdim=False):
    d = np.abs(x - y + x.dtype.type(eps))
    length = d.max(axis=-1, keepdims=keepdim) if p == np.inf else np.sum(d**p, axis=-1, keepdims=keepdim) ** (1 / p)
    return length.astype(x.dtype)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction=MEAN):
    far = pairwise_distance(anchor, negative, p, eps)
    far = np.minimum(far, pairwise_distance(positive, negative, p, eps)) if swap else far
    return reduced(np.maximum(margin + pairwise_distance(anchor, positive, p, eps) - far, 0), reduction).astype(anchor.dtype)


def multi_margin_loss(x, target, p=1, margin=1.0, weight=None, reduction=MEAN):
    rows, classes = np.atleast_2d(x), np.reshape(target, -1)
    terms = np.maximum(margin - rows[np.arange(len(rows)), classes][:, None] + rows, 0) ** p
    terms = terms if weight is None else terms * weight[classes][:, None]
    terms[np.arange(len(rows)), classes] = 0
    loss = terms.sum(axis=1) / rows.shape[1]
    return np.asarray(reduced(loss if np.ndim(target) else loss[0], reduction)).astype(x.dtype)


def multilabel_margin_loss(x, target, reduction=MEAN):
    losses = []
    for row, labels in zip(np.atleast_2d(x), np.atleast_2d(target), strict=True):
        meant = [label for i, label in enumerate(labels) if (labels[: i + 1] >= 0).all()]
        losses.append(sum(np.maximum(1 - row[y] + row[i], 0) for y in meant for i in range(len(row)) if i not in meant) / row.dtype.type(len(row)))
    return np.asarray(reduced(np.array(losses) if x.ndim > 1 else losses[0], reduction)).astype(x.dtype)


def multilabel_soft_margin_loss(x, target, weight=None, reduction=MEAN):
    p = 1 / (1 + np.exp(-x))
    loss = -(target * np.log(p) + (1 - target) * np.log(1 - p))
    return reduced(np.mean(loss if weight is None else loss * weight, axis=-1), reduction)


def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction=MEAN):
    var = var[..., None] if np.ndim(var) < np.ndim(x) else var
    var = np.where(np.real(var) < eps, x.dtype.type(eps), var)
    loss = (np.log(var) + (x - target) ** 2 / var) / 2
    return np.asarray(reduced(loss + np.log(2 * np.pi) / 2 if full else loss, reduction)).astype(x.dtype)


# ---- normalisation -----------------------------------------------------------------------------------------------------------


def _normalised(x, axes, eps):
    """Mean and inverse deviation over axes, written so that a complex step passes."""
    mean = x.mean(axis=axes, keepdims=True)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + eps)
    return (x - mean) * rstd, mean, rstd


def _affine(y, weight, bias, shape):
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def native_layer_norm(x, shape, weight, bias, eps):
    y, mean, rstd = _normalised(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    return tuple(np.asarray(v, x.dtype) for v in (_affine(y, weight, bias, shape), mean, rstd))


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    return native_layer_norm(x, shape, weight, bias, eps)[0]


def rms_norm(x, shape, weight=None, eps=None):
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    y = x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + (np.finfo(x.dtype).eps if eps is None else eps))
    return np.asarray(_affine(y, weight, None, shape), x.dtype)


def _group(x, groups, eps):
    y, mean, rstd = _normalised(x.reshape(x.shape[0], groups, -1), (2,), eps)
    return y.reshape(x.shape), mean[..., 0], rstd[..., 0]


def _channels(x):
    return (1, -1, *[1] * (x.ndim - 2))


def native_group_norm(x, weight, bias, n, channels, spatial, groups, eps):
    y, mean, rstd = _group(x, groups, eps)
    return tuple(np.asarray(v, x.dtype) for v in (_affine(y, weight, bias, _channels(x)), mean, rstd))


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    return native_group_norm(x, weight, bias, 0, 0, 0, groups, eps)[0]


def _batch(x, eps):
    return _normalised(x, tuple(d for d in range(x.ndim) if d != 1), eps)


def native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        y = (x - running_mean.reshape(_channels(x))) / np.sqrt(running_var.reshape(_channels(x)) + eps)
        return np.asarray(_affine(y, weight, bias, _channels(x)), x.dtype), np.empty(0, x.dtype), np.empty(0, x.dtype)
    y, mean, rstd = _batch(x, eps)
    if running_mean is not None:
        count = x.size // x.shape[1]
        running_mean[...] = (1 - momentum) * running_mean + momentum * mean.ravel()
        running_var[...] = (1 - momentum) * running_var + momentum * x.var(axis=tuple(d for d in range(x.ndim) if d != 1)) * count / (count - 1)
    return tuple(np.asarray(v, x.dtype) for v in (_affine(y, weight, bias, _channels(x)), mean.ravel(), rstd.ravel()))


def batch_norm(*args):
    return native_batch_norm(*args[:8])[0]


def instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Each sample is a batch of its own; running statistics move by the samples' mean."""
    if not use_input_stats:
        return native_batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps)[0]
    y, mean, _ = _normalised(x, tuple(range(2, x.ndim)), eps)
    if running_mean is not None:
        count = x[0, 0].size
        running_mean[...] = (1 - momentum) * running_mean + momentum * mean.reshape(x.shape[:2]).mean(axis=0)
        running_var[...] = (1 - momentum) * running_var + momentum * (x.var(axis=tuple(range(2, x.ndim))) * count / (count - 1)).mean(axis=0)
    return np.asarray(_affine(y, weight, bias, _channels(x)), x.dtype)


def _backward(grad, x, normalise, weight, shape, channels):
    """Gradients with respect to input, weight and bias, where y = normalise(x) * weight + bias."""
    dx = stepped(lambda v: normalise(v) * (1 if weight is None else weight.reshape(shape)), x, grad)
    others = tuple(d for d in range(x.ndim) if d not in channels)
    size = tuple(x.shape[d] for d in channels)
    return dx, (grad * normalise(x)).sum(axis=others).reshape(size).astype(x.dtype), grad.sum(axis=others).reshape(size).astype(x.dtype)


def native_layer_norm_backward(grad, x, shape, mean, rstd, weight):
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    return _backward(grad, x, lambda v: _normalised(v, axes, EPS)[0], weight, shape, axes)


def native_group_norm_backward(grad, x, mean, rstd, weight, groups):
    return _backward(grad, x, lambda v: _group(v, groups, EPS)[0], weight, _channels(x), (1,))


def native_batch_norm_backward(grad, x, weight, running_mean, running_var, save_mean, save_rstd, training, eps):
    def normalise(v):
        if training:
            return _batch(v, eps)[0]
        return (v - running_mean.reshape(_channels(x))) / np.sqrt(running_var.reshape(_channels(x)) + eps)

    return _backward(grad, x, normalise, weight, _channels(x), (1,))


EPS = 1e-5  # of the statistics in the samples


def normalize(x, p, dim, eps):
    lengths = np.sum(np.abs(x) ** p, axis=tuple(dim), keepdims=True) ** (1 / p)
    return (x / np.maximum(lengths, eps)).astype(x.dtype)


def standardize(x, mean, std):
    return (x - mean) / std


def local_response_norm(x, size, alpha, beta, k):
    before, channels = size // 2, x.shape[1]
    sums = [np.sum(x[:, max(c - before, 0) : max(c - before + size, 0)] ** 2, axis=1) / size for c in range(channels)]
    return (x / (np.stack(sums, 1) * alpha + k) ** beta).astype(x.dtype)
