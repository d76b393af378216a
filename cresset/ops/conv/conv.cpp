// Convolutions: `convolution` and its backward over kernels/conv/conv.h; conv1d...conv_transpose3d as composites.

#include "cresset/ops/conv/conv.h"

#include "cresset/core/memory_format.h"
#include "cresset/kernels/conv/conv.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

// One value stands for all spatial dimensions.
DimVector expand_list(const char* op, const char* what, IntArrayRef list, int64_t dims) {
  if (list.size() == 1) return DimVector(static_cast<size_t>(dims), list[0]);
  CRESSET_CHECK(static_cast<int64_t>(list.size()) == dims, op, ": expected ", what, " to hold 1 or ", dims, " values, got ", list);
  return DimVector(list);
}

struct Geometry {
  int64_t dims;
  DimVector stride, padding, dilation, output_padding;
  bool transposed;
};

Geometry geometry(const Tensor& input, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding) {
  const int64_t dims = input.dim() - 2;
  CRESSET_CHECK(dims >= 1 && dims <= 3, "convolution: expected 1 to 3 spatial dimensions, got input of shape ", input.sizes());
  return {dims,
          expand_list("convolution", "stride", stride, dims),
          expand_list("convolution", "padding", padding, dims),
          expand_list("convolution", "dilation", dilation, dims),
          expand_list("convolution", "output_padding", output_padding, dims),
          transposed};
}

DimVector output_shape(const Tensor& input, const Tensor& weight, const Geometry& g, int64_t groups) {
  CRESSET_CHECK(groups > 0, "convolution: non-positive groups is not supported, got ", groups);
  CRESSET_CHECK(weight.dim() == input.dim(), "convolution: expected a weight of ", input.dim(), " dimensions for input of shape ", input.sizes(),
                ", got weight of shape ", weight.sizes());
  CRESSET_CHECK(input.scalar_type() == weight.scalar_type(), "convolution: input dtype ", input.scalar_type(), " and weight dtype ", weight.scalar_type(),
                " should be the same");
  CRESSET_CHECK(input.device() == weight.device(), "convolution: expected all tensors to be on the same device, got ", input.device(), " and ",
                weight.device());
  for (int64_t d = 0; d < g.dims; d++) {
    CRESSET_CHECK(g.stride[d] > 0, "convolution: non-positive stride is not supported, got ", g.stride);
    CRESSET_CHECK(g.padding[d] >= 0, "convolution: negative padding is not supported, got ", g.padding);
    CRESSET_CHECK(g.dilation[d] > 0, "convolution: dilation should be greater than zero, got ", g.dilation);
    CRESSET_CHECK(weight.size(d + 2) > 0, "convolution: kernel sizes must be positive, got weight of shape ", weight.sizes());
  }
  CRESSET_CHECK(weight.size(0) > 0, "convolution: given groups=", groups, ", expected weight to be at least 1 at dimension 0, got weight of size ",
                weight.sizes());
  CRESSET_CHECK(weight.size(0) % groups == 0, "convolution: expected the weight's first dimension to be divisible by groups ", groups, ", got weight of shape ",
                weight.sizes());
  const int64_t expected = g.transposed ? weight.size(0) : weight.size(1) * groups;
  CRESSET_CHECK(input.size(1) == expected, "convolution: given groups=", groups, ", weight of size ", weight.sizes(), ", expected input ", input.sizes(),
                " to have ", expected, " channels, but got ", input.size(1), " channels instead");
  DimVector shape{input.size(0), g.transposed ? weight.size(1) * groups : weight.size(0)};
  for (int64_t d = 0; d < g.dims; d++) {
    const int64_t in = input.size(d + 2), reach = g.dilation[d] * (weight.size(d + 2) - 1) + 1;
    int64_t out;
    if (g.transposed) {
      CRESSET_CHECK(g.output_padding[d] >= 0 && (g.output_padding[d] < g.stride[d] || g.output_padding[d] < g.dilation[d]),
                    "convolution: expected output_padding below stride or dilation, got output_padding ", g.output_padding, ", stride ", g.stride,
                    ", dilation ", g.dilation);
      out = (in - 1) * g.stride[d] - 2 * g.padding[d] + reach + g.output_padding[d];
      CRESSET_CHECK(out > 0, "convolution: given input size ", input.sizes(), ", the calculated output size ", out, " is too small");
    } else {
      CRESSET_CHECK(in + 2 * g.padding[d] >= reach, "convolution: calculated padded input size ", in + 2 * g.padding[d], " is smaller than the kernel size ",
                    reach, " (dilation included) in dimension ", d + 2, " of input ", input.sizes());
      out = (in + 2 * g.padding[d] - reach) / g.stride[d] + 1;
    }
    shape.push_back(out);
  }
  return shape;
}

