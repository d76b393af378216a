"""Products, normalisation, embeddings, distances and attention."""

import math
import warnings

import cresset as torch

from ... import _operators as ops

linear, bilinear, rms_norm, pixel_shuffle, pixel_unshuffle = (ops[n] for n in "linear bilinear rms_norm pixel_shuffle pixel_unshuffle".split())
one_hot, scaled_dot_product_attention = ops["one_hot"], ops["scaled_dot_product_attention"]
cosine_similarity, pairwise_distance, pdist = ops["cosine_similarity"], ops["pairwise_distance"], ops["pdist"]


def channel_shuffle(input, groups):
    """Puts the channels of (N, C, *) in the order that takes one of each group in turn. RuntimeError unless groups divide them.

    >>> F.channel_shuffle(torch.arange(4.0).view(1, 4, 1), 2).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle: expected an input with > 2 dims, got {tuple(input.shape)}")
    if groups <= 0 or input.shape[1] % groups:
        raise RuntimeError(f"channel_shuffle: number of channels must be divisible by groups, got {input.shape[1]} and {groups}")
    if input.numel() == 0:
        return input.clone()
    return ops["channel_shuffle"](input, groups)


native_channel_shuffle = channel_shuffle


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """x over its p-norm along `dim`, which is taken as at least eps.

    >>> F.normalize(torch.tensor([[3.0, 4.0]])).mul(5).round().tolist()
    [[3.0, 4.0]]
    """
    return ops["_normalize"](input, p, dim, eps) if out is None else ops["_normalize"](input, p, dim, eps, out=out)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """(x - mean)/√(variance + eps) · weight + bias over the trailing dimensions `normalized_shape`.

    >>> F.layer_norm(torch.rand(2, 4), (4,)).shape
    torch.Size([2, 4])
    """
    return ops["layer_norm"](input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalises each group of the channels of (N, C, *).

    >>> F.group_norm(torch.rand(2, 6, 4), 3).shape
    torch.Size([2, 6, 4])
    """
    if input.dim() < 2:
        raise RuntimeError(f"group_norm: expected at least 2 dimensions, got {input.dim()}")
    _several_values((input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]))
    return ops["group_norm"](input, num_groups, weight, bias, eps)


def _several_values(size):
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"training needs more than one value a channel, got shape {torch.Size(size)}")


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalises every channel of (N, C, *) by the batch when training, else by the running statistics.

    ValueError when training with one value per channel.

    >>> F.batch_norm(torch.rand(4, 3), None, None, training=True).shape
    torch.Size([4, 3])
    """
    if training:
        if eps <= 0.0:
            raise ValueError(f"batch_norm: eps must be positive during training, got {eps}")
        _several_values(input.shape)
    return ops["batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalises every channel of every sample of (N, C, *). ValueError for one value per channel.

    >>> F.instance_norm(torch.rand(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"training needs more than one place, got shape {input.shape}")
    return ops["instance_norm"](input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides by (k + alpha · the mean of squares over `size` neighbouring channels)^beta; (N, C, *).

    >>> F.local_response_norm(torch.ones(1, 4, 3), 2).shape
    torch.Size([1, 4, 3])
    """
    return ops["_local_response_norm"](input, size, alpha, beta, k)


# ---- embeddings -----------------------------------------------------------------------------------------------------------


def _shorten_rows(weight, used, max_norm, norm_type):
    """Scale the rows that are used to norm `max_norm` at most, in place."""
    ops["embedding_renorm_"](weight.detach(), used, max_norm, norm_type)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the numbers in `input`: (*) to (*, columns). AssertionError for a padding_idx outside of it.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise AssertionError(f"Padding_idx must be within num_embeddings, got {padding_idx} and {weight.shape[0]}")
        padding_idx += weight.shape[0] if padding_idx < 0 else 0
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return ops["embedding"](weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):  # fmt: skip
    """Sums, means or maxima over bags of rows of `weight`: bags are the rows of (B, N), or start at `offsets` in (N).

    Rows `padding_idx` count for nothing. ValueError for bags that do not fit, RuntimeError for weights without mode "sum".

    >>> F.embedding_bag(torch.tensor([0, 1, 1]), torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1]), mode="sum").tolist()
    [[1.0], [4.0]]
    """
    if weight.dtype == torch.int64 and input.is_floating_point():
        warnings.warn("embedding_bag: the order of the arguments is input, weight", stacklevel=3)
        input, weight = weight, input
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(f"embedding_bag: expected per_sample_weights of shape {tuple(input.shape)}, got {tuple(per_sample_weights.shape)}")
    if weight.dim() != 2:
        raise ValueError(f"embedding_bag: expected a weight of 2 dimensions, got {weight.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode has to be one of sum, mean and max, got {mode!r}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: offsets has to be None for an input of 2 dimensions, whose rows are the bags")
        offsets = torch.arange(0, input.numel(), max(input.shape[1], 1), dtype=input.dtype, device=input.device)[: input.shape[0]]
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        include_last_offset = False
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("embedding_bag: input of one dimension needs offsets, got None")
        if offsets.dim() != 1:
            raise ValueError(f"offsets has to be a 1D Tensor, got {offsets.dim()}D")
    else:
        raise ValueError(f"embedding_bag: expected an input of 1 or 2 dimensions, got {input.dim()}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError(f"max mode does not go with {'sparse weights' if sparse else 'scaling the gradient by frequency'}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights was not None; it is only supported for mode='sum' (got mode='{mode}')")
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, got {padding_idx}")
        padding_idx += weight.shape[0] if padding_idx < 0 else 0
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    modes = ("sum", "mean", "max").index(mode)
    return ops["embedding_bag"](weight, input, offsets, scale_grad_by_freq, modes, sparse, per_sample_weights, include_last_offset, padding_idx)[0]
