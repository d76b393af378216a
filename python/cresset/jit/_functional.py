"""The TorchScript of `torch.nn.functional`: signatures as users know them, over operators that PyTorch has, too."""

_COMMON = """
def _contracted(a: Tensor, b: Tensor, dims_a: List[int], dims_b: List[int], out: Optional[Tensor]) -> Tensor:
    return torch.tensordot(a, b, dims_a, dims_b) if out is None else torch.tensordot(a, b, dims_a, dims_b, out=out)
def tensordot(a: Tensor, b: Tensor, dims: int = 2, out: Optional[Tensor] = None) -> Tensor:
    return _contracted(a, b, [i for i in range(a.dim() - dims, a.dim())], [i for i in range(dims)], out)
def tensordot__1(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None) -> Tensor:
    return _contracted(a, b, dims[0], dims[1], out)
def tensordot__2(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor] = None) -> Tensor:
    return _contracted(a, b, dims[0], dims[1], out)
def tensordot__3(a: Tensor, b: Tensor, dims: Tensor, out: Optional[Tensor] = None) -> Tensor:
    if dims.numel() == 1:
        return tensordot(a, b, int(dims), out)
    of_a: List[int] = dims[0].tolist()
    of_b: List[int] = dims[1].tolist()
    return _contracted(a, b, of_a, of_b, out)
def norm(input: Tensor, p: Optional[number] = 2, dim: Optional[BroadcastingList1[int]] = None, keepdim: bool = False, out: Optional[Tensor] = None,
         dtype: Optional[dtype] = None) -> Tensor:
    order = 2.0 if p is None else float(p)
    if out is None:
        return torch.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype)
    return torch.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)
def norm__1(input: Tensor, p: str, dim: Optional[BroadcastingList1[int]] = None, keepdim: bool = False, out: Optional[Tensor] = None,
            dtype: Optional[dtype] = None) -> Tensor:
    if p == "fro":
        return norm(input, 2, dim, keepdim, out, dtype)
    if p != "nuc":
        raise ValueError("norm: expected a number, 'fro' or 'nuc' as p, got " + p)
    found = torch.linalg_matrix_norm(input, p, [-2, -1] if dim is None else dim, keepdim, dtype=dtype)
    return found if out is None else out.copy_(found)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.relu_(input) if inplace else torch.relu(input)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, 0.0, 6.0) if inplace else torch.hardtanh(input, 0.0, 6.0)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.selu_(input) if inplace else torch.selu(input)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.silu_(input) if inplace else torch.silu(input)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.mish_(input) if inplace else torch.mish(input)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardswish_(input) if inplace else torch.hardswish(input)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)
def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)
def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()
def _last_dim(dim: Optional[int], n: int) -> int:
    if dim is None:
        return 0 if n == 0 or n == 1 or n == 3 else 1
    return dim
def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[dtype] = None) -> Tensor:
    return torch.softmax(-input, _last_dim(dim, input.dim()), dtype=dtype)
def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[dtype] = None) -> Tensor:
    return torch.softmax(input, _last_dim(dim, input.dim()), dtype=dtype)
def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[dtype] = None) -> Tensor:
    return torch.log_softmax(input, _last_dim(dim, input.dim()), dtype=dtype)
def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()
def tanh(input: Tensor) -> Tensor:
    return input.tanh()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    return torch.glu(input, dim)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    return input / input.norm(p, [dim], True).clamp_min(eps).expand_as(input)
def _check_rate(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError("dropout: probability has to be between 0 and 1, got {}".format(p))
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.feature_alpha_dropout_(input, p, training) if inplace else torch.feature_alpha_dropout(input, p, training)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    batched = input.dim() == 3
    x = input if batched else input.unsqueeze(0)
    y = torch.feature_dropout_(x, p, training) if inplace else torch.feature_dropout(x, p, training)
    return y if batched else y.squeeze(0)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None,
                  bias: Optional[Tensor] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)
def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.group_norm(input, num_groups, weight, bias, eps)
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    index = -1
    if padding_idx is not None:
        index = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
    if max_norm is not None:
        torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return torch.embedding(weight, input, index, scale_grad_by_freq, sparse)
def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return torch.adaptive_avg_pool2d(input, output_size)
def _reduction(reduction: str, size_average: Optional[bool] = None, reduce: Optional[bool] = None) -> int:
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return 0
        return 2 if size_average is not None and not size_average else 1
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError("reduction: expected 'none', 'mean' or 'sum', got " + reduction)
def _reduced(losses: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return losses.mean()
    return losses.sum() if reduction == 2 else losses
def _weighted(losses: Tensor, weight: Tensor, reduction: int) -> Tensor:
    total = losses * weight
    if reduction == 1:
        return total.sum() / weight.expand_as(total).sum()
    return total.sum() if reduction == 2 else total
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100,
                  reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    return torch.cross_entropy_loss(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index, label_smoothing)
def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100,
             reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.nll_loss_nd(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)
def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
             weight: Optional[Tensor] = None) -> Tensor:
    code = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(torch.mse_loss(input, target, 0), weight, code)
    return torch.mse_loss(input, target, code)
def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
            weight: Optional[Tensor] = None) -> Tensor:
    code = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(torch.l1_loss(input, target, 0), weight, code)
    return torch.l1_loss(input, target, code)
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Optional[Tensor] = None) -> Tensor:
    code = _reduction(reduction)
    if weight is not None:
        return _reduced(torch.huber_loss(input, target, 0, delta) * weight, code)
    return torch.huber_loss(input, target, code, delta)
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
                   beta: float = 1.0) -> Tensor:
    return torch.smooth_l1_loss(input, target, _reduction(reduction, size_average, reduce), beta)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                         reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.binary_cross_entropy(input, target, weight, _reduction(reduction, size_average, reduce))
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                                     reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(reduction, size_average, reduce))
def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    if reduction == "batchmean":
        return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return torch.kl_div(input, target, _reduction(reduction, size_average, reduce), log_target=log_target)
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.cosine_embedding_loss(input1, input2, target, margin, _reduction(reduction, size_average, reduce))
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.margin_ranking_loss(input1, input2, target, margin, _reduction(reduction, size_average, reduce))
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0,
                         size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.hinge_embedding_loss(input, target, margin, _reduction(reduction, size_average, reduce))
def multilabel_margin_loss(input: Tensor, target: Tensor,
                           size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.multilabel_margin_loss(input, target, _reduction(reduction, size_average, reduce))
def soft_margin_loss(input: Tensor, target: Tensor,
                     size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.soft_margin_loss(input, target, _reduction(reduction, size_average, reduce))
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None,
                      size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.multi_margin_loss(input, target, p, margin, weight, _reduction(reduction, size_average, reduce))
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False,
                        size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, _reduction(reduction, size_average, reduce))
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    losses = -(target * torch.log_sigmoid(input) + (1 - target) * torch.log_sigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return _reduced(losses.mean([-1]), _reduction(reduction, size_average, reduce))
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None,
                     eps: float = 1e-08, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _reduction(reduction, size_average, reduce))
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> Tensor:
    v = var
    if v.size() != input.size() and v.dim() + 1 == input.dim():
        v = v.unsqueeze(-1)
    if bool((v < 0).any()):
        raise ValueError("gaussian_nll_loss: expected a variance that is nowhere negative")
    v = v.clone()
    with torch.no_grad():
        v.clamp_(min=eps)
    losses = 0.5 * (v.log() + (input - target).square() / v)
    if full:
        losses = losses + 0.9189385332046727
    return _reduced(losses, _reduction(reduction))
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> Tensor:
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)
def logsigmoid(input: Tensor) -> Tensor:
    return torch.log_sigmoid(input)
def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    soft = torch.softmax((logits - torch.empty_like(logits).exponential_().log()) / tau, dim)
    if not hard:
        return soft
    one = torch.zeros_like(logits).scatter_(dim, soft.argmax(dim, True), 1.0)
    return one - soft.detach() + soft
def fold(input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
         padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:
    return torch.col2im(input, output_size, kernel_size, dilation, padding, stride)
def unfold(input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0,
           stride: BroadcastingList2[int] = 1) -> Tensor:
    return torch.im2col(input, kernel_size, dilation, padding, stride)
def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    return torch.affine_grid_generator(theta, size, False if align_corners is None else align_corners)
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    if mode != "bilinear" and mode != "nearest" and mode != "bicubic":
        raise ValueError("grid_sample: expected a mode of 'bilinear', 'nearest' and 'bicubic', got " + mode)
    if padding_mode != "zeros" and padding_mode != "border" and padding_mode != "reflection":
        raise ValueError("grid_sample: expected a padding_mode of 'zeros', 'border' and 'reflection', got " + padding_mode)
    by = 0 if mode == "bilinear" else 1 if mode == "nearest" else 2
    beyond = 0 if padding_mode == "zeros" else 1 if padding_mode == "border" else 2
    return torch.grid_sampler(input, grid, by, beyond, False if align_corners is None else align_corners)
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.dim() < 3:
        raise ValueError("local_response_norm: expected 3 dimensions or more, got {}".format(input.dim()))
    if input.numel() == 0:
        return input
    squares = input.square().reshape([input.size(0), 1, input.size(1), -1])
    means = torch.avg_pool2d(torch.pad(squares, [0, 0, size // 2, (size - 1) // 2]), [size, 1], [1, 1]).reshape(input.size())
    return input / (means * alpha + k).pow(beta)
def embedding_bag(input: Tensor, weight: Tensor, offsets: Optional[Tensor] = None, max_norm: Optional[float] = None, norm_type: float = 2.0,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Optional[Tensor] = None,
                  include_last_offset: bool = False, padding_idx: Optional[int] = None) -> Tensor:
    code = 0
    if mode == "mean":
        code = 1
    elif mode == "max":
        code = 2
    elif mode != "sum":
        raise ValueError("embedding_bag: expected a mode of 'sum', 'mean' or 'max', got " + mode)
    index, begin, factors = input, offsets, per_sample_weights
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: expected no offsets for bags of one length, which are the rows of a 2-D input")
        begin = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        index = input.reshape([-1])
        if per_sample_weights is not None:
            factors = per_sample_weights.reshape([-1])
    if begin is None:
        raise ValueError("embedding_bag: expected offsets, where the bags begin, for a 1-D input")
    if max_norm is not None:
        torch.embedding_renorm_(weight.detach(), index, max_norm, norm_type)
    return torch.embedding_bag(weight, index, begin, scale_grad_by_freq, code, sparse, factors, include_last_offset, padding_idx)[0]
def _resized(input: Tensor, factors: List[float]) -> List[int]:
    size: List[int] = []
    for d in range(len(factors)):
        size.append(int(math.floor(float(input.size(d + 2)) * factors[d])))
    return size
def _interpolate(input: Tensor, wanted: Optional[List[int]], factors: Optional[List[float]], mode: str, align_corners: Optional[bool],
                 recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    n = input.dim() - 2
    if n < 1 or n > 3:
        raise NotImplementedError("interpolate: expected an input of 3, 4 or 5 dimensions, got {}".format(input.dim()))
    plain = mode == "nearest" or mode == "area" or mode == "nearest-exact"
    if plain and align_corners is not None:
        raise ValueError("interpolate: align_corners is for the modes linear, bilinear, bicubic and trilinear, got " + mode)
    corners = False if align_corners is None else align_corners
    if wanted is not None and len(wanted) != n:
        raise ValueError("interpolate: expected a size of {} numbers, got {}".format(n, wanted))
    if factors is not None and len(factors) != n:
        raise ValueError("interpolate: expected a scale_factor of {} numbers, got {}".format(n, factors))
    if (wanted is None) == (factors is None):
        raise ValueError("interpolate: expected either size or scale_factor")
    if recompute_scale_factor is not None and recompute_scale_factor:
        if factors is None:
            raise ValueError("interpolate: recompute_scale_factor goes with scale_factor, got a size")
        wanted, factors = _resized(input, factors), None
    if antialias and (n != 2 or (mode != "bilinear" and mode != "bicubic" and mode != "lanczos")):
        raise ValueError("interpolate: antialias is for the modes bilinear, bicubic and lanczos of images")
    if mode == "nearest":
        if n == 1:
            return torch.upsample_nearest1d(input, wanted, factors)
        if n == 2:
            return torch.upsample_nearest2d(input, wanted, factors)
        return torch.upsample_nearest3d(input, wanted, factors)
    if mode == "nearest-exact":
        if n == 1:
            return torch._upsample_nearest_exact1d(input, wanted, factors)
        if n == 2:
            return torch._upsample_nearest_exact2d(input, wanted, factors)
        return torch._upsample_nearest_exact3d(input, wanted, factors)
    if mode == "area":
        if wanted is None:
            assert factors is not None
            wanted = _resized(input, factors)
        if n == 1:
            return torch.adaptive_avg_pool1d(input, wanted)
        return torch.adaptive_avg_pool2d(input, wanted) if n == 2 else torch.adaptive_avg_pool3d(input, wanted)
    if mode == "linear" and n == 1:
        return torch.upsample_linear1d(input, wanted, corners, factors)
    if mode == "bilinear" and n == 2:
        if antialias:
            return torch._upsample_bilinear2d_aa(input, wanted, corners, factors)
        return torch.upsample_bilinear2d(input, wanted, corners, factors)
    if mode == "bicubic" and n == 2:
        if antialias:
            return torch._upsample_bicubic2d_aa(input, wanted, corners, factors)
        return torch.upsample_bicubic2d(input, wanted, corners, factors)
    if mode == "lanczos" and n == 2:
        if corners or not antialias:
            raise ValueError("interpolate: mode lanczos takes antialias=True and align_corners=False")
        return torch._upsample_lanczos2d_aa(input, wanted, corners, factors)
    if mode == "trilinear" and n == 3:
        return torch.upsample_trilinear3d(input, wanted, corners, factors)
    raise NotImplementedError("interpolate: mode {} does not go with an input of {} dimensions".format(mode, input.dim()))
"""

