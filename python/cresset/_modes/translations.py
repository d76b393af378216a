"""Where PyTorch's modes see something else than our rows: composites that they see whole, rows under another name or schema, rows whose parts they see."""

import _cresset

from .. import ops
from .._core import aten_extra, aten_names
from . import recurrent
from .contraction import einsum
from .stack import none_active, present

aten = ops.aten
_renamed, _opened = {}, {}


def _renames(*entries):
    def register(function):
        for entry in entries:
            _renamed[entry] = function
        return function

    return register


def renamed(entry):
    """The function of a row's arguments that calls the same step as PyTorch names it; None where PyTorch has the row itself."""
    return _renamed.get(entry)


def _opens(*entries):
    def register(function):
        for entry in entries:
            _opened[entry] = function
        return function

    return register


# ---- the same step under another name or schema ---------------------------------------------------------------------------


def _mode_of_division(mode):
    def division(self, other):
        return present(aten.div.Tensor_mode, self, other, rounding_mode=mode)

    return division


for _mode in ("floor", "trunc"):
    for _kind in ("Tensor", "Scalar"):
        _renamed[f"_div_{_mode}.{_kind}"] = _mode_of_division(_mode)


@_renames("_softmax")
def _softmax(self, dim):
    return present(aten._softmax.default, self, dim, False)


@_renames("_log_softmax")
def _log_softmax(self, dim):
    return present(aten._log_softmax.default, self, dim, False)


@_renames("matrix_exp")
def _matrix_exp(self):
    return present(aten.linalg_matrix_exp.default, self)


@_renames("log_sigmoid")
def _log_sigmoid(self):
    return present(aten.log_sigmoid_forward.default, self)[0]


@_renames("log_sigmoid_backward")
def _log_sigmoid_backward(grad_output, self):
    with none_active():
        buffer = self.new_empty(0)
    return present(aten.log_sigmoid_backward.default, grad_output, self, buffer)


def _norm_mask(node, weight):
    """Which of the gradients of a norm to input, weight and bias are wanted: as its node in the graph knows, else all that there may be."""
    return _cresset.wanted_gradients(node) or [True, weight is not None, True]


@_renames("native_layer_norm_backward")
def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight):
    mask = _norm_mask("NativeLayerNormBackward0", weight)
    return present(aten.native_layer_norm_backward.default, grad_out, input, normalized_shape, mean, rstd, weight, weight, mask)


@_renames("native_group_norm_backward")
def _group_norm_backward(grad_out, input, mean, rstd, weight, num_groups):
    mask = _norm_mask("NativeGroupNormBackward0", weight)
    sizes = (input.shape[0], input.shape[1], input.shape[2:].numel())
    return present(aten.native_group_norm_backward.default, grad_out, input, mean, rstd, weight, *sizes, num_groups, mask)


@_renames("native_batch_norm_backward")
def _batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_rstd, training, eps):
    mask = _norm_mask("NativeBatchNormBackward0", weight)
    saved = (running_mean, running_var, save_mean, save_rstd, training, eps)
    return present(aten.native_batch_norm_backward.default, grad_out, input, weight, *saved, mask)


def _whole_reduction(full, partial):
    def reduction(self, dim, keepdim=False, *, dtype=None):
        options = {} if dtype is None else {"dtype": dtype}
        if dim is None and not keepdim:
            return present(full, self, **options)
        return present(partial, self, dim, *([True] if keepdim else []), **options)

    return reduction


_renamed["sum.dim_IntList"] = _whole_reduction(aten.sum.default, aten.sum.dim_IntList)
_renamed["mean.dim"] = _whole_reduction(aten.mean.default, aten.mean.dim)


def _spread(function):
    def spread(self, dim=None, *, correction=None, keepdim=False):
        return present(function, self, dim, correction=1 if correction is None else correction, **({"keepdim": True} if keepdim else {}))

    return spread


for _name in ("var", "std", "var_mean", "std_mean"):
    _renamed[f"{_name}.correction"] = _spread(getattr(aten, _name).correction)


@_renames("sort.stable")
def _sort(self, *, stable, dim=-1, descending=False):
    if stable:
        return present(aten.sort.stable, self, stable=True, **({} if dim == -1 else {"dim": dim}), **({"descending": True} if descending else {}))
    return present(aten.sort.default, self, *([dim, True] if descending else [] if dim == -1 else [dim]))


