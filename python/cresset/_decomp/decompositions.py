"""Operators with kernels of their own as formulas over simpler ones. Those that the table of rows has as composites are not here: their bodies in C++ are
their decompositions (`_bodies.py`).

Formulas take the operator's arguments; those of reduced precision compute in float32, as the kernels do, and round their results.
"""

import functools
import math

import _cresset

import cresset as torch

aten = torch.ops.aten
_REDUCED = (torch.float16, torch.bfloat16)
_NONE, _MEAN, _SUM = 0, 1, 2


def _widened(formula):
    """Computes in float32 where tensors are of 16 bits, and gives results of their dtype."""

    @functools.wraps(formula)
    def wrapped(*args, **kwargs):
        reduced = next((a.dtype for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor) and a.dtype in _REDUCED), None)
        if reduced is None:
            return formula(*args, **kwargs)

        def widen(a):
            return a.to(torch.float32) if isinstance(a, torch.Tensor) and a.dtype in _REDUCED else a

        found = formula(*map(widen, args), **{name: widen(a) for name, a in kwargs.items()})
        narrow = lambda t: t.to(reduced) if isinstance(t, torch.Tensor) and t.dtype is torch.float32 else t  # noqa: E731
        return tuple(map(narrow, found)) if isinstance(found, tuple) else narrow(found)

    return wrapped


# ---- activations ----------------------------------------------------------------------------------------------------------


@_widened
def silu(self):
    return self * self.sigmoid()


@_widened
def silu_backward(grad_output, self):
    gate = self.sigmoid()
    return grad_output * (gate * (self * torch.rsub(gate, 1) + 1))


def _tanh_of_gelu(x):
    return (math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))).tanh()


@_widened
def gelu(self, *, approximate="none"):
    below = _tanh_of_gelu(self) if approximate == "tanh" else (self * math.sqrt(0.5)).erf()
    return self * 0.5 * (below + 1)