# Arguments that say what a function returns: a text for each choice of theirs, whose name has those that are set.
FLAGS = {"unique": ("return_inverse", "return_counts"), "unique_consecutive": ("return_inverse", "return_counts"), "lu": ("get_infos",)}

_CHOSEN = """
def _unique_of(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: Optional[int]) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is None:
        return torch._unique2(input, sorted, return_inverse, return_counts)
    return torch.unique_dim(input, dim, sorted, return_inverse, return_counts)
"""
_RETURNED = (
    ("", "Tensor", "found[0]"),
    ("_with_inverse", "Tuple[Tensor, Tensor]", "found[0], found[1]"),
    ("_with_counts", "Tuple[Tensor, Tensor]", "found[0], found[2]"),
    ("_with_inverse_with_counts", "Tuple[Tensor, Tensor, Tensor]", "found"),
)
_UNIQUE = """
def unique{suffix}(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> {type}:
    found = _unique_of(input, sorted, return_inverse, return_counts, dim)
    return {result}
def unique_consecutive{suffix}(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> {type}:
    found = torch.unique_consecutive(input, return_inverse, return_counts, dim)
    return {result}
"""
_LU = """
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Tuple[Tensor, Tensor]:
    found = torch._lu_with_info(A, pivot, False)
    return found[0], found[1]
def lu_with_get_infos(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Tuple[Tensor, Tensor, Tensor]:
    return torch._lu_with_info(A, pivot, False)
"""
_SEQUENCES = """
def _permuted(state: Tensor, order: Optional[Tensor]) -> Tensor:
    return state if order is None else state.index_select(1, order)
def invert_permutation(permutation: Optional[Tensor]) -> Optional[Tensor]:
    if permutation is None:
        return None
    return torch.empty_like(permutation).scatter_(0, permutation, torch.arange(permutation.numel(), device=permutation.device))
def pad_sequence(sequences: Union[Tensor, List[Tensor]], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    if isinstance(sequences, Tensor):
        sequences = torch.unbind(sequences)
    return torch.pad_sequence(sequences, batch_first, padding_value, padding_side)
def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> List[Tensor]:
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[i, :int(lengths[i])] for i in range(rows.size(0))]
def pack_padded_sequence(input: Tensor, lengths: Union[Tensor, List[int]], batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    if isinstance(lengths, Tensor):
        steps = lengths.to(torch.int64)
    else:
        steps = torch.as_tensor(lengths, dtype=torch.int64, device=torch.device("cpu"))
    order: Optional[Tensor] = None
    if not enforce_sorted:
        steps, places = torch.sort(steps, -1, True)
        order = places.to(input.device)
        input = input.index_select(0 if batch_first else 1, places.to(input.device))
    data, sizes = torch._pack_padded_sequence(input, steps, batch_first)
    return PackedSequence(data, sizes, order, invert_permutation(order))
def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < length:
            raise ValueError("pad_packed_sequence: expected total_length of at least the longest sequence, got {} and {}".format(total_length, length))
        length = total_length
    padded, lengths = torch._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, length)
    back = sequence.unsorted_indices
    if back is not None:
        return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]
    return padded, lengths
def pack_sequence(sequences: List[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    lengths = torch.tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)
def unpack_sequence(packed_sequences: PackedSequence) -> List[Tensor]:
    padded, lengths = pad_packed_sequence(packed_sequences, True)
    return unpad_sequence(padded, lengths, True)
"""
_INITIALS = """
def constant_(tensor: Tensor, val: float) -> Tensor:
    return torch._no_grad_fill_(tensor, val)
def zeros_(tensor: Tensor) -> Tensor:
    return torch._no_grad_zero_(tensor)
def ones_(tensor: Tensor) -> Tensor:
    return torch._no_grad_fill_(tensor, 1.0)
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    return torch._no_grad_uniform_(tensor, a, b, generator)
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    return torch._no_grad_normal_(tensor, mean, std, generator)
def _fan_sum(tensor: Tensor) -> int:
    if tensor.dim() < 2:
        raise ValueError("fan in and fan out need a tensor of at least 2 dimensions, got {}".format(tensor.dim()))
    field = 1
    for size in tensor.size()[2:]:
        field *= size
    return (tensor.size(0) + tensor.size(1)) * field
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(_fan_sum(tensor)))
    return uniform_(tensor, -bound, bound, generator)
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Optional[Generator] = None) -> Tensor:
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(_fan_sum(tensor))), generator)
"""
_POOLS = """
def max_pool{n}d(input: Tensor, kernel_size: BroadcastingList{n}[int], stride: Optional[BroadcastingList{n}[int]] = None,
               padding: BroadcastingList{n}[int] = 0, dilation: BroadcastingList{n}[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Tensor:
    return torch.max_pool{n}d(input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode)
def max_pool{n}d_with_indices(input: Tensor, kernel_size: BroadcastingList{n}[int], stride: Optional[BroadcastingList{n}[int]] = None,
                            padding: BroadcastingList{n}[int] = 0, dilation: BroadcastingList{n}[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch.max_pool{n}d_with_indices(input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode)
def adaptive_max_pool{n}d(input: Tensor, output_size: BroadcastingList{n}[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool{n}d(input, output_size)[0]
def adaptive_max_pool{n}d_with_indices(input: Tensor, output_size: BroadcastingList{n}[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool{n}d(input, output_size)
def lp_pool{n}d(input: Tensor, norm_type: number, kernel_size: BroadcastingList{n}[int], stride: Optional[BroadcastingList{n}[int]] = None,
              ceil_mode: bool = False) -> Tensor:
    means = torch.avg_pool{n}d(input.pow(norm_type), kernel_size, kernel_size if stride is None else stride, [0] * {n}, ceil_mode)
    window = 1
    for k in kernel_size:
        window *= k
    return (means.sign() * torch.relu(means.abs())).mul(window).pow(1.0 / norm_type)
def max_unpool{n}d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList{n}[int], stride: Optional[BroadcastingList{n}[int]] = None,
                 padding: BroadcastingList{n}[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:
    step = kernel_size if stride is None or len(stride) == 0 else stride
    size: List[int] = []
    for d in range({n}):
        usual = (input.size(d - {n}) - 1) * step[d] - 2 * padding[d] + kernel_size[d]
        if output_size is not None:
            wanted = output_size[len(output_size) - {n} + d]
            if wanted <= usual - step[d] or wanted >= usual + step[d]:
                raise ValueError("max_unpool{n}d: output_size {{}}: dimension {{}} has to be near {{}}".format(output_size, d, usual))
            usual = wanted
        size.append(usual)
    return {unpool}
"""
_FRACTIONAL = """
def _fractional_size{n}(input: Tensor, output_size: Optional[BroadcastingList{n}[int]], output_ratio: Optional[BroadcastingList{n}[float]]) -> List[int]:
    if output_size is not None:
        return output_size
    if output_ratio is None:
        raise ValueError("fractional_max_pool{n}d: expected output_size or output_ratio")
    size: List[int] = []
    for d in range({n}):
        size.append(int(float(input.size(d - {n})) * output_ratio[d]))
    return size
def fractional_max_pool{n}d_with_indices(input: Tensor, kernel_size: BroadcastingList{n}[int], output_size: Optional[BroadcastingList{n}[int]] = None,
                                       output_ratio: Optional[BroadcastingList{n}[float]] = None, return_indices: bool = False,
                                       _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    samples = _random_samples
    if samples is None:
        batch = input.size(0) if input.dim() == {n} + 2 else 1
        samples = torch.rand([batch, input.size(-{n} - 1), {n}], dtype=input.dtype, device=input.device)
    return torch.fractional_max_pool{n}d(input, kernel_size, _fractional_size{n}(input, output_size, output_ratio), samples)
def fractional_max_pool{n}d(input: Tensor, kernel_size: BroadcastingList{n}[int], output_size: Optional[BroadcastingList{n}[int]] = None,
                          output_ratio: Optional[BroadcastingList{n}[float]] = None, return_indices: bool = False,
                          _random_samples: Optional[Tensor] = None) -> Tensor:
    return fractional_max_pool{n}d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)[0]
"""
_UNPOOL = {
    1: "torch.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [size[0], 1]).squeeze(-1)",
    2: "torch.max_unpool2d(input, indices, size)",
    3: "torch.max_unpool3d(input, indices, size, step, padding)",
}

