"""Operators on weights of 8 and 16 bits, under PyTorch's names for graphs: packed weights are the weights themselves, and sums of products are exact integers.

>>> weight = torch.ops.aten.fbgemm_linear_quantize_weight(torch.tensor([[0.0, 2.55]]))
>>> weight[0], round(weight[2], 4), weight[3]
(tensor([[-128,  127]], dtype=torch.int8), 0.01, -128)
"""

import cresset as torch

from .aten_composed import _composed
from .aten_extra import _operator


# ---- rounding to a grid, whose gradient is that of the identity within its ends -----------------------------------------------


def _on_grid(self, scale, zero_point, quant_min, quant_max):
    """The nearest numbers of the grid, and which of them lie between its ends."""
    if quant_min > quant_max:
        raise RuntimeError(f"fake_quantize: expected quant_min to be at most quant_max, got {quant_min} and {quant_max}")
    fixed = self.detach()
    places = (fixed * (1 / scale) + zero_point).round()
    mask = (places >= quant_min) & (places <= quant_max)
    nearest = ((places.clamp(quant_min, quant_max) - zero_point) * scale).to(self.dtype)
    return nearest + torch.where(mask, self - fixed, 0), mask


@_operator("fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)")
def of_tensor(self, scale, zero_point, quant_min, quant_max):
    return _on_grid(self, scale, zero_point, quant_min, quant_max)


@_operator(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) "
    "-> (Tensor output, Tensor mask)"
)
def of_channels(self, scale, zero_point, axis, quant_min, quant_max):
    if scale.dim() != 1 or scale.shape != zero_point.shape or scale.shape[0] != self.shape[axis]:
        raise RuntimeError(
            f"fake_quantize_per_channel_affine: expected a scale and a zero point for each of the {self.shape[axis]} channels, got the shapes "
            f"{list(scale.shape)} and {list(zero_point.shape)}"
        )
    shape = [1] * self.dim()
    shape[axis] = -1
    return _on_grid(self, scale.view(shape), zero_point.view(shape), quant_min, quant_max)


@_composed("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor")
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    return torch.ops.aten.fake_quantize_per_tensor_affine_cachemask.default(self, scale, zero_point, quant_min, quant_max)[0]


@_composed("fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor")
def fake_quantize_by_tensors(self, scale, zero_point, quant_min, quant_max):
    return _on_grid(self, scale, zero_point, quant_min, quant_max)[0]


@_composed("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor")
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    return torch.ops.aten.fake_quantize_per_channel_affine_cachemask.default(self, scale, zero_point, axis, quant_min, quant_max)[0]


@_composed("fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor")
def of_tensor_backward(grad, mask):
    return grad * mask


@_composed("fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor")
def of_channels_backward(grad, mask):
    return grad * mask


# ---- ranges -----------------------------------------------------------------------------------------------------------------


def _grid(x, low, high):
    """Scale and zero point by which the range of x, with 0 in it, covers the integers from low to high."""
    least, most = (min(x.min().item(), 0.0), max(x.max().item(), 0.0)) if x.numel() else (0.0, 0.0)
    scale = torch.tensor((most - least) / (high - low), dtype=torch.float32).item() or 1.0
    return scale, min(max(round(low - least / scale), low), high)


def _error(x, least, most, steps):
    scale = (most - least) / steps
    back = ((x - least) * (1 / scale if scale else 1.0)).round().clamp(0, steps) * scale + least
    return (x - back).norm().item()


@_composed("choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width) -> (Tensor, Tensor)")
def choose_qparams_optimized(input, numel, n_bins, ratio, bit_width):
    """The ends of the range, largest first, that lose least: the end whose step inwards loses less moves, until `ratio` of the range is left out (greedy search:
    Guan et al., Post-Training 4-bit Quantization on Embedding Tables, 2019)."""
    if numel < 0 or numel > input.numel():
        raise RuntimeError(f"choose_qparams_optimized: expected numel of 0 to {input.numel()}, got {numel}")
    x, steps = input.reshape(-1)[:numel].float(), 2**bit_width - 1
    least, most = x.min().item(), x.max().item()
    step, kept = (most - least) / n_bins, int(n_bins * (1 - ratio))
    low, high, loss = least, most, _error(x, least, most, steps)
    best = (loss, low, high)
    while step and low + kept * step < high:
        from_below, from_above = _error(x, low + step, high, steps), _error(x, low, high - step, steps)
        if from_below < from_above:
            low, loss = low + step, from_below
        else:
            high, loss = high - step, from_above
        best = min(best, (loss, low, high), key=lambda found: found[0])
    return torch.tensor([best[2]]), torch.tensor([best[1]])


# ---- linear layers ------------------------------------------------------------------------------------------------------------