@_widened
def gelu_backward(grad_output, self, *, approximate="none"):
    if approximate == "tanh":
        t = _tanh_of_gelu(self)
        slope = math.sqrt(2 / math.pi) * (0.134145 * (self * self) + 1)
        return grad_output * (0.5 * (t + 1) + 0.5 * self * torch.rsub(t * t, 1) * slope)
    share = ((self * math.sqrt(0.5)).erf() + 1) * 0.5
    density = (self * self * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
    return grad_output * (share + self * density)


def _relu6_of_3_more(x):
    return (x + 3).clamp(0).clamp(None, 6)  # two steps, as PyTorch writes it


@_widened
def hardswish(self):
    return self * _relu6_of_3_more(self) / 6


@_widened
def hardswish_backward(grad_output, self):
    inner = torch.where(self <= 3, grad_output * (self / 3 + 0.5), grad_output)
    return torch.where(self < -3, 0.0, inner)


@_widened
def hardsigmoid(self):
    return _relu6_of_3_more(self) / 6


@_widened
def hardsigmoid_backward(grad_output, self):
    return torch.where((self > -3) & (self < 3), grad_output * (1 / 6), 0.0)


def hardtanh(self, min_val=-1, max_val=1):
    return torch.clamp(self, min_val, max_val)


def hardtanh_backward(grad_output, self, min_val, max_val):
    return torch.where((self <= min_val) | (self >= max_val), 0.0, grad_output)


def leaky_relu(self, negative_slope=0.01):
    return torch.where(self > 0, self, self * negative_slope)


def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    return torch.where(self > 0, grad_output, grad_output * negative_slope)


@_widened
def elu(self, alpha=1, scale=1, input_scale=1):
    return torch.where(self > 0, self * scale, (self * input_scale).expm1() * (alpha * scale))


@_widened
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    below = grad_output * input_scale
    below = below * (self_or_result + alpha * scale) if is_result else below * (alpha * scale) * (self_or_result * input_scale).exp()
    return torch.where(self_or_result > 0, grad_output * scale, below)


@_widened
def softplus(self, beta=1, threshold=20):
    scaled = _times(self, beta)
    smooth = scaled.exp().log1p()
    return torch.where(scaled > threshold, self, smooth if beta == 1 else smooth / beta)


@_widened
def softplus_backward(grad_output, self, beta, threshold):
    scaled = self * beta
    return torch.where(scaled > threshold, grad_output, grad_output * scaled.sigmoid())


@_widened
def mish(self):
    return self * softplus(self).tanh()


@_widened
def log_sigmoid_forward(self):
    return torch.minimum(self, self.new_zeros(())) - self.abs().neg().exp().log1p(), self.new_zeros((0,))


@_widened
def log_sigmoid_backward(grad_output, self, buffer=None):
    return grad_output * self.neg().sigmoid()


def hardshrink(self, lambd=0.5):
    return torch.where(self.abs() <= lambd, 0.0, self)


def softshrink(self, lambd=0.5):
    return torch.where(self.abs() > lambd, self - self.sign() * lambd, self * 0)


def threshold(self, threshold, value):
    return torch.where(self <= threshold, value, self)


def threshold_backward(grad_output, self, threshold):
    return torch.where(self <= threshold, 0.0, grad_output)


@_widened
def sigmoid_backward(grad_output, output):
    slope = output * torch.rsub(output, 1)
    return grad_output * (slope.conj() if output.is_complex() else slope)


@_widened
def tanh_backward(grad_output, output):
    slope = torch.rsub(output * output, 1)
    return grad_output * (slope.conj() if output.is_complex() else slope)


@_widened
def glu(self, dim=-1):
    first, second = self.chunk(2, dim)
    return first * second.sigmoid()


@_widened
def glu_backward(grad_output, self, dim):
    first, second = self.chunk(2, dim)
    gate = second.sigmoid()
    return torch.cat([grad_output * gate, aten.sigmoid_backward.default(grad_output * first, gate)], dim)


@_widened
def mish_backward(grad_output, self):
    bent = softplus(self).tanh()
    return grad_output * (bent + self * self.sigmoid() * torch.rsub(bent * bent, 1))


def log_sigmoid(self):
    return aten.log_sigmoid_forward.default(self)[0]


# ---- softmax and normalisation --------------------------------------------------------------------------------------------


def _to_compute(x, half_to_float):
    return x.to(torch.float32) if half_to_float or x.dtype in _REDUCED else x


def _softmax(self, dim, half_to_float):
    x = _to_compute(self, half_to_float)
    weights = (x - x.amax(dim, keepdim=True)).exp() if x.numel() else x.exp()
    out = weights / weights.sum(dim, keepdim=True)
    return out if half_to_float else out.to(self.dtype)


def _log_softmax(self, dim, half_to_float):
    x = _to_compute(self, half_to_float)
    x = x - x.amax(dim, keepdim=True) if x.numel() else x
    out = x - x.exp().sum(dim, keepdim=True).log()
    return out if half_to_float else out.to(self.dtype)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    x = _to_compute(input, False)
    variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    rstd = (variance + eps).rsqrt()
    out = (x - mean) * rstd
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out.to(input.dtype), mean, rstd


def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    wide = functools.partial(_to_compute, half_to_float=False)
    grad, x = wide(grad_out), wide(input)
    first = input.dim() - len(normalized_shape)
    inner, outer = list(range(first, input.dim())), list(range(first))
    count = math.prod(normalized_shape)
    x_hat = (x - mean) * rstd
    by_x = by_weight = by_bias = None
    if output_mask[0]:
        scaled = grad if weight is None else grad * wide(weight)
        along = x_hat * (scaled * x_hat).sum(inner, keepdim=True)
        by_x = ((scaled * count - scaled.sum(inner, keepdim=True) - along) * (rstd / count)).to(input.dtype)
    if output_mask[1] and weight is not None:
        by_weight = ((grad * x_hat).sum(outer) if outer else grad * x_hat).to(weight.dtype)
    if output_mask[2]:
        by_bias = (grad.sum(outer) if outer else grad.clone()).to(input.dtype if bias is None else bias.dtype)
    return by_x, by_weight, by_bias


def native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    wide = functools.partial(_to_compute, half_to_float=False)
    parts = [N, group, C // group, HxW]
    grad, x = wide(grad_out).reshape(parts), wide(input).reshape(parts)
    x_hat = (x - wide(mean).reshape(N, group, 1, 1)) * wide(rstd).reshape(N, group, 1, 1)
    by_x = by_weight = by_bias = None
    if output_mask[0]:
        scaled = grad if weight is None else grad * wide(weight).reshape(1, group, C // group, 1)
        count = C // group * HxW
        along = x_hat * (scaled * x_hat).sum([2, 3], keepdim=True)
        by_x = (scaled - (scaled.sum([2, 3], keepdim=True) + along) / count) * wide(rstd).reshape(N, group, 1, 1)
        by_x = by_x.reshape(input.shape).to(input.dtype)
    if output_mask[1]:
        by_weight = (grad * x_hat).sum([0, 3]).reshape(C).to(input.dtype)
    if output_mask[2]:
        by_bias = grad.sum([0, 3]).reshape(C).to(input.dtype)
    return by_x, by_weight, by_bias


def native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    wide = functools.partial(_to_compute, half_to_float=False)
    grad, x = wide(grad_out), wide(input)
    shape = [1, input.shape[1]] + [1] * (input.dim() - 2)
    others = [d for d in range(input.dim()) if d != 1]
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    x_hat = (x - mean.reshape(shape)) * rstd.reshape(shape)
    total, along = grad.sum(others), (grad * x_hat).sum(others)
    scale = rstd if weight is None else rstd * wide(weight)
    inner = grad
    if train:
        count = input.numel() // max(input.shape[1], 1)
        inner = grad - (total.reshape(shape) + x_hat * along.reshape(shape)) / count
    by_x = (inner * scale.reshape(shape)).to(input.dtype) if output_mask[0] else None
    return by_x, along.to(input.dtype) if output_mask[1] else None, total.to(input.dtype) if output_mask[2] else None


def cudnn_batch_norm(input, weight, bias, running_mean, running_var, training, exponential_average_factor, epsilon):
    found = aten.native_batch_norm.default(input, weight, bias, running_mean, running_var, training, exponential_average_factor, epsilon)
    return *found, input.new_zeros(0, dtype=torch.uint8)


def cudnn_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean, save_var, epsilon, reserveSpace=None):
    mask = [True] * 3
    return aten.native_batch_norm_backward.default(grad_output, input, weight, running_mean, running_var, save_mean, save_var, True, epsilon, mask)


# ---- losses ---------------------------------------------------------------------------------------------------------------


def _picked(target, ignore_index):
    """Whether each target counts, and the targets with others replaced by 0."""
    counts = target != ignore_index
    return counts, torch.where(counts, target, 0)


def nll_loss_forward(self, target, weight, reduction, ignore_index):
    classes = self.dim() - 1 if self.dim() < 2 else 1
    _, index = _picked(target, ignore_index)
    loss = self.gather(classes, index.unsqueeze(classes)).squeeze(classes).neg()
    share = None if weight is None else weight[index]
    # Each use asks again, as programs that count operators of the core set expect.
    loss = torch.where(target != ignore_index, loss if share is None else loss * share, 0.0)
    total = ((target != ignore_index) if share is None else torch.where(target != ignore_index, share, 0.0)).sum().to(self.dtype)
    if reduction == _NONE and self.dim() > 1:
        return loss, self.new_zeros(())
    return (loss.sum() / total if reduction == _MEAN else loss.sum()), total


def nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    classes = self.dim() - 1 if self.dim() < 2 else 1
    counts, index = _picked(target, ignore_index)
    grad = grad_output / total_weight if reduction == _MEAN else grad_output
    if grad.dim() < target.dim():
        grad = grad.expand(target.shape)
    grad = grad if weight is None else grad * weight[index]
    spread = torch.where(counts, grad.neg(), 0.0).unsqueeze(classes)
    return torch.zeros_like(self).scatter(classes, index.unsqueeze(classes), spread.to(self.dtype))


def mse_loss_backward(grad_output, self, target, reduction):
    return 2.0 / (self.numel() if reduction == _MEAN else 1) * (self - target) * grad_output


@_widened
def soft_margin_loss_backward(grad_output, self, target, reduction):
    grad = target * grad_output * ((target * self).sigmoid() - 1)
    return grad / self.numel() if reduction == _MEAN else grad


@_widened
def binary_cross_entropy_backward(grad_output, self, target, weight=None, reduction=1):
    grad = grad_output * (self - target) / torch.clamp(self * torch.rsub(self, 1), min=1e-12)
    grad = grad if weight is None else grad * weight
    return grad / self.numel() if reduction == _MEAN else grad


def multilabel_margin_loss(self, target, reduction=1):
    return aten.multilabel_margin_loss_forward.default(self, target, reduction)[0]


def multilabel_margin_loss_forward(self, target, reduction):
    named = (target >= 0).to(torch.int64).cumprod(-1)  # the classes before the first negative number
    counts = torch.zeros_like(target).scatter_add(-1, target.clamp(min=0), named)
    return _cresset.body("multilabel_margin_loss")(self, target, reduction), (counts > 0).to(self.dtype)


# ---- arithmetic -----------------------------------------------------------------------------------------------------------


def addcdiv(self, tensor1, tensor2, *, value=1):
    return self + (tensor1 if value == 1 else tensor1 * value) / tensor2


def addcmul(self, tensor1, tensor2, *, value=1):
    return self + tensor1 * tensor2 * value  # a factor of 1 is written, too, as PyTorch does


def _times(tensor, number):
    return tensor if number == 1 else tensor * number


def addmm(self, mat1, mat2, *, beta=1, alpha=1):
    product = torch.mm(mat1, mat2) * alpha  # factors of 1 are written, too, as PyTorch does
    return product if beta == 0 else product + self * beta


def baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    product = _times(torch.bmm(batch1, batch2), alpha)
    return product if beta == 0 else product + _times(self, beta)


def addmv(self, mat, vec, *, beta=1, alpha=1):
    product = _times((mat * vec).sum(1), alpha)
    return product if beta == 0 else product + _times(self, beta)


def mv(self, vec):
    return (self * vec).sum(1)


def dot(self, tensor):
    return (self * tensor).sum()


def lerp(self, end, weight):
    """From the nearer end, so that a weight of 1 gives the other one exactly."""
    if not isinstance(weight, torch.Tensor):
        weight = torch.full((), weight, dtype=self.dtype, device=self.device)
    far = weight.abs() >= 0.5
    share = torch.where(far, weight - 1, weight)
    return torch.where(far, end, self) + share * (end - self)


def rsub(self, other, alpha=1):
    return torch.sub(other, self, alpha=alpha)


def frac(self):
    return self - self.trunc()


def logaddexp(self, other):
    top = torch.maximum(self, other)
    apart = (self - other).abs().neg()
    # Equal infinities have no difference.
    return torch.where(self == other, self + math.log(2), top + apart.exp().log1p())


def logaddexp2(self, other):
    top = torch.maximum(self, other)
    apart = (self - other).abs().neg()
    return torch.where(self == other, self + 1, top + apart.exp2().log1p() / math.log(2))


def logit(self, eps=None):
    x = self if eps is None else self.clamp(eps, 1 - eps)
    return (x / torch.rsub(x, 1)).log()


def logit_backward(grad_output, self, eps=None):
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    slope = grad_output / (self * torch.rsub(self, 1))
    return torch.where((self >= low) & (self <= high), slope, math.nan if eps is None else 0.0)


def floor_divide(self, other):
    return torch.div(self, other, rounding_mode="floor")


def isfinite(self):
    if not (self.is_floating_point() or self.is_complex()):
        return torch.ones_like(self, dtype=torch.bool)
    finite = self.abs() != math.inf
    return (self == self) * finite


def _infinite(sign):
    def found(self):
        return self == sign * math.inf if self.is_floating_point() else torch.zeros_like(self, dtype=torch.bool)

    return found


@_widened
def special_entr(self):
    return torch.where(self.isnan(), self, torch.where(self > 0, -self * self.log(), torch.where(self == 0, 0.0, -math.inf)))


@_widened
def special_ndtr(self):
    return (self * -math.sqrt(0.5)).erfc() * 0.5


@_widened
def special_log_ndtr(self):
    scaled = self * math.sqrt(0.5)
    below = (torch.special.erfcx(-scaled) / 2).log() - scaled * scaled
    return torch.where(self < 1, below, (-scaled.erfc() / 2).log1p())


def special_xlog1py(self, other):
    self, other = (x if isinstance(x, torch.Tensor) else torch.scalar_tensor(x) for x in (self, other))
    return torch.where(other.isnan(), math.nan, torch.where(self == 0, 0.0, self * other.log1p()))


def matrix_exp(self):
    return aten.linalg_matrix_exp.default(self)


def xlogy(self, other):
    self, other = (x if isinstance(x, torch.Tensor) else torch.scalar_tensor(x) for x in (self, other))
    return torch.where(other.isnan(), math.nan, torch.where(self == 0, 0.0, self * other.log()))


def sgn(self):
    if not self.is_complex():
        return self.sign()
    size = self.abs()
    return torch.where(size == 0, 0, self / size)


def heaviside(self, values):
    return torch.where(self == 0, values, (self > 0).to(self.dtype))


def clamp_min(self, min):
    return torch.clamp(self, min=min)


def clamp_max(self, max):
    return torch.clamp(self, max=max)


def std(self, dim=None, *, correction=None, keepdim=False):
    return torch.var(self, dim, correction=1 if correction is None else correction, keepdim=keepdim).sqrt()


def sum(self, *, dtype=None):
    return torch.sum(self, [], dtype=dtype)


def nansum(self, dim=None, keepdim=False, *, dtype=None):
    return torch.where(self.isnan(), 0, self).sum(list(range(self.dim())) if dim is None else dim, keepdim=keepdim, dtype=dtype)


def nan_to_num(self, nan=None, posinf=None, neginf=None):
    if not self.is_floating_point():
        return self.clone()
    limits = torch.finfo(self.dtype)
    out = torch.where(self.isnan(), 0.0 if nan is None else nan, self)
    out = torch.where(self == math.inf, limits.max if posinf is None else posinf, out)
    return torch.where(self == -math.inf, limits.min if neginf is None else neginf, out)


# ---- tensors of one number ------------------------------------------------------------------------------------------------


def ones_like(self, **options):
    return torch.full_like(self, 1, **options)


def zeros_like(self, **options):
    return torch.full_like(self, 0, **options)


def _beside(self, options):
    return {**options, "dtype": options.get("dtype") or self.dtype, "device": options.get("device") or self.device}


def new_ones(self, size, **options):
    return torch.full(size, 1, **_beside(self, options))


def new_zeros(self, size, **options):
    return torch.full(size, 0, **_beside(self, options))


def new_full(self, size, fill_value, **options):
    return torch.full(size, fill_value, **_beside(self, options))


# ---- places and shapes ----------------------------------------------------------------------------------------------------


def masked_fill(self, mask, value):
    return torch.where(mask, torch.scalar_tensor(value, dtype=self.dtype, device=self.device), self)


def _triangle(self, keeps):
    rows = torch.arange(self.shape[-2], device=self.device).unsqueeze(-1)
    columns = torch.arange(self.shape[-1], device=self.device).unsqueeze(-2)
    return torch.where(keeps(columns - rows), self, torch.zeros((), dtype=self.dtype, device=self.device))


def tril(self, diagonal=0):
    return _triangle(self, lambda offset: offset <= diagonal)


def triu(self, diagonal=0):
    return _triangle(self, lambda offset: offset >= diagonal)


def t(self):
    return self.transpose(0, 1) if self.dim() == 2 else self.view(self.shape)


def transpose(self, dim0, dim1):
    order = list(range(self.dim()))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return self.permute(order)


def unbind(self, dim=0):
    return [self.select(dim, i) for i in range(self.shape[dim])]


def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    width = grad_output.shape[-1]
    rows, grad = indices.reshape(-1), grad_output.reshape(-1, width)
    if scale_grad_by_freq:
        counts = torch.zeros(num_weights, dtype=torch.int64, device=rows.device).index_add(0, rows, torch.ones_like(rows, dtype=torch.int64))
        grad = grad / counts[rows].unsqueeze(1)
    grad = torch.where((rows == padding_idx).unsqueeze(1), 0.0, grad)
    return grad.new_zeros(num_weights, width).index_put((rows,), grad, accumulate=True)


def index_add(self, dim, index, source, *, alpha=1):
    places = (None,) * (dim % max(self.dim(), 1))
    return aten.index_put.default(self, [*places, index], _times(source, alpha), True)


def index_copy(self, dim, index, source):
    places = (None,) * (dim % max(self.dim(), 1))
    return aten.index_put.default(self, [*places, index], source)


def take(self, index):
    return aten.index.Tensor(self.reshape(-1), [index])


def squeeze(self):
    return torch.squeeze(self, tuple(d for d, size in enumerate(self.shape) if size == 1))


def squeeze_dim(self, dim):
    return torch.squeeze(self, (dim,))


def roll(self, shifts, dims=()):
    """Of one dimension; of several, one after the other."""
    if not dims:
        return roll(self.reshape(-1), shifts, (0,)).reshape(self.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = self.shape[dim]
        places = aten.arange.start_step(0, size, 1, device=self.device) + (size - shift) % size
        self = torch.index_select(self, dim, torch.fmod(places, size))
    return self


def select_scatter(self, src, dim, index):
    size = self.shape[dim]
    places = aten.arange.start_step(0, size, 1, device=self.device)
    shape = [size if d == dim % self.dim() else 1 for d in range(self.dim())]
    return torch.where(aten.eq.Scalar(places.view(shape), index % size), src.unsqueeze(dim).expand(self.shape), self)


def select_backward(grad_output, input_sizes, dim, index):
    return torch.select_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, index)


def slice_backward(grad_output, input_sizes, dim, start, end, step):
    return torch.slice_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, start, end, step)


def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    return torch.diagonal_scatter(grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


def unfold_backward(grad_in, input_sizes, dim, size, step):
    if not input_sizes:  # one number, which is the only element of its window
        return grad_in.reshape(()).clone()
    dim = dim % len(input_sizes)
    places = torch.arange(input_sizes[dim], device=grad_in.device).unfold(0, size, step).reshape(-1)
    grad = grad_in.movedim(-1, dim + 1).flatten(dim, dim + 1)
    return aten.index_put.default(grad_in.new_zeros(input_sizes), [*(None,) * dim, places], grad, True)


def zero(self):
    return torch.zeros_like(self)


def resize_as(self, the_template, *, memory_format=None):
    return self.clone().resize_as_(the_template, memory_format=memory_format)


# ---- paddings ---------------------------------------------------------------------------------------------------------------


def _reflected(places, size):
    """Positions beside 0 .. size - 1 as the positions within that they mirror."""
    return size - 1 - (size - 1 - places.abs()).abs()


def _positions(self, padding, rule):
    """For each padded dimension, the last first: its number and the positions within it that the padded one takes."""
    for i in range(len(padding) // 2):
        dim = self.dim() - 1 - i
        size = self.shape[dim]
        yield dim, rule(torch.arange(-padding[2 * i], size + padding[2 * i + 1], device=self.device), size)


def _padded(rule):
    def pad(self, padding):
        for dim, places in _positions(self, padding, rule):
            self = aten.index.Tensor(self, [*(None,) * dim, places])
        return self

    return pad


def _padded_backward(rule):
    def backward(grad_output, self, padding):
        for dim, places in reversed(list(_positions(self, padding, rule))):
            sizes = [*grad_output.shape]
            sizes[dim] = self.shape[dim]
            grad_output = aten.index_put.default(grad_output.new_zeros(sizes), [*(None,) * dim, places], grad_output, True)
        return grad_output

    return backward


_reflection_pad, _reflection_pad_backward = _padded(_reflected), _padded_backward(_reflected)
_replication_pad = _padded(lambda places, size: places.clamp(0, size - 1))


# ---- sizes of pictures ------------------------------------------------------------------------------------------------------


def _scale(size, wanted, scale, align_corners=False):
    """The step between pixels of the result, in pixels of the input."""
    if align_corners:
        return (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return size / wanted if scale is None else 1 / scale


def _upsample_nearest(self, output_size, *scales):
    for dim, (wanted, scale) in enumerate(zip(output_size, scales or [None] * len(output_size), strict=True), 2):
        places = (torch.arange(wanted, dtype=torch.float32, device=self.device) + 0.0) * _scale(self.shape[dim], wanted, scale)
        places = places.to(torch.int64) if scale is None else places.to(torch.int64).clamp(max=self.shape[dim] - 1)
        self = aten.index.Tensor(self, [*(None,) * dim, places])
    return self


def _upsample_linear(self, output_size, align_corners, *scales):
    out = self.to(torch.float32) if self.dtype in _REDUCED else self
    for dim, (wanted, scale) in enumerate(zip(output_size, scales or [None] * len(output_size), strict=True), 2):
        size, offset = self.shape[dim], 0.0 if align_corners else 0.5
        places = torch.arange(wanted, dtype=out.dtype, device=self.device) + offset
        places = (places * _scale(size, wanted, scale, align_corners) - offset).clamp(min=0)
        below = places.to(torch.int64).clamp(max=size - 1)
        share = (places - below).clamp(0, 1).reshape([-1] + [1] * (self.dim() - 1 - dim))
        first, second = (aten.index.Tensor(out, [*(None,) * dim, at]) for at in (below, (below + 1).clamp(max=size - 1)))
        out = first + (second - first) * share
    return out.to(self.dtype)


def _resized_to(name):
    """The overload that takes output sizes or scale factors, as the one that takes both for each dimension."""

    def resized(input, output_size, *rest):
        *corners, scale_factors = rest
        scales = [None] * (input.dim() - 2) if scale_factors is None else list(scale_factors)
        sizes = [int(size * scale) for size, scale in zip(input.shape[2:], scales)] if output_size is None else list(output_size)
        return getattr(aten, name).default(input, sizes, *corners, *scales)

    return resized


# The overloads that each formula stands for.
FORMULAS = {
    "silu": silu, "silu_backward": silu_backward, "gelu": gelu, "gelu_backward": gelu_backward, "hardswish": hardswish,
    "hardswish_backward": hardswish_backward, "hardsigmoid": hardsigmoid, "hardsigmoid_backward": hardsigmoid_backward,
    "hardtanh_backward": hardtanh_backward, "leaky_relu": leaky_relu, "leaky_relu_backward": leaky_relu_backward, "elu": elu,
    "elu_backward": elu_backward, "softplus": softplus, "softplus_backward": softplus_backward, "mish": mish,
    "log_sigmoid_forward": log_sigmoid_forward, "log_sigmoid_backward": log_sigmoid_backward, "hardshrink": hardshrink, "softshrink": softshrink,
    "threshold": threshold, "threshold_backward": threshold_backward, "sigmoid_backward": sigmoid_backward, "tanh_backward": tanh_backward,
    "glu": glu, "glu_backward": glu_backward,
    "_softmax": _softmax, "_log_softmax": _log_softmax, "_softmax_backward_data": _softmax_backward_data,
    "_log_softmax_backward_data": _log_softmax_backward_data, "native_layer_norm": native_layer_norm,
    "native_layer_norm_backward": native_layer_norm_backward, "native_group_norm_backward": native_group_norm_backward,
    "native_batch_norm_backward": native_batch_norm_backward, "nll_loss_forward": nll_loss_forward, "nll_loss_backward": nll_loss_backward,
    "addcdiv": addcdiv, "addcmul": addcmul, "addmm": addmm, "baddbmm": baddbmm, "addmv": addmv, "mv": mv, "dot": dot, "lerp.Scalar": lerp,
    "lerp.Tensor": lerp, "rsub.Tensor": rsub, "rsub.Scalar": rsub, "frac": frac, "logaddexp": logaddexp, "logaddexp2": logaddexp2,
    "logit": logit, "xlogy.Tensor": xlogy, "xlogy.Scalar_Self": xlogy, "xlogy.Scalar_Other": xlogy, "sgn": sgn, "heaviside": heaviside,
    "ones_like": ones_like, "zeros_like": zeros_like, "new_ones": new_ones, "new_zeros": new_zeros, "new_full": new_full,
    "clamp_min": clamp_min, "clamp_min.Tensor": clamp_min, "clamp_max": clamp_max, "clamp_max.Tensor": clamp_max, "std.correction": std,
    "sum": sum, "nansum": nansum, "nan_to_num": nan_to_num, "masked_fill.Scalar": masked_fill, "tril": tril, "triu": triu, "t": t, "transpose.int": transpose,
    "take": take, "squeeze": squeeze, "squeeze.dim": squeeze_dim, "roll": roll, "select_scatter": select_scatter, "select_backward": select_backward,
    "slice_backward": slice_backward, "diagonal_backward": diagonal_backward, "unfold_backward": unfold_backward, "zero": zero, "resize_as": resize_as,
    **{f"reflection_pad{n}d": _reflection_pad for n in (1, 2, 3)}, **{f"reflection_pad{n}d_backward": _reflection_pad_backward for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _replication_pad for n in (1, 2, 3)}, "mish_backward": mish_backward, "log_sigmoid": log_sigmoid,
    **{f"upsample_{name}.vec": _resized_to(f"upsample_{name}") for name in ("bicubic2d", "trilinear3d", "linear1d", "nearest1d", "nearest3d")},
    **{f"upsample_nearest{n}d": _upsample_nearest for n in (1, 2, 3)}, "cudnn_batch_norm": cudnn_batch_norm, "hardtanh": hardtanh,
    **{f"upsample_{name}": _upsample_linear for name in ("linear1d", "bilinear2d", "trilinear3d")},
    "cudnn_batch_norm_backward": cudnn_batch_norm_backward, "miopen_batch_norm_backward": cudnn_batch_norm_backward,
    "nll_loss2d_forward": nll_loss_forward, "nll_loss2d_backward": nll_loss_backward, "mse_loss_backward": mse_loss_backward,
    "soft_margin_loss_backward": soft_margin_loss_backward, "binary_cross_entropy_backward": binary_cross_entropy_backward,
    "multilabel_margin_loss": multilabel_margin_loss, "multilabel_margin_loss_forward": multilabel_margin_loss_forward, "logit_backward": logit_backward,
    "floor_divide": floor_divide, "floor_divide.Scalar": floor_divide, "isfinite": isfinite, "isposinf": _infinite(1), "isneginf": _infinite(-1),
    "special_entr": special_entr, "special_ndtr": special_ndtr, "special_log_ndtr": special_log_ndtr, "special_xlog1py": special_xlog1py,
    "special_xlog1py.self_scalar": special_xlog1py, "special_xlog1py.other_scalar": special_xlog1py, "matrix_exp": matrix_exp,
    "unbind.int": unbind, "embedding_dense_backward": embedding_dense_backward, "index_add": index_add, "index_copy": index_copy,
}  # fmt: skip


def __getattr__(name):
    """The decompositions that are bodies of rows, by the names of their operators."""
    packet = None if name.startswith("__") else getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        if (found := torch._decomp.decomposition_table.get(getattr(packet, overload))) is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
