"""Losses. `reduction` is "mean", "sum" or "none"; `size_average` and `reduce` are its old spelling."""

import math
import warnings

from _cresset import batched_parts as _batched_parts

import cresset as torch

from ... import _operators as ops
from ...amp._state import in_float32 as _in_float32
from ...amp._state import without as _without
from ...autograd._function_vmap import one_by_one as _one_by_one

_CODES = {"none": 0, "mean": 1, "sum": 2}


def _reduction_name(reduction, size_average=None, reduce=None):
    """The reduction meant by the new and the two old arguments."""
    if size_average is None and reduce is None:
        return reduction
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce are old names: use reduction='{name}'", stacklevel=3)
    return name


def _code(reduction, size_average=None, reduce=None):
    name = _reduction_name(reduction, size_average, reduce)
    if name not in _CODES:
        raise ValueError(f"{name} is not a valid value for reduction, expected none, mean or sum")
    return _CODES[name]


def _reduced(loss, code):
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()


def _weighted(loss, weight, code):
    loss = loss * weight
    return loss if code == 0 else loss.sum() if code == 2 else loss.sum() / weight.expand_as(loss).sum()


def _warn_about_sizes(name, input, target):
    if target.shape != input.shape:
        text = f"{name}: target size {tuple(target.shape)} is not the input's {tuple(input.shape)}: they are broadcast, which may not be meant"
        warnings.warn(text, stacklevel=3)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(x - y)², optionally weighted.

    >>> F.mse_loss(torch.full((2,), 3.0), torch.ones(2)).item()
    4.0
    """
    code = _code(reduction, size_average, reduce)
    _warn_about_sizes("mse_loss", input, target)
    return ops["mse_loss"](input, target, code) if weight is None else _weighted(ops["mse_loss"](input, target, 0), weight, code)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|x - y|, optionally weighted.

    >>> F.l1_loss(torch.ones(2), torch.zeros(2), reduction="sum").item()
    2.0
    """
    code = _code(reduction, size_average, reduce)
    _warn_about_sizes("l1_loss", input, target)
    return ops["l1_loss"](input, target, code) if weight is None else _weighted(ops["l1_loss"](input, target, 0), weight, code)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """½(x - y)²/beta within beta of the target, |x - y| - ½beta beyond.

    >>> F.smooth_l1_loss(torch.tensor([3.0]), torch.tensor([0.0])).item()
    2.5
    """
    _warn_about_sizes("smooth_l1_loss", input, target)
    code = _code(reduction, size_average, reduce)
    return ops["l1_loss"](input, target, code) if beta == 0.0 else ops["smooth_l1_loss"](input, target, code, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """½(x - y)² within delta of the target, delta(|x - y| - ½delta) beyond.

    >>> F.huber_loss(torch.tensor([3.0]), torch.tensor([0.0]), delta=2.0).item()
    4.0
    """
    code = _code(reduction)
    _warn_about_sizes("huber_loss", input, target)
    return ops["huber_loss"](input, target, code, delta) if weight is None else _weighted(ops["huber_loss"](input, target, 0, delta), weight, code)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """y (log y - x) for log-probabilities x; "batchmean" divides the sum by the batch.

    >>> F.kl_div(torch.zeros(2, 1), torch.ones(2, 1), reduction="batchmean").item()
    0.0
    """
    if _reduction_name(reduction, size_average, reduce) == "batchmean":
        total = ops["kl_div"](input, target, 2, log_target=log_target)
        return total / input.shape[0] if input.dim() else total
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn("kl_div: reduction 'mean' divides by every element; 'batchmean' is the divergence itself", stacklevel=3)
    return ops["kl_div"](input, target, _code(reduction, size_average, reduce), log_target=log_target)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-y·x)) for targets of 1 and -1.

    >>> F.soft_margin_loss(torch.zeros(2), torch.ones(2)).exp().round().item()
    2.0
    """
    return ops["soft_margin_loss"](input, target, _code(reduction, size_average, reduce))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """x where y = 1, max(0, margin - x) where y = -1.

    >>> F.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1, -1])).item()
    0.5
    """
    return ops["hinge_embedding_loss"](input, target, margin, _code(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -y (x1 - x2) + margin). RuntimeError for different numbers of dimensions.

    >>> F.margin_ranking_loss(torch.zeros(2), torch.ones(2), torch.ones(2)).item()
    1.0
    """
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss: expected the same number of dimensions, got {input1.dim()}, {input2.dim()}, {target.dim()}")
    return ops["margin_ranking_loss"](input1, input2, target, margin, _code(reduction, size_average, reduce))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos(x1, x2) where y = 1, max(0, cos(x1, x2) - margin) where y = -1.

    >>> F.cosine_embedding_loss(torch.ones(1, 2), -torch.ones(1, 2), torch.tensor([1])).round().item()
    2.0
    """
    return ops["cosine_embedding_loss"](input1, input2, target, margin, _code(reduction, size_average, reduce))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    """max(0, |a - p| - |a - n| + margin). ValueError unless margin is positive.

    >>> F.triplet_margin_loss(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3)).item()
    1.0
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return ops["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, _code(reduction, size_average, reduce))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """`triplet_margin_loss` with a distance of one's own.

    >>> F.triplet_margin_with_distance_loss(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3)).item()
    1.0
    """
    code = _code(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or ops["pairwise_distance"]
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(f"triplet loss: expected the same number of dimensions, got {anchor.dim()}, {positive.dim()}, {negative.dim()}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduced(torch.clamp_min(margin + near - far, 0), code)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """exp(x) - y·x, or x - y·log(x + eps) with log_input off.

    >>> F.poisson_nll_loss(torch.zeros(2), torch.ones(2)).item()
    1.0
    """
    return ops["poisson_nll_loss"](input, target, log_input, full, eps, _code(reduction, size_average, reduce))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """½(log var + (x - y)²/var), var at least eps. ValueError for a negative variance or one that does not fit.

    >>> F.gaussian_nll_loss(torch.zeros(2), torch.zeros(2), torch.ones(2)).item()
    0.0
    """
    if not isinstance(var, torch.Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var is negative, got {var}")
        var = torch.full_like(input, var)
    elif (var < 0).any():
        raise ValueError("gaussian_nll_loss: var has negative entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif var.dim() != input.dim() or [v for v, i in zip(var.shape, input.shape, strict=True) if v != i] != [1]:
            raise ValueError(f"gaussian_nll_loss: var of shape {tuple(var.shape)} does not fit an input of {tuple(input.shape)}")
    if reduction not in _CODES:
        raise ValueError(f"{reduction} is not valid")
    with torch.no_grad():
        clamped = var.clamp(min=eps)
    var = var + (clamped - var).detach()
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, _CODES[reduction])


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(y log x + (1 - y) log(1 - x)) for probabilities x. ValueError for different shapes.

    >>> F.binary_cross_entropy(torch.ones(2), torch.ones(2)).item()
    0.0
    """
    _same_size("binary_cross_entropy", input, target)
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.shape, weight.shape))
    return ops["binary_cross_entropy"](input, target, weight, _code(reduction, size_average, reduce))


