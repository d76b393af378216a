"""torch.nn.functional over the operators: names, defaults and reductions as strings."""

import cresset as torch

from .. import _operators as ops

_SAME = """relu relu_ relu6 hardtanh_ leaky_relu leaky_relu_ prelu elu elu_ selu selu_ celu celu_ gelu mish hardsigmoid hardswish
hardshrink softshrink softplus softsign tanhshrink glu threshold threshold_ pixel_shuffle pixel_unshuffle linear bilinear
conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d avg_pool2d avg_pool3d one_hot scaled_dot_product_attention cosine_similarity pairwise_distance rms_norm silu tanh sigmoid channel_shuffle native_channel_shuffle pdist"""
globals().update({name: ops[name] for name in _SAME.split() if name in ops})
logsigmoid = ops["log_sigmoid"]
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        size_average, reduce = size_average is not False, reduce is not False
        reduction = "none" if not reduce else "mean" if size_average else "sum"
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction, expected none, mean or sum")
    return _REDUCTIONS[reduction]


def _same_size(name, input, target):
    if target.shape != input.shape:
        raise ValueError(f"{name}: got a target of shape {tuple(target.shape)}, expected the input's {tuple(input.shape)}")


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is None:
        return ops["mse_loss"](input, target, _reduction(reduction, size_average, reduce))
    loss = ops["mse_loss"](input, target, 0) * weight
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / weight.sum()


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is None:
        return ops["l1_loss"](input, target, _reduction(reduction, size_average, reduce))
    loss = ops["l1_loss"](input, target, 0) * weight
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / weight.sum()


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    return ops["smooth_l1_loss"](input, target, _reduction(reduction, size_average, reduce), beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    if weight is None:
        return ops["huber_loss"](input, target, _reduction(reduction), delta)
    loss = ops["huber_loss"](input, target, 0, delta) * weight
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / weight.sum()


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if reduction == "batchmean":
        total = ops["kl_div"](input, target, 2, log_target=log_target)
        return total / input.shape[0] if input.dim() else total
    return ops["kl_div"](input, target, _reduction(reduction, size_average, reduce), log_target=log_target)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return ops["soft_margin_loss"](input, target, _reduction(reduction, size_average, reduce))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    return ops["hinge_embedding_loss"](input, target, margin, _reduction(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss: expected the same number of dimensions, got {input1.dim()}, {input2.dim()}, {target.dim()}")
    return ops["margin_ranking_loss"](input1, input2, target, margin, _reduction(reduction, size_average, reduce))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return ops["cosine_embedding_loss"](input1, input2, target, margin, _reduction(reduction, size_average, reduce))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    return ops["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, _reduction(reduction, size_average, reduce))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin must be greater than 0, got {margin}")
    distance = distance_function or ops["pairwise_distance"]
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    loss = torch.clamp_min(margin + near - far, 0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    return ops["poisson_nll_loss"](input, target, log_input, full, eps, _reduction(reduction, size_average, reduce))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if not isinstance(var, torch.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = torch.full_like(input, var)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    with torch.no_grad():
        clamped = var.clamp(min=eps)
    var = var + (clamped - var).detach()
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * torch._math.log(2 * torch.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    _same_size("binary_cross_entropy", input, target)
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.shape, weight.shape))
    return ops["binary_cross_entropy"](input, target, weight, _reduction(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    _same_size("binary_cross_entropy_with_logits", input, target)
    return ops["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, _reduction(reduction, size_average, reduce))


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    return ops["cross_entropy_loss"](input, target, weight, _reduction(reduction, size_average, reduce), ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return ops["nll_loss_nd"](input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)


def _conv(n):
    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return ops[f"conv{n}d"](input, weight, bias, stride, padding, dilation, groups)

    return conv


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)
torch.conv1d, torch.conv2d, torch.conv3d = conv1d, conv2d, conv3d


def silu(input, inplace=False):
    return ops["silu_"](input) if inplace else ops["silu"](input)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return ops["softmax"](input, _implicit(input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return ops["log_softmax"](input, _implicit(input, dim), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return ops["softmax"](-input, _implicit(input, dim), dtype)


def _implicit(input, dim):
    return (0 if input.dim() in (0, 1, 3) else 1) if dim is None else dim


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    scale = torch.norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / scale if out is None else torch.div(input, scale, out=out)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return ops["layer_norm"](input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return ops["group_norm"](input, num_groups, weight, bias, eps)


def _values_per_channel(size):
    if torch._math.prod(size) // max(size[1], 1) == 1:
        raise ValueError(f"expected more than 1 value per channel when training, got input size {tuple(size)}")


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        _values_per_channel(input.shape)
    return ops["batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if use_input_stats:
        _values_per_channel((1, 1, *input.shape[2:]))
    return ops["instance_norm"](input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def pad(input, pad, mode="constant", value=None):
    return ops["pad"](input, list(pad), mode, value)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise AssertionError("padding_idx must be within num_embeddings")
        padding_idx += weight.shape[0] if padding_idx < 0 else 0
    if max_norm is not None:
        with torch.no_grad():
            rows = torch.tensor(sorted(set(input.flatten().tolist())), dtype=torch.int64)
            norms = torch.norm(weight[rows], norm_type, 1, keepdim=True)
            weight[rows] = torch.where(norms > max_norm, weight[rows] * (max_norm / (norms + 1e-7)), weight[rows])
    return ops["embedding"](weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return ops["im2col"](input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return ops["col2im"](input, output_size, kernel_size, dilation, padding, stride)


def _max_pool(n):
    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        name = f"max_pool{n}d_with_indices" if return_indices else f"max_pool{n}d"
        return ops[name](input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)

    def output_sizes(input, given):
        sizes = [given] * n if isinstance(given, int) else list(given)
        if len(sizes) >= input.dim():
            raise ValueError(f"adaptive pooling: got {len(sizes)} output sizes for an input of shape {tuple(input.shape)}")
        return [input.shape[i - n] if s is None else s for i, s in enumerate(sizes)]

    def adaptive_max_pool(input, output_size, return_indices=False):
        values, indices = ops[f"adaptive_max_pool{n}d"](input, output_sizes(input, output_size))
        return (values, indices) if return_indices else values

    def adaptive_avg_pool(input, output_size):
        return ops[f"adaptive_avg_pool{n}d"](input, output_sizes(input, output_size))

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        kernel = [kernel_size] * n if isinstance(kernel_size, int) else list(kernel_size)
        stride = kernel if stride is None else [stride] * n if isinstance(stride, int) else list(stride)
        return ops["lp_pool"](input, norm_type, kernel, stride, ceil_mode)

    return max_pool, adaptive_max_pool, adaptive_avg_pool, lp_pool


max_pool1d, adaptive_max_pool1d, adaptive_avg_pool1d, lp_pool1d = _max_pool(1)
max_pool2d, adaptive_max_pool2d, adaptive_avg_pool2d, lp_pool2d = _max_pool(2)
max_pool3d, adaptive_max_pool3d, adaptive_avg_pool3d, lp_pool3d = _max_pool(3)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    n = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: exactly one of size and scale_factor must be given")
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(f"interpolate: align_corners does not go with mode {mode}")
    size = [size] * n if isinstance(size, int) else None if size is None else list(size)
    scales = None if scale_factor is None else list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * n
    if len(size if scales is None else scales) != n:
        raise ValueError(f"interpolate: expected {n} values of size or scale_factor for an input of {input.dim()} dimensions")
    if mode == "area" or (recompute_scale_factor and scales is not None):
        size, scales = size or [int(s * f) for s, f in zip(input.shape[2:], scales, strict=True)], None
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](input, size)
    if mode in ("nearest", "nearest-exact"):
        return ops["upsample_nearest" + ("_exact" if mode != "nearest" else "")](input, size, scales)
    dims = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}.get(mode)
    if dims != n:
        raise NotImplementedError(f"interpolate: mode {mode} does not go with an input of {input.dim()} dimensions")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("interpolate: antialias needs mode bilinear or bicubic")
    return ops["upsample_bicubic" if mode == "bicubic" else "upsample_linear"](input, size, bool(align_corners), scales, antialias)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "bilinear", True)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def _dropout(name, on=True):
    def dropout(input, p=0.5, training=on, inplace=False):
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, got {p}")
        return ops[name + "_"](input, p, training) if inplace else ops[name](input, p, training)

    return dropout


dropout, alpha_dropout = _dropout("dropout"), _dropout("alpha_dropout", False)
dropout1d = dropout2d = dropout3d = _dropout("feature_dropout")
feature_alpha_dropout = _dropout("feature_alpha_dropout", False)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    out = ops["rrelu"](input, lower, upper, training)
    return input.copy_(out) if inplace else out


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} is greater than max_val {max_val}")
    return ops["hardtanh_" if inplace else "hardtanh"](input, min_val, max_val)


def _activation(name):
    def activation(input, *args, inplace=False, **kwargs):
        return ops[name + "_" if inplace else name](input, *args, **kwargs)

    return activation


for _name in "relu relu6 leaky_relu elu selu celu mish hardsigmoid hardswish threshold".split():
    globals()[_name] = _activation(_name)