// Parameters of the forward convolution that maps `image` to the other side; for a transposed one the image is the result.
kernels::ConvParams params_of(const Geometry& g, IntArrayRef image, const Tensor& weight, int64_t groups) {
  kernels::ConvParams p;
  p.dims = static_cast<int>(g.dims);
  p.batch = image[0];
  p.in_channels = weight.size(1) * groups;
  p.out_channels = weight.size(0);
  p.groups = groups;
  for (int64_t d = 0; d < g.dims; d++) {
    p.input[d] = image[d + 2];
    p.kernel[d] = weight.size(d + 2);
    p.stride[d] = g.stride[d];
    p.padding[d] = g.padding[d];
    p.dilation[d] = g.dilation[d];
  }
  return p;
}

// An output padding of a stride or more reaches outputs that belong to inputs past the end, which are zero.
DimVector sizes_past_the_end(IntArrayRef sizes, const Geometry& g) {
  DimVector longer(sizes);
  for (int64_t d = 0; g.transposed && d < g.dims; d++) longer[d + 2] += g.output_padding[d] / g.stride[d];
  return longer;
}
// The part of `longer` that lies before the end.
Tensor before_the_end(const Tensor& longer, IntArrayRef sizes) {
  Tensor t = longer;
  for (size_t d = 2; d < sizes.size(); d++) t = t.narrow(static_cast<int64_t>(d), 0, sizes[d]);
  return t;
}
Tensor zeros_past_the_end(const Tensor& input, const Geometry& g) {
  const DimVector sizes = sizes_past_the_end(input.sizes(), g);
  if (input.sizes() == IntArrayRef(sizes)) return input.contiguous();
  const Tensor longer = cresset::zeros(sizes, input.options());
  before_the_end(longer, input.sizes()).copy_(input);
  return longer;
}

void run_forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Geometry& g, int64_t groups, const Tensor& out) {
  const Tensor x = zeros_past_the_end(input, g), w = weight.contiguous(), b = bias.defined() ? bias.contiguous() : Tensor();
  const void* bias_data = b.defined() ? b.data_ptr() : nullptr;
  if (out.numel() == 0) return;
  if (x.numel() == 0) {
    out.zero_();
    // Without channels there is nothing to be biased: the result and the gradients are zero, as in PyTorch.
    if (b.defined() && input.size(1) > 0) {
      DimVector shape(static_cast<size_t>(out.dim()), 1);
      shape[1] = b.numel();
      out.add_(b.view(shape));
    }
    return;
  }
  if (g.transposed)
    kernels::conv_backward_input(out.scalar_type(), params_of(g, out.sizes(), w, groups), x.data_ptr(), w.data_ptr(), bias_data, out.data_ptr());
  else kernels::conv_forward(out.scalar_type(), params_of(g, x.sizes(), w, groups), x.data_ptr(), w.data_ptr(), bias_data, out.data_ptr());
}

// Gradients are in the format of the gradient that comes, which the derivative rule has put into that of the result.
DimVector grad_strides(const Tensor& grad_output, IntArrayRef sizes) {
  return sizes.size() == static_cast<size_t>(grad_output.dim()) && !is_complex_type(grad_output.scalar_type()) ? format_strides(grad_output, sizes)
                                                                                                               : DimVector();
}

}  // namespace

