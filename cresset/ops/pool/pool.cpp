// Pooling over kernels/pool/pool.h. Inputs are (C, spatial...) or (N, C, spatial...); outputs arrive contiguous.

#include "cresset/kernels/pool/pool.h"

#include <algorithm>

#include "cresset/ops/functions.h"
#include "cresset/ops/refusals.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using kernels::PoolShape;

int64_t value_at(IntArrayRef list, int64_t d) { return list.size() == 1 ? list[0] : list[static_cast<size_t>(d)]; }

void check_list(const char* op, const char* what, IntArrayRef list, int64_t dims, bool may_be_empty) {
  CRESSET_CHECK((may_be_empty && list.empty()) || list.size() == 1 || static_cast<int64_t>(list.size()) == dims, op, ": expected ", what, " to hold 1 or ",
                dims, " values, got ", list);
}

// Sizes from dimension `first` on must not be zero.
void check_input(const char* op, const Tensor& self, int64_t dims, int64_t first) {
  CRESSET_CHECK(self.dim() == dims + 1 || self.dim() == dims + 2, op, ": expected a ", dims + 1, "D or ", dims + 2, "D input, got shape ", self.sizes());
  for (int64_t d = first; d < self.dim(); d++)
    CRESSET_CHECK(self.size(d) > 0, op, ": expected non-zero sizes for all but the batch dimension, got shape ", self.sizes());
}

// The size after pooling; with ceil_mode a last window must still start inside the input or its left padding.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  const int64_t span = in + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t steps = span >= 0 ? span / stride : -((-span + stride - 1) / stride);
  if (ceil_mode && span % stride != 0 && span >= 0) steps++;
  if (ceil_mode && steps * stride >= in + padding) steps--;
  return steps + 1;
}

// Both shapes leave the leading dimensions that there are not at one.
PoolShape window_shape(const char* op, const Tensor& self, int64_t dims, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                       bool ceil_mode) {
  check_input(op, self, dims, self.dim() == dims + 2 ? 1 : 0);
  check_list(op, "kernel_size", kernel, dims, false);
  check_list(op, "stride", stride, dims, true);
  check_list(op, "padding", padding, dims, false);
  check_list(op, "dilation", dilation, dims, false);
  PoolShape p;
  p.planes = 1;
  const int64_t first = self.dim() - dims;
  for (int64_t d = 0; d < first; d++) p.planes *= self.size(d);
  const int64_t unused = 3 - dims;
  for (int64_t d = 0; d < dims; d++) {
    const int64_t i = unused + d;
    p.in[i] = self.size(first + d);
    p.kernel[i] = value_at(kernel, d);
    p.stride[i] = stride.empty() ? p.kernel[i] : value_at(stride, d);
    p.padding[i] = value_at(padding, d);
    p.dilation[i] = value_at(dilation, d);
    CRESSET_CHECK(p.kernel[i] > 0, op, ": kernel size should be greater than zero, got ", kernel);
    CRESSET_CHECK(p.stride[i] > 0, op, ": stride should be greater than zero, got ", stride);
    CRESSET_CHECK(p.dilation[i] > 0, op, ": dilation should be greater than zero, got ", dilation);
    CRESSET_CHECK(p.padding[i] >= 0 && p.padding[i] <= ((p.kernel[i] - 1) * p.dilation[i] + 1) / 2, op,
                  ": expected a padding of at most half of the dilated kernel, got padding ", padding, " for kernel_size ", kernel);
    p.out[i] = pooled_size(p.in[i], p.kernel[i], p.stride[i], p.padding[i], p.dilation[i], ceil_mode);
    CRESSET_CHECK(p.out[i] >= 1, op, ": input of shape ", self.sizes(), " is too small for kernel_size ", kernel, ": the output size would be ", p.out[i]);
  }
  return p;
}