def _added(mask, query):
    """A mask of which positions count, as numbers that are added."""
    import cresset as torch

    if mask.dtype != torch.bool:
        return mask
    low, zero = (aten.scalar_tensor.default(number, dtype=query.dtype, device=query.device) for number in (float("-inf"), 0.0))
    return aten.where.self(mask, zero, low)


def _is_usual_scale(scale, size):
    """Whether it is the one that follows from the size; a symbol has been computed with as the number that stands for it."""
    if not isinstance(size, int):
        from ..fx.experimental._shape_env import number

        size = number(size)
    return abs(scale * scale * size - 1) < 1e-9


@_renames("_attention")
def _attention(query, key, value, attn_mask, is_causal, scale):
    attn_mask = None if attn_mask is None else _added(attn_mask, query)
    options = {} if attn_mask is None else {"attn_mask": attn_mask}
    if not _is_usual_scale(scale, query.shape[-1]):
        options["scale"] = scale
    return present(aten._scaled_dot_product_flash_attention_for_cpu.default, query, key, value, 0.0, is_causal, **options)


@_renames("_attention_backward")
def _attention_backward(grad_out, query, key, value, attn_mask, out, logsumexp, is_causal, scale):
    options = {"attn_mask": attn_mask}
    if scale != query.shape[-1] ** -0.5:
        options["scale"] = scale
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    return present(backward, grad_out, query, key, value, out, logsumexp, 0.0, is_causal, **options)


def _spread(sizes, like):
    return list(sizes) * like if len(sizes) == 1 else list(sizes)


@_renames("_avg_pool")
def _avg_pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    rest = (ceil_mode, count_include_pad, divisor_override)
    n = len(kernel_size)
    stride, padding = stride or kernel_size, _spread(padding, n)
    if n == 1:
        out = present(aten.avg_pool2d.default, self.unsqueeze(-2), [1, *kernel_size], [1, *stride], [0, *padding], *rest)
        return out.squeeze(-2)
    return present((aten.avg_pool2d if n == 2 else aten.avg_pool3d).default, self, list(kernel_size), _spread(stride, n), padding, *rest)


@_renames("_avg_pool_backward")
def _avg_pool_backward(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, dims):
    rest = (ceil_mode, count_include_pad, divisor_override)
    stride, padding = stride or kernel_size, _spread(padding, dims)
    if dims == 1:
        row = aten.avg_pool2d_backward.default
        return present(row, grad_output.unsqueeze(-2), self.unsqueeze(-2), [1, *kernel_size], [1, *stride], [0, *padding], *rest).squeeze(-2)
    row = aten.avg_pool2d_backward if dims == 2 else aten.avg_pool3d_backward
    return present(row.default, grad_output, self, list(kernel_size), _spread(stride, dims), padding, *rest)


def _adaptive(two, three):
    def pool(self, output_size):
        n = len(output_size)
        if n == 1:
            out = present(two, self.unsqueeze(-2), [1, *output_size])
            return tuple(t.squeeze(-2) for t in out) if isinstance(out, (tuple, list)) else out.squeeze(-2)
        return present(two if n == 2 else three, self, list(output_size))

    return pool