MemoryFormat convolution_format(ScalarType dtype, IntArrayRef input_sizes, IntArrayRef input_strides, IntArrayRef weight_sizes, IntArrayRef weight_strides) {
  if (input_sizes.size() != weight_sizes.size()) return MemoryFormat::Contiguous;
  if (input_sizes.size() == 5 && (dtype == kDouble || (input_sizes[0] == 1 && dtype != kHalf && dtype != kBFloat16))) return MemoryFormat::Contiguous;
  const MemoryFormat format = suggested_format(input_sizes, input_strides);
  return format != MemoryFormat::Contiguous ? format : suggested_format(weight_sizes, weight_strides);
}

namespace meta {

OutSpec convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                    bool transposed, IntArrayRef output_padding, int64_t groups) {
  const Geometry g = geometry(input, stride, padding, dilation, transposed, output_padding);
  const DimVector shape = output_shape(input, weight, g, groups);
  if (bias && bias->defined()) {
    CRESSET_CHECK(bias->dim() == 1 && bias->size(0) == shape[1], "convolution: given weight of size ", weight.sizes(),
                  ", expected a bias of one dimension with ", shape[1], " elements, got bias of size ", bias->sizes());
    CRESSET_CHECK(bias->scalar_type() == input.scalar_type(), "convolution: input dtype ", input.scalar_type(), " and bias dtype ", bias->scalar_type(),
                  " should be the same");
  }
  OutSpec spec{shape, input.scalar_type(), input.device()};
  const MemoryFormat format = convolution_format(input.scalar_type(), input.sizes(), input.strides(), weight.sizes(), weight.strides());
  if (format != MemoryFormat::Contiguous) spec.strides = strides_for(shape, format);
  return spec;
}

OutSpec convolution_grad_input(const Tensor& grad_output, const Tensor&, IntArrayRef input_sizes, IntArrayRef, IntArrayRef, IntArrayRef, bool, IntArrayRef,
                               int64_t) {
  return {DimVector(input_sizes), grad_output.scalar_type(), grad_output.device(), grad_strides(grad_output, input_sizes)};
}

OutSpec convolution_grad_weight(const Tensor& grad_output, const Tensor&, IntArrayRef weight_sizes, IntArrayRef, IntArrayRef, IntArrayRef, bool, IntArrayRef,
                                int64_t) {
  return {DimVector(weight_sizes), grad_output.scalar_type(), grad_output.device(), grad_strides(grad_output, weight_sizes)};
}

}  // namespace meta

namespace cpu {

void convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                 bool transposed, IntArrayRef output_padding, int64_t groups, const Tensor& out) {
  run_forward(input, weight, bias.value_or(Tensor()), geometry(input, stride, padding, dilation, transposed, output_padding), groups, out);
}

// The input's gradient alone: a convolution the other way round.
void convolution_grad_input(const Tensor& grad_output, const Tensor& weight, IntArrayRef, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                            bool transposed, IntArrayRef output_padding, int64_t groups, const Tensor& out) {
  const Geometry g = geometry(grad_output, stride, padding, dilation, transposed, output_padding);
  if (out.numel() == 0) return;
  if (grad_output.numel() == 0) {
    out.zero_();
    return;
  }
  const Tensor dy = grad_output.contiguous(), w = weight.contiguous();
  if (transposed) {
    const DimVector sizes = sizes_past_the_end(out.sizes(), g);
    const Tensor dx = out.sizes() == IntArrayRef(sizes) ? out : cresset::empty(sizes, out.options());
    kernels::conv_forward(out.scalar_type(), params_of(g, dy.sizes(), w, groups), dy.data_ptr(), w.data_ptr(), nullptr, dx.data_ptr());
    if (!dx.is_same(out)) out.copy_(before_the_end(dx, out.sizes()));
  } else {
    kernels::conv_backward_input(out.scalar_type(), params_of(g, out.sizes(), w, groups), dy.data_ptr(), w.data_ptr(), nullptr, out.data_ptr());
  }
}