PoolShape adaptive_shape(const char* op, const Tensor& self, int64_t dims, IntArrayRef output_size) {
  check_input(op, self, dims, 1);
  check_list(op, "output_size", output_size, dims, false);
  PoolShape p;
  p.planes = 1;
  const int64_t first = self.dim() - dims;
  for (int64_t d = 0; d < first; d++) p.planes *= self.size(d);
  for (int64_t d = 0; d < dims; d++) {
    p.in[3 - dims + d] = self.size(first + d);
    p.out[3 - dims + d] = value_at(output_size, d);
    CRESSET_CHECK(value_at(output_size, d) >= 0, op, ": output_size must be non-negative, got ", output_size);
  }
  return p;
}

DimVector last_of(const int64_t (&sizes)[3], int64_t dims) { return DimVector(IntArrayRef(&sizes[3 - dims], static_cast<size_t>(dims))); }

// The sizes an adaptive pooling is asked for, one for each dimension.
DimVector one_each(const char* op, const Tensor& self, int64_t dims, IntArrayRef output_size) {
  const PoolShape p = adaptive_shape(op, self, dims, output_size);
  return last_of(p.out, dims);
}

DimVector pooled_sizes(const Tensor& self, int64_t dims, const PoolShape& p) {
  DimVector s(self.sizes());
  for (int64_t d = 0; d < dims; d++) s[self.dim() - dims + d] = p.out[3 - dims + d];
  return s;
}

// Images keep their memory format.
OutSpec pooled(const Tensor& self, int64_t dims, const PoolShape& p, bool keeps_format) {
  OutSpec s{pooled_sizes(self, dims, p), self.scalar_type(), self.device()};
  if (!keeps_format) return s;
  if (dims == 3 && self.dim() == 4) {  // a volume without a batch, as one of a batch
    if (self.is_contiguous() || !self.unsqueeze(0).is_contiguous(MemoryFormat::ChannelsLast3d)) return s;
    DimVector whole{1};
    for (const int64_t n : s.sizes) whole.push_back(n);
    s.strides = DimVector(IntArrayRef(strides_for(whole, MemoryFormat::ChannelsLast3d)).slice(1));
    return s;
  }
  s.strides = format_strides(self, s.sizes);
  return s;
}

OutSpecs with_indices(const Tensor& self, int64_t dims, const PoolShape& p, bool keeps_format) {
  CRESSET_CHECK_NOT_IMPLEMENTED(self.scalar_type() != kBool || self.lacks_data(), "max_pool: not implemented for dtype bool");
  const OutSpec values = pooled(self, dims, p, keeps_format);
  return {values, OutSpec{values.sizes, kLong, values.device, values.strides}};
}

// A gradient to `t`: that of an image keeps its memory format.
OutSpec like(const Tensor& t, int64_t dims) {
  return {DimVector(t.sizes()), t.scalar_type(), t.device(), dims == 2 ? format_strides(t, t.sizes()) : DimVector()};
}

bool is_one(IntArrayRef sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n == 1; });
}

// Everything in one mean: of any number of leading dimensions, in the memory format of the input.
Tensor mean_plane(const Tensor& self, int64_t dims) {
  const int64_t last[] = {-1, -2, -3};
  const Tensor means = self.mean(IntArrayRef(last, static_cast<size_t>(dims)), true);
  return self.suggest_memory_format() == MemoryFormat::Contiguous ? means : means.clone(self.suggest_memory_format());
}

const char* in(const Tensor& t) { return static_cast<const char*>(t.data_ptr()); }
char* out_of(const Tensor& t) { return static_cast<char*>(t.data_ptr()); }

}  // namespace