_REPEATED = """
def {name}{suffix}(x: {given}) -> List[{element}]:
    return {result}
"""


def _repeated():
    """The texts of `_pair` and its kin, for numbers and lists of both types."""
    rows = [("int", "int", "[x] * {n}"), ("float", "float", "[x] * {n}"), ("List[int]", "int", "x"), ("List[float]", "float", "x")]
    return "".join(
        _REPEATED.format(name=name, suffix=f"__{i}" if i else "", given=given, element=element, result=result.format(n=n))
        for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)
        for i, (given, element, result) in enumerate(rows)
    ).replace("\n\n", "\n")


_ATTENTION = """
def _added_mask(mask: Tensor, dtype: dtype) -> Tensor:
    return torch.zeros_like(mask, dtype=dtype).masked_fill(mask, float("-inf")) if mask.dtype == torch.bool else mask
def _heads(x: Tensor, bias: Optional[Tensor], add_zero_attn: bool, num_heads: int) -> Tensor:
    n, e = x.size(1), x.size(2)
    if bias is not None:
        x = torch.cat([x, bias.expand([1, n, e])])
    if add_zero_attn:
        x = torch.cat([x, torch.zeros([1, n, e], dtype=x.dtype, device=x.device)])
    return x.reshape([x.size(0), n, num_heads, e // num_heads]).permute([1, 2, 0, 3])
def _static_heads(x: Tensor, add_zero_attn: bool, num_heads: int) -> Tensor:
    if add_zero_attn:
        x = torch.cat([x, torch.zeros([x.size(0), 1, x.size(2)], dtype=x.dtype, device=x.device)], 1)
    return x.reshape([x.size(0) // num_heads, num_heads, x.size(1), x.size(2)])
def _attended(q: Tensor, keys: Tensor, values: Tensor, mask: Optional[Tensor], rate: float, need_weights: bool, average: bool,
              is_causal: bool) -> Tuple[Tensor, Optional[Tensor]]:
    if not need_weights:
        return torch.scaled_dot_product_attention(q, keys, values, mask, rate, is_causal), None
    scores = torch.matmul(q * (q.size(-1) ** -0.5), keys.transpose(-2, -1))
    if mask is not None:
        scores = scores + mask
    w = torch.softmax(scores, -1)
    if rate > 0.0:
        w = torch.dropout(w, rate, True)
    return torch.matmul(w, values), w.mean([1]) if average else w
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Optional[Tensor],
                                 in_proj_bias: Optional[Tensor], bias_k: Optional[Tensor], bias_v: Optional[Tensor], add_zero_attn: bool, dropout_p: float,
                                 out_proj_weight: Tensor, out_proj_bias: Optional[Tensor], training: bool = True, key_padding_mask: Optional[Tensor] = None,
                                 need_weights: bool = True, attn_mask: Optional[Tensor] = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Optional[Tensor] = None, k_proj_weight: Optional[Tensor] = None, v_proj_weight: Optional[Tensor] = None,
                                 static_k: Optional[Tensor] = None, static_v: Optional[Tensor] = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    if query.dim() != 2 and query.dim() != 3:
        raise AssertionError("query: expected 2 dimensions, or 3 with a batch")
    e = query.size(-1)
    if e != embed_dim_to_check or e % num_heads != 0:
        raise AssertionError("multi_head_attention_forward: expected queries of the size embed_dim_to_check, which num_heads divides")
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward: is_causal says what attn_mask is, and needs attn_mask")
    batched = query.dim() == 3
    q, k, v = query, key, value
    padding = key_padding_mask
    if not batched:
        q, k, v = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
        if padding is not None:
            padding = padding.unsqueeze(0)
    t, n = q.size(0), q.size(1)
    b_q: Optional[Tensor] = None
    b_k: Optional[Tensor] = None
    b_v: Optional[Tensor] = None
    if in_proj_bias is not None:
        b_q, b_k, b_v = in_proj_bias[:e], in_proj_bias[e:2 * e], in_proj_bias[2 * e:]
    if use_separate_proj_weight:
        w_q, w_k, w_v = torch._unwrap_optional(q_proj_weight), torch._unwrap_optional(k_proj_weight), torch._unwrap_optional(v_proj_weight)
    else:
        w = torch._unwrap_optional(in_proj_weight)
        w_q, w_k, w_v = w[:e], w[e:2 * e], w[2 * e:]
    q = _heads(torch.linear(q, w_q, b_q), None, False, num_heads)
    keys = _heads(torch.linear(k, w_k, b_k), bias_k, add_zero_attn, num_heads) if static_k is None else _static_heads(static_k, add_zero_attn, num_heads)
    values = _heads(torch.linear(v, w_v, b_v), bias_v, add_zero_attn, num_heads) if static_v is None else _static_heads(static_v, add_zero_attn, num_heads)
    s = keys.size(2)
    places = int(bias_k is not None) + int(add_zero_attn)
    mask: Optional[Tensor] = None
    if attn_mask is not None:
        m = torch.pad(_added_mask(attn_mask, q.dtype), [0, places])
        mask = m.reshape([n, num_heads, t, s]) if m.dim() == 3 else m
    if padding is not None:
        m = torch.pad(_added_mask(padding, q.dtype), [0, places]).reshape([n, 1, 1, s])
        mask = m if mask is None else mask + m
    out, weights = _attended(q, keys, values, mask, dropout_p if training else 0.0, need_weights, average_attn_weights, False)
    if weights is not None and not batched:
        weights = weights.squeeze(0)
    out = torch.linear(out.permute([2, 0, 1, 3]).reshape([t, n, e]), out_proj_weight, out_proj_bias)
    return out if batched else out.squeeze(1), weights
"""

