"""Products, normalisation, embeddings, distances and attention."""

import math
import warnings

import _cresset
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
    scale = torch.norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / scale if out is None else torch.div(input, scale, out=out)


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
    if input.dim() < 3:
        raise ValueError(f"expected at least 3 dimensions (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    flat = input.square().reshape(input.shape[0], 1, input.shape[1], -1)
    padded = ops["constant_pad_nd"](flat, [0, 0, size // 2, (size - 1) // 2])
    mean = ops["avg_pool2d"](padded, [size, 1], [1, 1]).reshape(input.shape)
    return input / (mean * alpha + k) ** beta


# ---- embeddings -----------------------------------------------------------------------------------------------------------


def _shorten_rows(weight, used, max_norm, norm_type):
    """Scale the rows that are used to norm `max_norm` at most, in place."""
    if weight._lacks_data or used._lacks_data:
        return
    with torch.no_grad():
        weight = weight.detach()  # a tangent stays what it is
        if _cresset.batched_parts(weight) or _cresset.batched_parts(used):
            mark = used.new_zeros(weight.shape[0], dtype=torch.bool).index_fill(0, used.reshape(-1), True).unsqueeze(1)
            norms = torch.norm(weight, norm_type, 1, keepdim=True)
            weight.copy_(torch.where(mark & (norms > max_norm), weight * (max_norm / (norms + 1e-7)), weight))
            return
        mark = torch.zeros(weight.shape[0], dtype=torch.bool, device=weight.device)
        mark[used.reshape(-1)] = True
        rows = mark.nonzero().squeeze(1)
        norms = torch.norm(weight[rows], norm_type, 1, keepdim=True)
        weight[rows] = torch.where(norms > max_norm, weight[rows] * (max_norm / (norms + 1e-7)), weight[rows])


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
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated as bags of one length")
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
        raise ValueError(f"max mode does not go with {'sparse weights' if sparse else 'scaling the gradient by the frequency'}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights was not None; it is only supported for mode='sum' (got mode='{mode}')")
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise AssertionError(f"padding_idx must be within the number of embeddings, got {padding_idx}")
        padding_idx += weight.shape[0] if padding_idx < 0 else 0
    known = offsets.numel() and not offsets._lacks_data
    if known and int(offsets[0]) != 0:
        raise RuntimeError(f"embedding_bag: offsets[0] has to be 0, got {int(offsets[0])}")
    if known and int(offsets[-1]) > input.numel():
        raise RuntimeError(f"embedding_bag: offsets[-1] {int(offsets[-1])} is past the {input.numel()} numbers of the input")
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    offsets = offsets[:-1] if include_last_offset else offsets
    try:
        return _bags(input, weight, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx)
    except IndexError as error:
        raise RuntimeError(f"embedding_bag: {error}") from None


class _BagSums(torch.autograd.Function):
    """Sums of bags of rows of `weight` by a sparse matrix of bags by rows, in which a bag may name a row twice."""

    @staticmethod
    def matrix_of(values, weight, ends, index):
        return torch.sparse_csr_tensor(ends, index, values, (ends.numel() - 1, weight.shape[0]), check_invariants=False)

    @staticmethod
    def forward(ctx, weight, values, ends, index):
        ctx.save_for_backward(weight, values, ends, index)
        ctx.save_for_forward(weight, values, ends, index)
        return _BagSums.matrix_of(values, weight, ends, index).mm(weight)

    @staticmethod
    def backward(ctx, grad):
        weight, values, ends, index = ctx.saved_tensors
        if not (torch.is_grad_enabled() or grad._is_batched or ctx.needs_input_grad[1]):
            return _BagSums.matrix_of(values, weight, ends, index).t().mm(grad), None, None, None
        # A gradient that may be differentiated again keeps to dense rows.
        rows = grad[torch.repeat_interleave(torch.arange(ends.numel() - 1), ends.diff())]
        by_weight = ops["embedding_dense_backward"](rows * values.unsqueeze(1), index, weight.shape[0], -1, False) if ctx.needs_input_grad[0] else None
        return by_weight, (rows * weight[index]).sum(1) if ctx.needs_input_grad[1] else None, None, None

    @staticmethod
    def jvp(ctx, by_weight, by_values, *_):
        weight, values, ends, index = ctx.saved_tensors
        by_weight = _BagSums.matrix_of(values, weight, ends, index).mm(by_weight)
        return by_weight if by_values is None else by_weight + _BagSums.matrix_of(by_values, weight, ends, index).mm(weight)


def _product_of_bags(input, weight, offsets, per_sample_weights, padding_idx):
    """The sums of the bags and their lengths, as the product of a sparse matrix with `weight`; None where that cannot be."""
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        return None
    given = (input, weight, offsets) if per_sample_weights is None else (input, weight, offsets, per_sample_weights)
    if any(t._lacks_data or t._is_batched for t in given) or not weight.is_floating_point():
        return None
    least, most = input.aminmax()
    ends = torch.cat((offsets.to(torch.int64), torch.tensor([input.numel()])))
    if int(least) < 0 or int(most) >= weight.shape[0] or bool((ends.diff() < 0).any()):
        return None
    if padding_idx is not None:
        keep = input != padding_idx
        input = input[keep]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[keep]
        ends = torch.cat((torch.tensor([0]), keep.cumsum(0)))[ends]
    values = torch.ones(input.numel(), dtype=weight.dtype) if per_sample_weights is None else per_sample_weights
    return _BagSums.apply(weight, values, ends, input.to(torch.int64)), ends.diff()


def _bags(input, weight, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx):
    count, bags, device = input.numel(), offsets.numel(), input.device
    if count == 0 or bags == 0:
        used = weight.sum() if per_sample_weights is None else weight.sum() + per_sample_weights.sum()
        return weight.new_zeros((bags, weight.shape[1])) + 0 * used
    if mode != "max" and not sparse and not scale_grad_by_freq:
        product = _product_of_bags(input, weight, offsets, per_sample_weights, padding_idx)
        if product is not None:
            sums, lengths = product
            return sums if mode == "sum" else sums / lengths.clamp_min(1).unsqueeze(1).to(sums.dtype)
    each = torch.ones(bags, dtype=torch.int64, device=device)
    starts = torch.zeros(count + 1, dtype=torch.int64, device=device).index_add_(0, offsets.to(torch.int64), each)
    bag = starts.cumsum(0)[:-1] - 1
    rows = ops["embedding"](weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)
    keep = None if padding_idx is None else (input != padding_idx)
    if mode == "max":
        place = torch.arange(count, device=device) - offsets.to(torch.int64)[bag]
        longest = count if place._lacks_data else int(place.max()) + 1
        table = rows.new_full((bags, longest, rows.shape[1]), float("-inf"))
        if keep is not None:
            rows = torch.where(keep.unsqueeze(1), rows, float("-inf"))
        best = table.index_put((bag, place), rows).max(1)[0]
        return torch.where(best == float("-inf"), torch.zeros_like(best), best)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if keep is not None:
        rows = rows * keep.to(rows.dtype).unsqueeze(1)
    out = rows.new_zeros((bags, rows.shape[1])).index_add(0, bag, rows)
    if mode == "mean":
        each = torch.ones(count, dtype=rows.dtype, device=device) if keep is None else keep.to(rows.dtype)
        out = out / torch.zeros(bags, dtype=rows.dtype, device=device).index_add(0, bag, each).clamp_min(1).unsqueeze(1)
    return out