// Each pooling in two and three dimensions.
#define CRESSET_POOL(N)                                                                                                                                        \
  namespace meta {                                                                                                                                             \
  OutSpecs max_pool##N##d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,             \
                                       bool ceil_mode) {                                                                                                       \
    return with_indices(self, N, window_shape("max_pool" #N "d", self, N, kernel_size, stride, padding, dilation, ceil_mode), true);                           \
  }                                                                                                                                                            \
  }                                                                                                                                                            \
  namespace cpu {                                                                                                                                              \
  void max_pool##N##d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, \
                                   const Tensor& out, const Tensor& indices) {                                                                                 \
    const Tensor x = self.contiguous();                                                                                                                        \
    const PoolShape p = window_shape("max_pool" #N "d", self, N, kernel_size, stride, padding, dilation, ceil_mode);                                           \
    if (out.numel() > 0) kernels::max_pool(in(x), out_of(out), static_cast<int64_t*>(indices.data_ptr()), x.scalar_type(), p);                                 \
  }                                                                                                                                                            \
  }                                                                                                                                                            \
  namespace composite {                                                                                                                                        \
  Tensor max_pool##N##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {          \
    return std::get<0>(cresset::max_pool##N##d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));                                         \
  }                                                                                                                                                            \
  Tensor avg_pool##N##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,          \
                        std::optional<int64_t> divisor_override) {                                                                                             \
    if (N == 2) self.size(-3); /* too few dimensions are an index out of range, as in PyTorch */                                                               \
    const PoolShape p = window_shape("avg_pool" #N "d", self, N, kernel_size, stride, padding, {1}, ceil_mode);                                                \
    return cresset::_avg_pool(self, last_of(p.kernel, N), stride, padding, ceil_mode, count_include_pad, divisor_override);                                    \
  }                                                                                                                                                            \
  Tensor _adaptive_avg_pool##N##d(const Tensor& self, IntArrayRef output_size) {                                                                               \
    return cresset::_adaptive_avg_pool(self, one_each("adaptive_avg_pool" #N "d", self, N, output_size));                                                      \
  }                                                                                                                                                            \
  Tensor adaptive_avg_pool##N##d(const Tensor& self, IntArrayRef output_size) {                                                                                \
    if (N > 1 && output_size.size() == N && is_one(output_size)) return mean_plane(self, N);                                                                   \
    return cresset::_adaptive_avg_pool(self, one_each("adaptive_avg_pool" #N "d", self, N, output_size));                                                      \
  }                                                                                                                                                            \
  std::tuple<Tensor, Tensor> adaptive_max_pool##N##d(const Tensor& self, IntArrayRef output_size) {                                                            \
    return cresset::_adaptive_max_pool(self, one_each("adaptive_max_pool" #N "d", self, N, output_size));                                                      \
  }                                                                                                                                                            \
  }
CRESSET_POOL(2)
CRESSET_POOL(3)
#undef CRESSET_POOL

namespace meta {

OutSpec _avg_pool_backward(const Tensor&, const Tensor& self, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool, std::optional<int64_t>, int64_t dims) {
  return like(self, dims);
}
OutSpec _avg_pool(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool,
                  std::optional<int64_t> divisor_override) {
  const auto dims = static_cast<int64_t>(kernel_size.size());
  CRESSET_CHECK(!divisor_override || *divisor_override != 0, "avg_pool", dims, "d: divisor must be not zero");
  return pooled(self, dims, window_shape("avg_pool", self, dims, kernel_size, stride, padding, {1}, ceil_mode), dims == 2);
}
OutSpec _adaptive_avg_pool(const Tensor& self, IntArrayRef output_size) {
  const auto dims = static_cast<int64_t>(output_size.size());
  refuse_integers("adaptive_avg_pool", self);
  return pooled(self, dims, adaptive_shape("adaptive_avg_pool", self, dims, output_size), dims == 2 || is_one(output_size));
}
OutSpecs _adaptive_max_pool(const Tensor& self, IntArrayRef output_size) {
  const auto dims = static_cast<int64_t>(output_size.size());
  refuse_integers("adaptive_max_pool", self);
  return with_indices(self, dims, adaptive_shape("adaptive_max_pool", self, dims, output_size), dims == 2);
}
// Planes that pooling made empty have no part in a gradient.
void check_planes(const char* op, const Tensor& grad_output, int64_t dims) {
  for (int64_t d = grad_output.dim() - dims; d < grad_output.dim(); d++)
    CRESSET_CHECK(grad_output.size(d) > 0, op, ": expected a gradient of planes with elements, got shape ", grad_output.sizes());
}
OutSpec _adaptive_avg_pool_backward(const Tensor& grad_output, const Tensor& self, int64_t dims) {
  check_planes("adaptive_avg_pool backward", grad_output, dims);
  return like(self, dims);
}

OutSpec _pool_backward_by_index(const Tensor& grad_output, const Tensor& indices, IntArrayRef sizes, int64_t dims) {
  CRESSET_CHECK(grad_output.sizes() == indices.sizes(), "max_pool backward: expected a gradient of shape ", indices.sizes(), ", got ", grad_output.sizes());
  check_planes("max_pool backward", grad_output, dims);
  return {DimVector(sizes), grad_output.scalar_type(), grad_output.device(), dims == 2 ? format_strides(indices, sizes) : DimVector()};
}

}  // namespace meta

namespace cpu {

void _avg_pool_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                        bool count_include_pad, std::optional<int64_t> divisor_override, int64_t dims, const Tensor& out) {
  const Tensor dy = grad_output.contiguous();
  const PoolShape p = window_shape("avg_pool", self, dims, kernel_size, stride, padding, {1}, ceil_mode);
  if (out.numel() > 0) kernels::avg_pool_backward(in(dy), out_of(out), dy.scalar_type(), p, count_include_pad, divisor_override.value_or(0));
}
void _avg_pool(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
               std::optional<int64_t> divisor_override, const Tensor& out) {
  const Tensor x = self.contiguous();
  const PoolShape p = window_shape("avg_pool", self, static_cast<int64_t>(kernel_size.size()), kernel_size, stride, padding, {1}, ceil_mode);
  if (out.numel() > 0) kernels::avg_pool(in(x), out_of(out), x.scalar_type(), p, count_include_pad, divisor_override.value_or(0));
}
void _adaptive_avg_pool(const Tensor& self, IntArrayRef output_size, const Tensor& out) {
  const Tensor x = self.contiguous();
  const PoolShape p = adaptive_shape("adaptive_avg_pool", self, static_cast<int64_t>(output_size.size()), output_size);
  if (out.numel() > 0) kernels::adaptive_avg_pool(in(x), out_of(out), x.scalar_type(), p);
}
void _adaptive_max_pool(const Tensor& self, IntArrayRef output_size, const Tensor& out, const Tensor& indices) {
  const Tensor x = self.contiguous();
  const PoolShape p = adaptive_shape("adaptive_max_pool", self, static_cast<int64_t>(output_size.size()), output_size);
  if (out.numel() > 0) kernels::adaptive_max_pool(in(x), out_of(out), static_cast<int64_t*>(indices.data_ptr()), x.scalar_type(), p);
}
void _adaptive_avg_pool_backward(const Tensor& grad_output, const Tensor& self, int64_t dims, const Tensor& out) {
  const Tensor dy = grad_output.contiguous();
  const PoolShape p = adaptive_shape("adaptive_avg_pool", self, dims, dy.sizes().slice(static_cast<size_t>(dy.dim() - dims)));
  if (out.numel() > 0) kernels::adaptive_avg_pool_backward(in(dy), out_of(out), dy.scalar_type(), p);
}

// The last `dims` dimensions are one plane, into which the indices point.
void _pool_backward_by_index(const Tensor& grad_output, const Tensor& indices, IntArrayRef, int64_t dims, const Tensor& out) {
  const Tensor dy = grad_output.contiguous(), at = indices.contiguous();
  int64_t planes = 1, in_size = 1, out_size = 1;
  for (int64_t d = 0; d < out.dim() - dims; d++) planes *= out.size(d);
  for (int64_t d = out.dim() - dims; d < out.dim(); d++) {
    in_size *= out.size(d);
    out_size *= dy.size(d);
  }
  if (out.numel() > 0) kernels::max_pool_backward(in(dy), static_cast<const int64_t*>(at.data_ptr()), out_of(out), dy.scalar_type(), planes, in_size, out_size);
}

}  // namespace cpu

namespace composite {

// One dimension is an image of one row.
namespace {

DimVector in_row(IntArrayRef list, int64_t otherwise) { return list.empty() ? DimVector() : DimVector({otherwise, list[0]}); }

std::tuple<Tensor, Tensor> without_row(const std::tuple<Tensor, Tensor>& pooled) { return {std::get<0>(pooled).squeeze(-2), std::get<1>(pooled).squeeze(-2)}; }

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                                   bool ceil_mode) {
  window_shape("max_pool1d", self, 1, kernel_size, stride, padding, dilation, ceil_mode);
  refuse_integers("max_pool1d", self);
  return without_row(
      cresset::max_pool2d_with_indices(self.unsqueeze(-2), in_row(kernel_size, 1), in_row(stride, 1), in_row(padding, 0), in_row(dilation, 1), ceil_mode));
}
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(cresset::max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  window_shape("avg_pool1d", self, 1, kernel_size, stride, padding, {1}, ceil_mode);
  return cresset::avg_pool2d(self.unsqueeze(-2), in_row(kernel_size, 1), in_row(stride, 1), in_row(padding, 0), ceil_mode, count_include_pad, divisor_override)
      .squeeze(-2);
}
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  adaptive_shape("adaptive_avg_pool1d", self, 1, output_size);
  return cresset::adaptive_avg_pool2d(self.unsqueeze(-2), in_row(output_size, 1)).squeeze(-2);
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  adaptive_shape("adaptive_max_pool1d", self, 1, output_size);
  return without_row(cresset::adaptive_max_pool2d(self.unsqueeze(-2), in_row(output_size, 1)));
}

// Reads one element of each plane per index: the gradient of _pool_backward_by_index.
Tensor _pool_gather(const Tensor& x, const Tensor& indices, int64_t dims) {
  return x.flatten(-dims, -1).gather(-1, indices.flatten(-dims, -1)).view(indices.sizes());
}

Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                                        IntArrayRef dilation, bool ceil_mode, const Tensor& indices) {
  const PoolShape p = window_shape("max_pool2d_with_indices_backward", self, 2, kernel_size, stride, padding, dilation, ceil_mode);
  DimVector shape(self.sizes());
  shape[shape.size() - 2] = p.out[1];
  shape[shape.size() - 1] = p.out[2];
  CRESSET_CHECK(indices.sizes() == IntArrayRef(shape), "max_pool2d_with_indices_backward: expected indices of shape ", IntArrayRef(shape), ", got ",
                indices.sizes());
  const Tensor grad = cresset::_pool_backward_by_index(grad_output, indices, self.sizes(), 2).contiguous(self.suggest_memory_format());
  // A constant of self, with a gradient of zeros.
  if (!layer_state().grad_mode || !self.requires_grad()) return grad;
  return grad + cresset::where(cresset::zeros_like(self, TensorOptions(kBool)), self, 0);
}

Tensor lp_pool(const Tensor& self, double norm_type, IntArrayRef kernel_size, IntArrayRef stride, bool ceil_mode) {
  const size_t dims = kernel_size.size();
  double window = 1;
  for (const int64_t k : kernel_size) window *= static_cast<double>(k);
  const Tensor powers = self.pow(norm_type);
  const Tensor means = dims == 1   ? cresset::avg_pool1d(powers, kernel_size, stride, 0, ceil_mode)
                       : dims == 2 ? cresset::avg_pool2d(powers, kernel_size, stride, 0, ceil_mode)
                                   : cresset::avg_pool3d(powers, kernel_size, stride, 0, ceil_mode);
  return (means.sign() * cresset::relu(means.abs())).mul(window).pow(1.0 / norm_type);
}

}  // namespace composite

}  // namespace cresset::ops