# One for each pair of types that a size and a factor have: TorchScript of archives knows overloads, and unions only half.
_RESIZED = """
def interpolate{suffix}(input: Tensor, size: Optional[{size}] = None, scale_factor: Optional[{factor}] = None, mode: str = "nearest",
                align_corners: Optional[bool] = None, recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    wanted: Optional[List[int]] = None
    if size is not None:
        wanted = {wanted}
    factors: Optional[List[float]] = None
    if scale_factor is not None:
        factors = {factors}
    return _interpolate(input, wanted, factors, mode, align_corners, recompute_scale_factor, antialias)
def upsample{suffix}(input: Tensor, size: Optional[{size}] = None, scale_factor: Optional[{factor}] = None, mode: str = "nearest",
             align_corners: Optional[bool] = None) -> Tensor:
    return interpolate{suffix}(input, size, scale_factor, mode, align_corners)
def upsample_nearest{suffix}(input: Tensor, size: Optional[{size}] = None, scale_factor: Optional[{factor}] = None) -> Tensor:
    return interpolate{suffix}(input, size, scale_factor)
def upsample_bilinear{suffix}(input: Tensor, size: Optional[{size}] = None, scale_factor: Optional[{factor}] = None) -> Tensor:
    return interpolate{suffix}(input, size, scale_factor, "bilinear", True)
"""
_SIZES = {"int": "[size] * (input.dim() - 2)", "List[int]": "size"}
_FACTORS = {"float": "[scale_factor] * (input.dim() - 2)", "List[float]": "scale_factor", "int": "[float(scale_factor)] * (input.dim() - 2)"}


def _resized():
    pairs = [(size, factor) for factor in _FACTORS for size in _SIZES]
    return "".join(
        _RESIZED.format(suffix=f"__{i}" if i else "", size=size, factor=factor, wanted=_SIZES[size], factors=_FACTORS[factor])
        for i, (size, factor) in enumerate(pairs)
    ).replace("\n\n", "\n")


FUNCTIONAL = (
    _COMMON
    + (_CHOSEN + "".join(_UNIQUE.format(suffix=suffix, type=type_, result=result) for suffix, type_, result in _RETURNED) + _LU).replace("\n\n", "\n")
    + (_SEQUENCES + _INITIALS + _ATTENTION).replace("\n\n", "\n")
    + _resized()
    + _repeated()
    + "".join(_POOLS.format(n=n, unpool=_UNPOOL[n]) for n in (1, 2, 3)).replace("\n\n", "\n")
    + "".join(_FRACTIONAL.format(n=n) for n in (2, 3)).replace("\n\n", "\n")
)
