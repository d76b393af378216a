"""Losses. `reduction` is "mean", "sum" or "none"; `size_average` and `reduce` are its old spelling."""

import warnings

import cresset as torch

from ... import _operators as ops
from ...amp._state import without as _without

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
    return ops["mse_loss"](input, target, code) if weight is None else ops["_weighted_loss"](ops["mse_loss"](input, target, 0), weight, code)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|x - y|, optionally weighted.

    >>> F.l1_loss(torch.ones(2), torch.zeros(2), reduction="sum").item()
    2.0
    """
    code = _code(reduction, size_average, reduce)
    _warn_about_sizes("l1_loss", input, target)
    return ops["l1_loss"](input, target, code) if weight is None else ops["_weighted_loss"](ops["l1_loss"](input, target, 0), weight, code)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """½(x - y)²/beta within beta of the target, |x - y| - ½beta beyond.

    >>> F.smooth_l1_loss(torch.tensor([3.0]), torch.tensor([0.0])).item()
    2.5
    """
    _warn_about_sizes("smooth_l1_loss", input, target)
    code = _code(reduction, size_average, reduce)
    return ops["l1_loss"](input, target, code) if beta == 0.0 else ops["smooth_l1_loss"](input, target, code, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """½(x - y)² within delta of the target, delta(|x - y| - ½delta) beyond. A mean of weighted losses divides by their number, as in PyTorch, where
    those of `mse_loss` and `l1_loss` divide by the sum of the weights.

    >>> F.huber_loss(torch.tensor([3.0]), torch.tensor([0.0]), delta=2.0).item()
    4.0
    """
    code = _code(reduction)
    _warn_about_sizes("huber_loss", input, target)
    if weight is None:
        return ops["huber_loss"](input, target, code, delta)
    return ops["_weighted_loss"](ops["huber_loss"](input, target, 0, delta), weight, 3 if reduction == "mean" else code)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """y (log y - x) for log-probabilities x; "batchmean" divides the sum by the batch.

    >>> F.kl_div(torch.zeros(2, 1), torch.ones(2, 1), reduction="batchmean").item()
    0.0
    """
    if _reduction_name(reduction, size_average, reduce) == "batchmean":
        return ops["kl_div"](input, target, 3, log_target=log_target)
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
    other = distance(positive, negative) if swap else None
    return ops["_triplet_hinge"](distance(anchor, positive), distance(anchor, negative), other, margin, code)


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
    if reduction not in _CODES:
        raise ValueError(f"{reduction} is not valid")
    return ops["_gaussian_nll_loss"](input, target, var, full, eps, _CODES[reduction])


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
    return ops["multi_margin_loss"](input, target, p, margin, weight, code)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """A hinge loss over pairs of a class that is meant and one that is not; targets are class numbers up to the first -1.

    >>> F.multilabel_margin_loss(torch.tensor([[0.0, 0.0, 0.0, 0.0]]), torch.tensor([[3, 0, -1, 1]])).item()
    1.0
    """
    return ops["multilabel_margin_loss"](input, target, _code(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of `binary_cross_entropy_with_logits`.

    >>> F.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2)).exp().round().item()
    2.0
    """
    return ops["_multilabel_soft_margin_loss"](input, target, weight, _code(reduction, size_average, reduce))


logsigmoid = ops["log_sigmoid"]


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log of the probability that (T, N, C) log-probabilities spell the targets, (N, S) or joined in one row.

    "mean" divides each loss by its target's length first. RuntimeError for lengths or a blank out of range.

    >>> scores = torch.zeros(3, 1, 2).log_softmax(2)
    >>> F.ctc_loss(scores, torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]), reduction="sum").exp().mul(6).round().item()
    8.0
    """
    lengths = [n if isinstance(n, torch.Tensor) else torch.as_tensor(n, dtype=torch.int64) for n in (input_lengths, target_lengths)]
    return ops["ctc_loss"](log_probs, targets, *lengths, blank, _code(reduction), zero_infinity)


def _of_one_batch(input, linear_weight, target, linear_bias, weight, code, index, label_smoothing):
    try:
        return ops["_linear_cross_entropy"](input, linear_weight, target, linear_bias, weight, code, index, label_smoothing)
    except ValueError as error:  # as cross_entropy
        raise RuntimeError(str(error)) from None


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
    if options is None or input.dim() == 1:
        return _of_one_batch(input, linear_weight, target, linear_bias, weight, _code(reduction), index, label_smoothing)
    from ...utils.checkpoint import checkpoint

    code, size = _code(reduction), options._rows(*linear_weight.flatten(0, -2).shape)
    pieces = [
        checkpoint(_without(_of_one_batch), x, linear_weight, y, linear_bias, weight, 2 if code else 0, index, label_smoothing,
                   use_reentrant=False, preserve_rng_state=False)
        for x, y in zip(input.split(size), target.split(size), strict=True)
    ]  # fmt: skip
    return ops["_join_cross_entropies"](pieces, target, weight, code, index)