void convolution_grad_weight(const Tensor& grad_output, const Tensor& input, IntArrayRef, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                             bool transposed, IntArrayRef output_padding, int64_t groups, const Tensor& out) {
  const Geometry g = geometry(input, stride, padding, dilation, transposed, output_padding);
  if (out.numel() == 0) return;
  if (grad_output.numel() == 0 || input.numel() == 0) {
    out.zero_();
    return;
  }
  const Tensor dy = grad_output.contiguous(), x = zeros_past_the_end(input, g);
  const Tensor& image = transposed ? dy : x;
  const Tensor& other = transposed ? x : dy;
  kernels::conv_backward_weight(out.scalar_type(), params_of(g, image.sizes(), out, groups), image.data_ptr(), other.data_ptr(), out.data_ptr(), nullptr);
}

}  // namespace cpu

namespace composite {

namespace {

Tensor conv(const char* op, int64_t dims, const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
            IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const bool batched = input.dim() == dims + 2;
  CRESSET_CHECK(batched || input.dim() == dims + 1, op, ": expected ", dims + 1, "-dimensional (unbatched) or ", dims + 2,
                "-dimensional (batched) input, got input of shape ", input.sizes());
  const DimVector s = expand_list(op, "stride", stride, dims), p = expand_list(op, "padding", padding, dims), d = expand_list(op, "dilation", dilation, dims),
                  o = expand_list(op, "output_padding", output_padding, dims);
  const Tensor out = cresset::convolution(batched ? input : input.unsqueeze(0), weight, bias, s, p, d, transposed, o, groups);
  return batched ? out : out.squeeze(0);
}

// "same" needs an extra zero at the end of a dimension whose total padding is odd; "valid" pads nothing.
Tensor conv_padded(const char* op, int64_t dims, const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                   std::string_view padding, IntArrayRef dilation, int64_t groups) {
  if (padding == "valid") return conv(op, dims, input, weight, bias, stride, {0}, dilation, false, {0}, groups);
  CRESSET_CHECK(padding == "same", op, ": invalid padding string \"", std::string(padding), "\", expected \"valid\" or \"same\"");
  const DimVector d = expand_list(op, "dilation", dilation, dims);
  for (const int64_t s : stride) CRESSET_CHECK(s == 1, op, ": padding=\"same\" is not supported for strided convolutions, got stride ", stride);
  CRESSET_CHECK(weight.dim() == dims + 2, op, ": expected a weight of ", dims + 2, " dimensions, got shape ", weight.sizes());
  DimVector both(static_cast<size_t>(dims)), extra(static_cast<size_t>(2 * dims), 0);
  bool uneven = false;
  for (int64_t i = 0; i < dims; i++) {
    const int64_t total = d[i] * (weight.size(i + 2) - 1);
    both[i] = total / 2;
    // Pairs run from the last dimension to the first: (before, after).
    extra[2 * (dims - 1 - i) + 1] = total % 2;
    uneven = uneven || total % 2;
  }
  return conv(op, dims, uneven ? cresset::constant_pad_nd(input, extra, 0) : input, weight, bias, stride, both, d, false, {0}, groups);
}

}  // namespace

#define CRESSET_CONV(N)                                                                                                                              \
  Tensor conv##N##d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,           \
                    IntArrayRef dilation, int64_t groups) {                                                                                          \
    return conv("conv" #N "d", N, input, weight, bias, stride, padding, dilation, false, {0}, groups);                                               \
  }                                                                                                                                                  \
  Tensor conv##N##d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, std::string_view padding,      \
                    IntArrayRef dilation, int64_t groups) {                                                                                          \
    return conv_padded("conv" #N "d", N, input, weight, bias, stride, padding, dilation, groups);                                                    \
  }                                                                                                                                                  \
  Tensor conv_transpose##N##d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, \
                              IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {                                                    \
    return conv("conv_transpose" #N "d", N, input, weight, bias, stride, padding, dilation, true, output_padding, groups);                           \
  }
CRESSET_CONV(1)
CRESSET_CONV(2)
CRESSET_CONV(3)
#undef CRESSET_CONV

Tensor _convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                    bool transposed, IntArrayRef output_padding, int64_t groups, bool, bool, bool, bool) {
  return cresset::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}
Tensor _convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                    bool transposed, IntArrayRef output_padding, int64_t groups, bool, bool, bool) {
  return cresset::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

}  // namespace composite

}  // namespace cresset::ops