def _same_size(name, input, target):
    if target.shape != input.shape:
        raise ValueError(f"{name}: got a target of shape {tuple(target.shape)}, expected the input's {tuple(input.shape)}")


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """`binary_cross_entropy` of sigmoid(x), computed stably.

    >>> F.binary_cross_entropy_with_logits(torch.full((2,), 100.0), torch.ones(2)).round().item()
    0.0
    """
    _same_size("binary_cross_entropy_with_logits", input, target)
    return ops["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, _code(reduction, size_average, reduce))


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """The negative log-softmax of scores (N, C, *) at classes (N, *), or against probabilities of the scores' shape.

    >>> F.cross_entropy(torch.zeros(2, 4), torch.tensor([1, 3])).exp().round().item()
    4.0
    """
    code = _code(reduction) if size_average is None and reduce is None else _code(reduction, size_average, reduce)
    try:
        return ops["cross_entropy_loss"](input, target, weight, code, ignore_index, label_smoothing)
    except ValueError as error:  # PyTorch keeps that type for batches of different sizes
        if input.shape[:1] == target.shape[:1]:
            raise RuntimeError(str(error)) from None
        raise


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-x[target] of log-probabilities (N, C, *) for classes (N, *).

    >>> F.nll_loss(torch.full((2, 3), -1.0), torch.tensor([0, 2])).item()
    1.0
    """
    return ops["nll_loss_nd"](input, target, weight, _code(reduction, size_average, reduce), ignore_index)


@_in_float32
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of max(0, margin - x[y] + x[i])^p, times the weight of y. ValueError for p other than 1 and 2.

    >>> F.multi_margin_loss(torch.zeros(1, 4), torch.tensor([2])).item()
    0.75
    """
    code = _code(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if "multi_margin_loss" in ops:
        return ops["multi_margin_loss"](input, target, p, margin, weight, code)
    scores, classes = torch.atleast_2d(input) if hasattr(torch, "atleast_2d") else input.reshape(-1, input.shape[-1]), target.reshape(-1, 1)
    if classes.shape[0] != scores.shape[0]:
        raise RuntimeError(f"multi_margin_loss: inconsistent target size, got {tuple(target.shape)} for an input of {tuple(input.shape)}")
    terms = torch.relu(margin - scores.gather(1, classes) + scores)  # nothing at the edge, as in PyTorch
    terms = terms if p == 1 else terms * terms
    if weight is not None:
        terms = terms * weight[classes]
    loss = terms.scatter(1, classes, 0.0).sum(1) / scores.shape[1]
    return _reduced(loss.squeeze(0) if input.dim() == 1 else loss, code)


@_in_float32
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """A hinge loss over pairs of a class that is meant and one that is not; targets are class numbers up to the first -1.

    >>> F.multilabel_margin_loss(torch.tensor([[0.0, 0.0, 0.0, 0.0]]), torch.tensor([[3, 0, -1, 1]])).item()
    1.0
    """
    code = _code(reduction, size_average, reduce)
    if "multilabel_margin_loss" in ops:
        return ops["multilabel_margin_loss"](input, target, code)
    if input.shape != target.shape:
        raise RuntimeError(f"multilabel_margin_loss: inconsistent target size, got {tuple(target.shape)} for an input of {tuple(input.shape)}")
    if input.dim() > 2 or (input.numel() == 0 and (input.dim() != 2 or input.shape[1] == 0)):
        raise RuntimeError(f"multilabel_margin_loss: expected a vector or a matrix that is not empty but for its batch, got {tuple(input.shape)}")
    scores, classes = (input, target) if input.dim() > 1 else (input.reshape(1, -1), target.reshape(1, -1))
    named = (classes < 0).to(torch.int64).cumsum(1) == 0
    if classes.numel() and not (classes._lacks_data or classes._is_batched):
        # As many columns as the row that names most classes.
        longest = int(named.sum(1).max())
        named, classes = named[:, :longest], classes[:, :longest]
    place = torch.where(named, classes, 0)
    meant = torch.zeros(scores.shape, dtype=torch.int64, device=scores.device).scatter_add(1, place, named.to(torch.int64)) > 0
    gaps = torch.relu(1 - scores.gather(1, place).unsqueeze(2) + scores.unsqueeze(1))
    counted = (named.unsqueeze(2) & ~meant.unsqueeze(1)).to(scores.dtype)
    loss = (gaps * counted).sum((1, 2)) / scores.shape[1]
    return _reduced(loss.squeeze(0) if input.dim() <= 1 else loss, code)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of `binary_cross_entropy_with_logits`.

    >>> F.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2)).exp().round().item()
    2.0
    """
    code = _code(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], code)


logsigmoid = ops["log_sigmoid"]
_NEVER = -1e30  # stands for the logarithm of zero, and stays finite in sums


@_in_float32
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log of the probability that (T, N, C) log-probabilities spell the targets, (N, S) or joined in one row.

    "mean" divides each loss by its target's length first. RuntimeError for lengths or a blank out of range.

    >>> scores = torch.zeros(3, 1, 2).log_softmax(2)
    >>> F.ctc_loss(scores, torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]), reduction="sum").exp().mul(6).round().item()
    8.0
    """
    code = _code(reduction)
    for name, n in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if isinstance(n, torch.Tensor) and (n.is_floating_point() or n.is_complex() or n.dtype == torch.bool):
            raise RuntimeError(f"ctc_loss: {name} must be integral, got {n.dtype}")
    if any(isinstance(n, torch.Tensor) and _batched_parts(n) for n in (targets, input_lengths, target_lengths)):
        # Lengths and labels decide how much is computed.
        inputs = (log_probs, targets, input_lengths, target_lengths)
        return _one_by_one(lambda *each: ctc_loss(*each, blank, reduction, zero_infinity), inputs)
    alone = log_probs.dim() == 2
    lp = log_probs.unsqueeze(1) if alone else log_probs
    steps, batch, classes = lp.shape
    for name, n in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if isinstance(n, torch.Tensor) and (n.is_floating_point() or n.is_complex()):
            raise RuntimeError(f"ctc_loss: {name} must be integers, got {n.dtype}")
    lengths_in, lengths = (torch.as_tensor(n, dtype=torch.int64).reshape(-1) for n in (input_lengths, target_lengths))
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range, got {blank} of {classes}")
    if lengths_in.numel() != batch or lengths.numel() != batch:
        raise RuntimeError(f"ctc_loss: expected {batch} lengths, got {lengths_in.numel()} of inputs and {lengths.numel()} of targets")
    if lp._lacks_data or targets._lacks_data or lengths_in._lacks_data or lengths._lacks_data:
        return _ctc_reduced(lp.sum((0, 2)), lengths.to(lp.device), code, alone)
    if int(lengths_in.max()) > steps or int(lengths.min()) < 0 or int(lengths_in.min()) < 0:
        raise RuntimeError(f"ctc_loss: lengths of inputs must be 0 to {steps}, those of targets at least 0")
    longest = int(lengths.max())
    labels = targets.new_full((batch, max(longest, 1)), blank, dtype=torch.int64)
    rows = targets.reshape(1, -1) if alone and targets.dim() == 1 else targets
    start = 0
    for n, length in enumerate(lengths.tolist()):
        row = rows[n] if rows.dim() == 2 else rows[start : start + length]
        if row.shape[0] < length:
            raise RuntimeError(f"ctc_loss: target {n} has {row.shape[0]} labels, its length says {length}")
        labels[n, :length] = row[:length].to(torch.int64)
        start += length
    spread = labels.new_full((batch, 2 * labels.shape[1] + 1), blank)
    spread[:, 1::2] = labels
    may_skip = labels.new_zeros(spread.shape, dtype=torch.bool)
    may_skip[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    emit = lp.clamp_min(_NEVER).gather(2, spread.unsqueeze(0).expand(steps, -1, -1))
    never = torch.full((batch, 1), _NEVER, dtype=lp.dtype)
    alpha = torch.cat([torch.zeros((batch, 1), dtype=lp.dtype), never.expand(-1, spread.shape[1] - 1)], 1)
    # before the first step only the start: its first blank and first label are then one step away
    history = []
    for t in range(steps):
        one = torch.cat([never, alpha[:, :-1]], 1)
        if t == 0:
            alpha = torch.where(torch.arange(spread.shape[1]) < 2, emit[0], torch.full_like(emit[0], _NEVER))
        else:
            two = torch.where(may_skip, torch.cat([never, never, alpha[:, :-2]], 1), never)
            alpha = torch.logsumexp(torch.stack([alpha, one, two]), 0) + emit[t]
        history.append(alpha)
    rows_all = torch.arange(batch)
    last = torch.stack(history)[(lengths_in - 1).clamp_min(0), rows_all]
    end = last.gather(1, (2 * lengths).unsqueeze(1)).squeeze(1)
    before = last.gather(1, (2 * lengths - 1).clamp_min(0).unsqueeze(1)).squeeze(1)
    total = torch.where(lengths > 0, torch.logaddexp(end, before), end)
    total = torch.where(lengths_in > 0, total, torch.where(lengths == 0, torch.zeros_like(total), torch.full_like(total, _NEVER)))
    loss = torch.where(total < _NEVER / 2, torch.full_like(total, float("inf")), -total)
    # The gradient is the one of scores under a log-softmax: probabilities less what the alignment expects.
    inside = (torch.arange(steps).unsqueeze(1) < lengths_in.unsqueeze(0)).to(lp.dtype)
    mass = (lp.exp().sum(2) * inside).sum(0)
    loss = loss + (mass - mass.detach())
    if zero_infinity:
        loss = torch.where(loss == float("inf"), torch.zeros_like(loss), loss)
    return _ctc_reduced(loss, lengths, code, alone)


def _ctc_reduced(loss, lengths, code, alone):
    if code == 1:
        return (loss / lengths.clamp_min(1).to(loss.dtype)).mean()
    return loss.sum() if code == 2 else loss.squeeze(0) if alone else loss


def _linear_cross_entropy_chunk(input, linear_weight, target, linear_bias, weight, index, reduction, label_smoothing):
    scores = ops["linear"](input, linear_weight.flatten(0, -2), None if linear_bias is None else linear_bias.flatten())
    if linear_weight.dim() > 2:
        scores = scores.unflatten(1, linear_weight.shape[:-1])
    return cross_entropy(scores, target, weight, ignore_index=index, reduction=reduction, label_smoothing=label_smoothing)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):  # fmt: skip
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`: (N, in_features) for classes (N, *) or probabilities (N, C, *).

    A weight (C, *, in_features) gives a loss for each place of *. With `options` the batch goes through in pieces, so that the (N, C) scores
    are never all in memory: they are computed again in backward. RuntimeError for features, weights or a smoothing that do not fit,
    ValueError for another batch.

    >>> F.linear_cross_entropy(torch.ones(2, 3), torch.zeros(4, 3), torch.tensor([1, 3])).exp().round().item()
    4.0
    """
    soft = target.is_floating_point()
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected an input of 1 or 2 dimensions, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected a linear_weight of 2 dimensions or more, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(f"the last sizes of input and linear_weight (in_features) differ, got {input.shape[-1]} and {linear_weight.shape[-1]}")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(f"a loss of K dimensions, as linear_weight of shape {tuple(linear_weight.shape)} requires batched input, "
                           f"(N, {linear_weight.shape[-1]}), got unbatched input with shape {tuple(input.shape)}")  # fmt: skip
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}")
    if soft and ignore_index is not None:
        raise RuntimeError("a target of probabilities takes no ignore_index")
    if input.dim() == 2 and target.dim() and target.shape[0] != input.shape[0]:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})")
    classes = input.shape[:-1] + linear_weight.shape[:-1]
    if not soft and target.shape == classes and linear_weight.shape[0] > 1:
        raise RuntimeError(f"expected class probabilities of a floating dtype as target, got {target.dtype}")
    index = -100 if ignore_index is None else ignore_index
    rest = (weight, index)
    if options is None or input.dim() == 1:
        return _linear_cross_entropy_chunk(input, linear_weight, target, linear_bias, *rest, reduction, label_smoothing)
    from ...utils.checkpoint import checkpoint

    size = options._rows(*linear_weight.flatten(0, -2).shape)
    parts = [
        checkpoint(_without(_linear_cross_entropy_chunk), x, linear_weight, y, linear_bias, *rest, "none" if reduction == "none" else "sum", label_smoothing,
                   use_reentrant=False, preserve_rng_state=False)
        for x, y in zip(input.split(size), target.split(size), strict=True)
    ]  # fmt: skip
    if reduction == "none":
        return torch.cat(parts)
    total = sum(parts[1:], parts[0])
    if reduction == "sum":
        return total
    if soft:
        return total / (target.numel() // target.shape[1])
    counted = target != index
    return total / (counted.sum() if weight is None else weight[target.where(counted, 0)].where(counted, 0).sum())