_renamed["_adaptive_avg_pool"] = _adaptive(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
_renamed["_adaptive_max_pool"] = _adaptive(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)


@_renames("_adaptive_avg_pool_backward")
def _adaptive_avg_pool_backward(grad_output, self, dims):
    if dims == 1:
        return present(aten._adaptive_avg_pool2d_backward.default, grad_output.unsqueeze(-2), self.unsqueeze(-2)).squeeze(-2)
    return present((aten._adaptive_avg_pool2d_backward if dims == 2 else aten._adaptive_avg_pool3d_backward).default, grad_output, self)


def _of(name):
    return getattr(aten, name).default


@_renames("_pad_mode")
def _pad_mode(self, pad, mode):
    if mode < len(aten_extra.PAD_KINDS):
        return present(_of(f"{aten_extra.PAD_KINDS[mode]}_pad{len(pad) // 2}d"), self, pad)
    for axis in range(len(pad) // 2):  # circular: each dimension, what is cut off it aside, with its own ends beside it
        before, after = pad[2 * axis], pad[2 * axis + 1]
        dim = self.dim() - 1 - axis
        start, end = max(-before, 0), self.shape[dim] - max(-after, 0)
        middle = aten.slice.Tensor(self, dim, start, end) if (start, end) != (0, self.shape[dim]) else self
        parts = [aten.slice.Tensor(middle, dim, end - start - before, end - start)] if before > 0 else []
        parts += [middle, *([aten.slice.Tensor(middle, dim, 0, after)] if after > 0 else [])]
        self = aten.cat.default(parts, dim) if len(parts) > 1 else middle
    return self.clone() if all(p <= 0 for p in pad) else self


@_renames("_pad_mode_backward")
def _pad_mode_backward(grad_output, sizes, pad, mode):
    with none_active():
        like = grad_output.new_empty(sizes)
    if mode < len(aten_extra.PAD_KINDS):
        return present(_of(f"{aten_extra.PAD_KINDS[mode]}_pad{len(pad) // 2}d_backward"), grad_output, like, pad)
    for axis in reversed(range(len(pad) // 2)):  # circular: what stands beside the middle belongs to its ends
        before, after = pad[2 * axis], pad[2 * axis + 1]
        dim, low, high = len(sizes) - 1 - axis, max(before, 0), max(after, 0)
        count = grad_output.shape[dim] - low - high
        shape = [*grad_output.shape[:dim], count, *grad_output.shape[dim + 1 :]]
        middle = aten.slice.Tensor(grad_output, dim, low, low + count) if low or high else grad_output
        if low:
            middle = aten.add.Tensor(middle, aten.slice_backward.default(aten.slice.Tensor(grad_output, dim, 0, low), shape, dim, count - low, count, 1))
        if high:
            end = aten.slice.Tensor(grad_output, dim, low + count, low + count + high)
            middle = aten.add.Tensor(middle, aten.slice_backward.default(end, shape, dim, 0, high, 1))
        start, end = max(-before, 0), sizes[dim] - max(-after, 0)
        if (start, end) != (0, sizes[dim]):
            shape[dim] = sizes[dim]
            middle = aten.slice_backward.default(middle, shape, dim, start, end, 1)
        grad_output = middle
    return grad_output.clone() if all(p == 0 for p in pad) else grad_output


def _resize_arguments(mode, n, align_corners, scales):
    return (*([align_corners] if mode >= 2 else []), *(scales if scales is not None else [None] * n))


def _resize_name(mode, n, antialias):
    return ("_" if antialias else "") + aten_extra.RESIZE_NAMES[mode, n] + ("_aa" if antialias else "")


def _without_trailing_none(values):
    values = list(values)
    while values and values[-1] is None:
        values.pop()
    return values


@_renames("_resize_images")
def _resize_images(self, output_size, mode, align_corners, antialias, scales):
    n = len(output_size)
    rest = _without_trailing_none(_resize_arguments(mode, n, align_corners, scales))
    return present(_of(_resize_name(mode, n, antialias)), self, output_size, *rest)


@_renames("_resize_images_backward")
def _resize_images_backward(grad_output, input_size, mode, align_corners, antialias, scales):
    n = len(input_size) - 2
    rest = _without_trailing_none(_resize_arguments(mode, n, align_corners, scales))
    return present(_of(_resize_name(mode, n, antialias) + "_backward"), grad_output, list(grad_output.shape[2:]), input_size, *rest)


@_renames("_im2col")
def _im2col(self, kernel_size, dilation, padding, stride):
    return present(aten.im2col.default, self, kernel_size, dilation, padding, stride)


@_renames("_col2im")
def _col2im(self, output_size, kernel_size, dilation, padding, stride):
    return present(aten.col2im.default, self, output_size, kernel_size, dilation, padding, stride)


@_renames("cdist")
def _cdist(x1, x2, p=2.0, compute_mode=None):
    return present(aten._cdist_forward.default, x1, x2, p, compute_mode)


@_renames("_masked_select")
def _masked_select(self, mask):
    return present(aten.masked_select.default, self, mask)


@_renames("_linalg_qr")
def _linalg_qr(A, mode="reduced"):
    if mode == "raw":
        return present(aten.geqrf.default, A)
    return present(aten.linalg_qr.default, A, *([] if mode == "reduced" else [mode]))


@_renames("_cumulative_extreme")
def _cumulative_extreme(self, dim, largest):
    return present((aten.cummax if largest else aten.cummin).default, self, dim)


@_renames("_median")
def _median(self, dim, keepdim, ignore_nan):
    return present((aten.nanmedian if ignore_nan else aten.median).dim, self, dim, *([True] if keepdim else []))


@_renames("_bernoulli")
def _bernoulli(self, p, *, generator=None):
    options = {} if generator is None else {"generator": generator}
    return present(aten.bernoulli.default, self, **options) if p is None else present(aten.bernoulli.p, self, p, **options)


@_renames("_random_")
def _random_(self, start, to, *, generator=None):
    options = {} if generator is None else {"generator": generator}
    if start is None:
        return present(aten.random_.default, self, **options) if to is None else present(aten.random_.to, self, to, **options)
    return present(getattr(aten.random_, "from"), self, start, to, **options)


@_renames("_normal")
def _normal(mean, std, mean_number, std_number, *, generator=None):
    options = {} if generator is None else {"generator": generator}
    if mean is not None and std is not None:
        return present(aten.normal.Tensor_Tensor, mean, std, **options)
    return present(aten.normal.Tensor_float, mean, std_number, **options) if std is None else present(aten.normal.float_Tensor, mean_number, std, **options)


# ---- other parts, with other gradients --------------------------------------------------------------------------------------


def _settle(size):
    """A body went another way than in the example: the size becomes its number, and the trace begins again."""
    from ..fx.experimental._shape_env import RestartTrace
    from ..fx.experimental.proxy_tensor import get_innermost_proxy_mode

    if get_innermost_proxy_mode() is not None:
        raise RestartTrace(f"symbolic shapes: narrow needs the size {int(size)}; run it again")


@_opens("narrow")
def _narrow(self, dim, start, length):
    size = self.shape[dim]
    if not isinstance(start, int) and not start.node.has_hint():  # it may be negative where the graph runs, which a slice would read otherwise
        return present(aten.narrow.default, self, dim, start, length)
    if not -size <= start <= size or length < 0 or (start + size if start < 0 else start) + length > size:
        if not isinstance(size, int) and size.node.shape_env.replace(size.node.expr).constant is None:
            _settle(size)
        with none_active():
            return self.narrow(dim, start, length)  # which says what is wrong
    start = start + size if start < 0 else start
    return aten.slice.Tensor(self, dim, start, start + length)


@_opens("where.ScalarOther")
def _where_other(condition, self, other):
    return aten.where.self(condition, self, aten.scalar_tensor.default(other, dtype=_dtype_beside(self, other)))


@_opens("where.ScalarSelf")
def _where_self(condition, self, other):
    return aten.where.self(condition, aten.scalar_tensor.default(self, dtype=_dtype_beside(other, self)), other)


def _dtype_beside(tensor, number):
    import cresset as torch

    return torch.result_type(tensor, number)


_opened["einsum"] = einsum
_opened["lstm.input"], _opened["gru.input"] = recurrent.lstm, recurrent.gru
_opened.update({name: None for name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")})  # their own bodies


@_opens("grid_sampler")
def _grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    op = aten.grid_sampler_3d if input.dim() == 5 else aten.grid_sampler_2d
    return op.default(input, grid, interpolation_mode, padding_mode, align_corners)


# Steps that have no rows: what modes see of them, with the gradient that PyTorch takes.


def _stepwise(function, formula, kept=(), constant=()):
    return _whole(lambda *args: present(function, *args), formula, kept, constant)


@_opens("prelu")
def _prelu(self, weight):
    with none_active():
        _cresset.make_op("prelu", ["prelu"])(self.detach(), weight.detach())  # which says what is wrong
    if weight.numel() != 1 or self.dim() != weight.dim():
        shape = [1] * self.dim()
        if self.dim() >= 2:
            shape[1] = weight.numel()
        weight = weight.reshape(shape)
    return _prelu_step(self, weight)


def _slope(needs, args, outputs, gradients):
    found = _step(aten._prelu_kernel_backward.default, gradients[0], *args)
    return [g if need else None for need, g in zip(needs, found)]


@_opens("ctc_loss.Tensor")
def _ctc(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    if log_probs.dim() != 3 or log_probs.device.type != "cpu":
        return _cresset.body("ctc_loss.Tensor")(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
    rest = [*([blank] if blank or zero_infinity else []), *([True] if zero_infinity else [])]
    loss = _ctc_step(log_probs, targets, input_lengths, target_lengths, *rest)[0]
    if reduction == 1:
        return aten.mean.default(aten.div.Tensor(loss, aten.clamp_min.default(target_lengths, 1)))
    return loss.sum() if reduction == 2 else loss


def _ctc_slope(needs, args, outputs, gradients):
    log_probs, targets, input_lengths, target_lengths, *rest = args
    blank, zero_infinity = rest[0] if rest else 0, len(rest) > 1 and rest[1]
    options = [True] if zero_infinity else []
    step = aten._ctc_loss_backward.Tensor
    found = _step(step, gradients[0], log_probs, targets, input_lengths, target_lengths, outputs[0], outputs[1], blank, *options)
    return [found, *[None] * (len(args) - 1)]


def _split_apart(needs, args, outputs, gradients):
    import cresset as torch

    self, size, *rest = args
    dim = rest[0] if rest else 0
    like = next(g for g in gradients if g is not None)
    whole, shapes = self.shape[dim], []
    for start in range(0, whole, size):
        shape = list(self.shape)
        shape[dim] = min(size, whole - start)
        shapes.append(shape)
    return [torch.cat([like.new_zeros(shape) if g is None else g for g, shape in zip(gradients, shapes)], dim)]


@_opens("cross_entropy_loss")
def cross_entropy_loss(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    from ..nn import functional as F

    dim = 0 if self.dim() == 1 else 1
    log_probabilities = F.log_softmax(self, dim)
    if target.is_floating_point():
        return _against_probabilities(log_probabilities, target, weight, reduction, label_smoothing, dim)
    how = ("none", "mean", "sum")[reduction]
    loss = F.nll_loss(log_probabilities, target, weight, ignore_index=ignore_index, reduction=how)
    if label_smoothing == 0:
        return loss
    smooth = -(log_probabilities if weight is None else log_probabilities * _along(weight, self, dim)).sum(dim)
    ignored = target == ignore_index
    smooth = smooth.masked_fill_(ignored, 0.0)
    if reduction == 1:
        counted = (~ignored).sum() if weight is None else weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
        smooth = smooth.sum() / counted
    elif reduction == 2:
        smooth = smooth.sum()
    smooth = aten.mul.Scalar(smooth, label_smoothing / self.shape[dim])
    return aten.add.Tensor(aten.mul.Scalar(loss, 1 - label_smoothing), smooth)


def _along(weight, like, dim):
    return weight.view([-1 if d == dim else 1 for d in range(like.dim())])


def _against_probabilities(log_probabilities, target, weight, reduction, label_smoothing, dim):
    classes = log_probabilities.shape[dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    product = log_probabilities * target
    if weight is not None:
        product = product * _along(weight, product, dim)
    if reduction == 0:
        return -product.sum(dim)
    return -product.sum() / (product.numel() / classes) if reduction == 1 else -product.sum()


@_opens("linalg_det")
def _determinant(A):
    return _determinant_step(A)[0]


def _determinant_slope(needs, args, outputs, gradients):
    """By the adjugate as a solution; zeros on the diagonal of the factor are replaced by numbers that are small."""
    import cresset as torch

    det, lu, pivots = outputs
    scale = aten.diag_embed.default((gradients[0] * det.conj()).unsqueeze(-1).expand(lu.shape[:-1])).transpose(-2, -1)
    is_zero = lu.diagonal(0, -2, -1) == 0
    small, zero = (aten.scalar_tensor.default(number, dtype=lu.dtype, device=lu.device) for number in (torch.finfo(lu.dtype).eps, 0.0))
    lu = lu + aten.diag_embed.default(aten.where.self(is_zero, small, zero))
    return [aten.linalg_lu_solve.default(lu, pivots, scale, adjoint=True)]


@_opens("linalg_solve_ex")
def _solve(A, B, *, left=True, check_errors=False):
    result, _, _, info = _solve_step(A, B, left, check_errors)
    return result, info


def _solve_named(A, B, left, check_errors):
    options = {**({} if left else {"left": False}), **({"check_errors": True} if check_errors else {})}
    return present(aten._linalg_solve_ex.default, A, B, **options)


def _solve_slope(needs, args, outputs, gradients):
    A, B, left, _ = args
    x, lu, pivots, _ = outputs
    is_vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    grad = gradients[0].unsqueeze(-1) if is_vector else gradients[0]
    options = {"adjoint": True} if left else {"left": False, "adjoint": True}
    of_b = aten.linalg_lu_solve.default(lu, pivots, grad, **options)
    of_a = None
    if needs[0]:
        x = x.unsqueeze(-1) if is_vector else x
        of_a = -(of_b @ x.mH if left else x.mH @ of_b)
    return [of_a, (of_b.squeeze(-1) if is_vector else of_b) if needs[1] else None, None, None]


@_opens("pairwise_distance")
def _pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    import cresset as torch

    if p != 2 or torch.is_complex(x1) or torch.is_complex(x2):
        return _cresset.body("pairwise_distance")(x1, x2, p, eps, keepdim)
    apart = aten.add.Scalar(x1 - x2, eps)
    return _norm_step(apart, p, [apart.dim() - 1], *([True] if keepdim else []))


def _norm_named(self, p, dim, keepdim=False):
    return present(aten.norm.ScalarOpt_dim, self, p, dim, *([True] if keepdim else []))


def _norm_slope(needs, args, outputs, gradients):
    self, _, dims, *keepdim = args
    grad, length = gradients[0], outputs[0]
    if not keepdim:
        grad, length = grad.unsqueeze(dims[0]), length.unsqueeze(dims[0])
    slope = self / length
    is_zero = length == 0
    return [grad * (slope.masked_fill(is_zero, 0) if _again() else slope.masked_fill_(is_zero, 0))]


def _distances(x1, x2, p=2.0, compute_mode=None):
    return aten._cdist_forward.default(x1, x2, p, compute_mode)


def _distance_slope(needs, args, outputs, gradients):
    x1, x2, p = (*args, 2.0)[:3]
    grad, apart = gradients[0], outputs[0]
    of_1 = of_2 = None
    if needs[0]:
        of_1 = _step(aten._cdist_backward.default, grad.contiguous(), x1, x2, p, apart)
    if needs[1]:
        of_2 = _step(aten._cdist_backward.default, grad.transpose(-2, -1).contiguous(), x2, x1, p, apart.transpose(-2, -1).contiguous())
    return [of_1, of_2, None, None][: len(args)]


# ---- gradients in other steps -----------------------------------------------------------------------------------------------


def _whole(function, formula, kept=(), constant=()):
    """The operator whole where a gradient is recorded, which `formula(needs, args, outputs, gradients)` then computes; of the outputs it has those at the
    places `kept`, the others are None; no gradient passes through those at the places `constant`."""
    from ..autograd import Function

    class Whole(Function):
        @staticmethod
        def forward(ctx, args, *tensors):
            out = function(*args)
            outputs = out if isinstance(out, tuple) else (out,)
            ctx.places = [i for i, a in enumerate(args) if isinstance(a, _cresset.Tensor)]
            ctx.rest = [None if isinstance(a, _cresset.Tensor) else a for a in args]
            ctx.mark_non_differentiable(*[t for i, t in enumerate(outputs) if i in constant or not (t.is_floating_point() or t.is_complex())])
            ctx.save_for_backward(*tensors, *(outputs[i] for i in kept))
            ctx.num_outputs = len(outputs)
            ctx.set_materialize_grads(False)
            return out

        @staticmethod
        def backward(ctx, *gradients):
            saved, args = ctx.saved_tensors, list(ctx.rest)
            for i, t in zip(ctx.places, saved):
                args[i] = t
            needs = [False] * len(args)
            for i, need in zip(ctx.places, ctx.needs_input_grad[1:]):
                needs[i] = need
            outputs = [None] * ctx.num_outputs
            for i, t in zip(kept, saved[len(ctx.places) :]):
                outputs[i] = t
            found = formula(needs, args, outputs, gradients) if any(g is not None for g in gradients) else [None] * len(args)
            return (None, *[found[i] for i in ctx.places])

    def opened(*args):
        return Whole.apply(args, *[a for a in args if isinstance(a, _cresset.Tensor)])

    return opened


def _step(op, *args):
    """An operator of a gradient; by its parts where that is differentiated again."""
    import cresset as torch

    return op(*args) if torch.is_grad_enabled() else present(op, *args)


def _convolution(needs, args, outputs, gradients):
    input, weight, bias, *rest = args
    mask = [needs[0], needs[1], needs[2]]
    sizes = None if bias is None else [weight.shape[1] * rest[5] if rest[3] else weight.shape[0]]
    return _step(aten.convolution_backward.default, gradients[0], input, weight, sizes, *rest, mask)


def _max_pool(n):
    def formula(needs, args, outputs, gradients):
        self, kernel, *rest = args
        stride, padding, dilation, ceil_mode = (*rest, *([], [0] * n, [1] * n, False)[len(rest) :])
        row = aten.max_pool2d_with_indices_backward if n == 2 else aten.max_pool3d_with_indices_backward
        return [_step(row.default, gradients[0], self, kernel, stride or kernel, padding, dilation, ceil_mode, outputs[1])]

    return formula


def _stack(tensors, dim=0):
    from ..autograd import Function

    class Stack(Function):
        @staticmethod
        def forward(ctx, dim, *tensors):
            ctx.dim, ctx.count = dim, len(tensors)
            return aten.stack.default(list(tensors), *([dim] if dim else []))

        @staticmethod
        def backward(ctx, grad):
            return (None, *(aten.select.int(grad, ctx.dim, i) for i in range(ctx.count)))

    return Stack.apply(dim, *tensors)


def _power(needs, args, outputs, gradients):
    self, exponent = args
    if exponent == 0:
        return [aten.zeros_like.default(self)]
    slope = aten.mul.Scalar(aten.pow.Tensor_Scalar(self, exponent - 1), exponent)
    return [gradients[0] * (slope.conj() if slope.is_complex() else slope)]


def _binary_cross_entropy(needs, args, outputs, gradients):
    self, target, *rest = args
    weight, reduction = rest[0] if rest else None, rest[1] if len(rest) > 1 else 1
    found = [None] * 4
    if needs[0]:
        found[0] = _step(aten.binary_cross_entropy_backward.default, gradients[0], self, target, weight, reduction)
    if needs[1]:
        slope = self.neg().log1p().clamp(min=-100) - self.log().clamp(min=-100)
        slope = slope if weight is None else slope * weight
        found[1] = gradients[0] * (slope / self.numel() if reduction == 1 else slope)
    return found


def _loss(name, place):
    """Of a loss of the difference of two tensors, whose reduction is the argument at the place; others follow."""

    def formula(needs, args, outputs, gradients):
        self, target, *rest = args
        rest = [*rest, *(1, 1.0)[len(rest) :]][:place]
        step = getattr(aten, f"{name}_backward").default
        return [_step(step, gradients[0], a, b, *rest) if need else None for need, a, b in zip(needs, (self, target), (target, self))]

    return formula


def _logistic(needs, args, outputs, gradients):
    self, target, weight, pos_weight, reduction = (*args, *(None, None, 1)[len(args) - 2 :])
    found = [None] * 5
    if needs[0] and pos_weight is None:
        slope = _weighted(aten.sub.Tensor(self.sigmoid(), target) * gradients[0], weight)
        found[0] = slope / self.numel() if reduction == 1 and _again() else aten.div_.Scalar(slope, self.numel()) if reduction == 1 else slope
    elif needs[0]:
        heavy = pos_weight * target
        slope = _weighted(((heavy + 1 - target) * self.sigmoid() - heavy) * gradients[0], weight)
        found[0] = slope / self.numel() if reduction == 1 else slope
    if needs[1]:
        slope = -self if pos_weight is None else _log_sigmoid_of(-self) - pos_weight * _log_sigmoid_of(self)
        slope = _weighted(slope * gradients[0], weight)
        found[1] = slope / self.numel() if reduction == 1 else slope
    return found


def _again():
    import cresset as torch

    return torch.is_grad_enabled()


def _log_sigmoid_of(x):
    return aten.log_sigmoid.default(x)


def _weighted(slope, weight):
    return slope if weight is None else slope * weight


def _gated(needs, args, outputs, gradients):
    return [_step(aten.glu_backward.default, gradients[0], args[0], args[1] if len(args) > 1 else -1)]


def _sampled(n):
    def formula(needs, args, outputs, gradients):
        step = getattr(aten, f"grid_sampler_{n}d_backward").default
        return [*_step(step, gradients[0], *args, [needs[0], needs[1]]), None, None, None]

    return formula


def _complex(needs, args, outputs, gradients):
    parts = [aten.select.int(aten.view_as_real.default(gradients[0]), gradients[0].dim(), i) if needs[i] else None for i in (1, 0)]
    return parts[::-1]


def _inverse(needs, args, outputs, gradients):
    if gradients[0] is None:
        return [None]
    inner = gradients[0] @ outputs[0].mH
    return [-(outputs[0].mH @ inner)]


def _recorded():
    global _prelu_step, _ctc_step, _determinant_step, _solve_step, _norm_step
    _determinant_step = _whole(lambda A: present(aten._linalg_det.default, A), _determinant_slope, kept=(0, 1, 2), constant=(1, 2))
    _solve_step = _whole(_solve_named, _solve_slope, kept=(0, 1, 2), constant=(1, 2, 3))
    _prelu_step = _stepwise(aten._prelu_kernel.default, _slope)
    _ctc_step = _stepwise(aten._ctc_loss.Tensor, _ctc_slope, kept=(0, 1), constant=(1,))
    recurrent.lstm_layer = _whole(recurrent.layer_of_lstm, recurrent.slope_of_lstm(_step), kept=(0, 1, 2, 3), constant=(3,))
    _norm_step = _whole(_norm_named, _norm_slope, kept=(0,))
    return {
        "cdist": _whole(_distances, _distance_slope, kept=(0,)),
        "mse_loss": _whole(aten.mse_loss.default, _loss("mse_loss", 1)),
        "smooth_l1_loss": _whole(aten.smooth_l1_loss.default, _loss("smooth_l1_loss", 2)),
        "huber_loss": _whole(aten.huber_loss.default, _loss("huber_loss", 2)),
        "binary_cross_entropy_with_logits": _whole(aten.binary_cross_entropy_with_logits.default, _logistic),
        "glu": _whole(aten.glu.default, _gated),
        "grid_sampler_2d": _whole(aten.grid_sampler_2d.default, _sampled(2)),
        "grid_sampler_3d": _whole(aten.grid_sampler_3d.default, _sampled(3)),
        "complex": _whole(aten.complex.default, _complex),
        "linalg_inv_ex": _whole(aten.linalg_inv_ex.default, _inverse, kept=(0,)),
        "stack": _stack,
        "unsafe_split.Tensor": _whole(lambda *args: tuple(aten.unsafe_split.Tensor(*args)), _split_apart),
        "pow.Tensor_Scalar": _whole(aten.pow.Tensor_Scalar, _power),
        "binary_cross_entropy": _whole(aten.binary_cross_entropy.default, _binary_cross_entropy),
        "convolution": _whole(aten.convolution.default, _convolution),
        "max_pool2d_with_indices": _whole(aten.max_pool2d_with_indices.default, _max_pool(2), kept=(1,)),
        "max_pool3d_with_indices": _whole(aten.max_pool3d_with_indices.default, _max_pool(3), kept=(1,)),
    }


def install():
    """Tells the dispatcher, once."""
    for name in aten_names.UNKNOWN:
        _cresset._hear(name, "unknown")
    entries = {}
    for name, overload, *_ in _cresset.operators():
        entries.setdefault(name, []).append(f"{name}.{overload}" if overload else name)
    for name in aten_names.WHOLE:
        for entry in [name] if name not in entries or "." in name else entries[name]:
            _cresset._hear(entry, "whole")
    for name in aten_names.CONSTANT:
        for entry in entries[name]:
            _cresset._hear(entry, "constant")
    for kind, functions in (("renamed", _renamed), ("opened", _opened), ("recorded", _recorded())):
        for entry, function in functions.items():
            _cresset._hear(entry, kind, function)