@_composed("fbgemm_linear_quantize_weight(Tensor input) -> (Tensor, Tensor, float, int)")
def quantize_weight(input):
    scale, zero_point = _grid(input, -128, 127)
    values = (input.float() / scale).round().add(zero_point).clamp(-128, 127).to(torch.int8)
    return values, values.sum(1, dtype=torch.int32) - zero_point * input.shape[1], scale, zero_point


@_composed("fbgemm_pack_quantized_matrix(Tensor input) -> Tensor")
def pack_quantized(input):
    return input.contiguous()


@_composed("fbgemm_pack_quantized_matrix.KN(Tensor input, int K, int N) -> Tensor")
def pack_quantized_of_size(input, K, N):
    if input.numel() != K * N:
        raise RuntimeError(f"fbgemm_pack_quantized_matrix: expected {K} x {N} elements, got the shape {list(input.shape)}")
    return input.contiguous()


@_composed("fbgemm_pack_gemm_matrix_fp16(Tensor input) -> Tensor")
def pack_half(input):
    limits = torch.finfo(torch.float16)
    return input.clamp(limits.min, limits.max).to(torch.float16)


def _int8_linear(input, weight, col_offsets, weight_scale, weight_zero_point, bias):
    if weight.dim() != 2 or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"fbgemm_linear_int8_weight: expected an input of {list(weight.shape)[1:]} features, got the shapes {list(input.shape)} and {list(weight.shape)}"
        )
    scale, zero_point = _grid(input, 0, 255)
    values = (input.float() / scale).round().add(zero_point).clamp(0, 255)
    products = (values - zero_point).double() @ (weight.double() - int(weight_zero_point)).t()
    return (products * (scale * float(weight_scale))).float() + bias


_INT8 = "(Tensor input, Tensor weight, Tensor packed, Tensor col_offsets, Scalar weight_scale, Scalar weight_zero_point, Tensor bias) -> Tensor"


@_composed("fbgemm_linear_int8_weight_fp32_activation" + _INT8)
def int8_linear_of_floats(input, weight, packed, col_offsets, weight_scale, weight_zero_point, bias):
    return _int8_linear(input, weight, col_offsets, weight_scale, weight_zero_point, bias)


@_composed("fbgemm_linear_int8_weight" + _INT8)
def int8_linear(input, weight, packed, col_offsets, weight_scale, weight_zero_point, bias):
    return _int8_linear(input, weight, col_offsets, weight_scale, weight_zero_point, bias)


@_composed("fbgemm_linear_fp16_weight_fp32_activation(Tensor input, Tensor packed_weight, Tensor? bias) -> Tensor")
def half_linear_of_floats(input, packed_weight, bias):
    return torch.nn.functional.linear(input, packed_weight.float(), bias)


@_composed("fbgemm_linear_fp16_weight(Tensor input, Tensor packed_weight, Tensor bias) -> Tensor")
def half_linear(input, packed_weight, bias):
    return torch.nn.functional.linear(input, packed_weight.float(), bias)


# ---- recurrent cells ----------------------------------------------------------------------------------------------------------


def _parts(input, h, w_ih, w_hh, b_ih, b_hh, packed_ih, packed_hh, col_offsets_ih, col_offsets_hh, scale_ih, scale_hh, zero_point_ih, zero_point_hh):
    """The shares of the input and of the state in the gates."""
    return (
        _int8_linear(input, w_ih, col_offsets_ih, scale_ih, zero_point_ih, b_ih),
        _int8_linear(h, w_hh, col_offsets_hh, scale_hh, zero_point_hh, b_hh),
    )


@_composed(
    "quantized_lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, "
    "Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar zero_point_ih, Scalar zero_point_hh) -> (Tensor, Tensor)"
)
def quantized_lstm_cell(input, hx, *weights):
    from_input, from_state = _parts(input, hx[0], *weights)
    i, f, g, o = (from_input + from_state).chunk(4, 1)
    cell = f.sigmoid() * hx[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


@_composed(
    "quantized_gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, "
    "Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar zero_point_ih, Scalar zero_point_hh) -> Tensor"
)
def quantized_gru_cell(input, hx, *weights):
    (ri, zi, ni), (rh, zh, nh) = (part.chunk(3, 1) for part in _parts(input, hx, *weights))
    new = (ni + (ri + rh).sigmoid() * nh).tanh()
    return (hx - new) * (zi + zh).sigmoid() + new


def _simple_cell(name):
    @_composed(
        "quantized_rnn_NAME_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, "
        "Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar zero_point_ih, Scalar zero_point_hh) -> Tensor".replace(
            "NAME", name
        )
    )
    def cell(input, hx, *weights):
        from_input, from_state = _parts(input, hx, *weights)
        return getattr(from_input + from_state, name)()


_simple_cell("relu")
_simple_cell("tanh")
