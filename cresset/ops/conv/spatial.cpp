// Padding, resizing and unfolding over kernels/layout/layout.h.

#include "cresset/kernels/layout/layout.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/refusals.h"

namespace cresset::ops {

namespace {

using kernels::PadMode;
using kernels::ResizeMode;
using kernels::Strided;

PadMode pad_mode(int64_t mode) { return static_cast<PadMode>(mode); }

OutSpec padded(const char* op, const Tensor& self, IntArrayRef pad) {
  CRESSET_CHECK(pad.size() % 2 == 0, op, ": length of pad must be even, got ", pad);
  const int64_t n = self.dim(), pairs = static_cast<int64_t>(pad.size() / 2);
  CRESSET_CHECK(pairs <= n, op, ": pad has more than two numbers for each dimension of the input, got pad ", pad, " for shape ", self.sizes());
  OutSpec s{DimVector(self.sizes()), self.scalar_type(), self.device()};
  for (int64_t i = 0; i < pairs; i++) {
    s.sizes[n - 1 - i] += pad[2 * i] + pad[2 * i + 1];
    CRESSET_CHECK(s.sizes[n - 1 - i] >= 0, op, ": the input size ", self.size(n - 1 - i), " plus negative padding ", pad[2 * i], " and ", pad[2 * i + 1],
                  " leaves nothing of the input");
  }
  s.strides = format_strides(self, s.sizes);
  return s;
}

void check_mode_pad(const Tensor& self, IntArrayRef pad, int64_t mode) {
  constexpr const char* kNames[] = {"reflect", "replicate", "circular"};
  const int64_t pairs = static_cast<int64_t>(pad.size() / 2);
  CRESSET_CHECK(pairs >= 1 && pairs <= 3 && (self.dim() == pairs + 1 || self.dim() == pairs + 2), "pad: mode ", kNames[mode], " pads the last ", pairs, " of ",
                pairs + 1, " or ", pairs + 2, " dimensions, got input of shape ", self.sizes());
  CRESSET_CHECK(mode == 2 || self.dim() == pairs + 1 || self.size(1) > 0, "pad: mode ", kNames[mode], " expects channels, got shape ", self.sizes());
  for (int64_t i = 0; i < pairs; i++) {
    const int64_t n = self.size(self.dim() - 1 - i), most = std::max(pad[2 * i], pad[2 * i + 1]);
    CRESSET_CHECK(mode != 0 || most < n, "pad: expected padding below the size of the dimension, got padding (", pad[2 * i], ", ", pad[2 * i + 1],
                  ") at dimension ", self.dim() - 1 - i, " of input ", self.sizes());
    CRESSET_CHECK(mode != 2 || most <= n, "pad: padding value causes wrapping around more than once, got padding (", pad[2 * i], ", ", pad[2 * i + 1],
                  ") for size ", n);
    CRESSET_CHECK(n > 0, "pad: expected non-zero sizes for the padded dimensions, got shape ", self.sizes());
  }
}

kernels::ResizeOptions resize_options(int64_t mode, bool align_corners, bool antialias, const std::optional<ArrayRef<double>>& scales) {
  kernels::ResizeOptions o;
  o.mode = static_cast<ResizeMode>(mode);
  o.align_corners = align_corners;
  o.antialias = antialias;
  if (scales)
    for (size_t d = 0; d < scales->size() && d < 3; d++) o.scales[d] = (*scales)[d];
  return o;
}

kernels::Window2d window_of(IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  for (IntArrayRef list : {kernel, dilation, padding, stride})
    CRESSET_CHECK(list.size() == 1 || list.size() == 2, "unfold: expected kernel_size, dilation, padding and stride to hold 1 or 2 values each, got ", kernel,
                  ", ", dilation, ", ", padding, " and ", stride);
  kernels::Window2d w;
  auto at = [](IntArrayRef l, size_t d) { return l.size() == 1 ? l[0] : l[d]; };
  for (size_t d = 0; d < 2; d++) {
    w.kernel[d] = at(kernel, d);
    w.dilation[d] = at(dilation, d);
    w.padding[d] = at(padding, d);
    w.stride[d] = at(stride, d);
    CRESSET_CHECK(w.kernel[d] > 0 && w.dilation[d] > 0 && w.stride[d] > 0 && w.padding[d] >= 0,
                  "unfold: kernel size, dilation and stride must be positive and padding not negative, got kernel_size ", kernel, ", dilation ", dilation,
                  ", stride ", stride, ", padding ", padding);
  }
  return w;
}

}  // namespace

namespace meta {

OutSpec constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar&) { return padded("constant_pad_nd", self, pad); }
OutSpec _pad_mode(const Tensor& self, IntArrayRef pad, int64_t mode) {
  check_mode_pad(self, pad, mode);
  const bool has = pad_mode(mode) == PadMode::circular || self.scalar_type() != kBool;
  CRESSET_CHECK_NOT_IMPLEMENTED(has || self.lacks_data(), "pad: reflect and replicate are not implemented for dtype bool");
  OutSpec s = padded("pad", self, pad);
  if (pad_mode(mode) == PadMode::circular) s.strides.clear();
  return s;
}
OutSpec _pad_mode_backward(const Tensor& grad_output, IntArrayRef sizes, IntArrayRef, int64_t) {
  return {DimVector(sizes), grad_output.scalar_type(), grad_output.device(), format_strides(grad_output, sizes)};
}
OutSpec _resize_images(const Tensor& self, IntArrayRef output_size, int64_t mode, bool, bool, const std::optional<ArrayRef<double>>&) {
  const int64_t dims = static_cast<int64_t>(output_size.size());
  CRESSET_CHECK(self.dim() == dims + 2, "interpolate: expected an input of ", dims + 2, " dimensions for output_size ", output_size, ", got shape ",
                self.sizes());
  CRESSET_CHECK(self.size(1) > 0, "interpolate: expected an input with channels, got shape ", self.sizes());
  const auto by = static_cast<ResizeMode>(mode);
  refuse_integers("interpolate", self, by == ResizeMode::linear && dims != 2 ? ButAlso::none : ButAlso::bytes);
  const bool nearest = by == ResizeMode::nearest || by == ResizeMode::nearest_exact;
  CRESSET_CHECK_NOT_IMPLEMENTED(!nearest || !self.is_complex() || self.lacks_data(), "interpolate: not implemented for dtype ", self.scalar_type());
  OutSpec s{DimVector(self.sizes()), self.scalar_type(), self.device()};
  for (int64_t d = 0; d < dims; d++) {
    CRESSET_CHECK(self.size(d + 2) > 0 && output_size[d] > 0, "interpolate: input and output sizes should be greater than 0, got input ", self.sizes(),
                  " and output_size ", output_size);
    s.sizes[d + 2] = output_size[d];
  }
  s.strides = format_strides(self, s.sizes);
  return s;
}
OutSpec _resize_images_backward(const Tensor& grad_output, IntArrayRef input_size, int64_t, bool, bool, const std::optional<ArrayRef<double>>&) {
  return {DimVector(input_size), grad_output.scalar_type(), grad_output.device()};
}
OutSpec _im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  CRESSET_CHECK(self.dim() == 4, "unfold: Input Error: Only 4D input Tensors are supported (got ", self.dim(), "D), shape ", self.sizes());
  refuse_integers("unfold", self, ButAlso::bools);
  const auto w = window_of(kernel_size, dilation, padding, stride);
  const int64_t h = w.positions(self.size(2), 0), v = w.positions(self.size(3), 1);
  const auto pair = [](IntArrayRef a) { return str("(", a.front(), ", ", a.back(), ")"); };
  CRESSET_CHECK(h > 0 && v > 0, "unfold: Given input with spatial size (", self.size(2), ", ", self.size(3), "), kernel_size=", pair(kernel_size),
                ", dilation=", pair(dilation), ", padding=", pair(padding), ", calculated shape of the array of sliding blocks as (", h, ", ", v,
                "), but its components must be at least one.");
  return {{self.size(0), self.size(1) * w.kernel[0] * w.kernel[1], h * v}, self.scalar_type(), self.device()};
}
OutSpec _col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  CRESSET_CHECK(self.dim() == 3, "fold: Input Error: Only unbatched (2D) or batched (3D) input Tensors are supported (got ", self.dim(), "D)");
  CRESSET_CHECK(output_size.size() == 2, "fold: expected 2 output sizes, got ", output_size);
  refuse_integers("fold", self, ButAlso::bools);
  const auto w = window_of(kernel_size, dilation, padding, stride);
  const int64_t block = w.kernel[0] * w.kernel[1], h = w.positions(output_size[0], 0), v = w.positions(output_size[1], 1);
  CRESSET_CHECK(self.size(1) % block == 0, "fold: expected dimension 1 of the input to be divisible by ", block, ", got ", self.size(1));
  CRESSET_CHECK(self.size(2) == h * v, "fold: expected dimension 2 of the input to match the number of sliding blocks ", h * v, ", got ", self.size(2));
  return {{self.size(0), self.size(1) / block, output_size[0], output_size[1]}, self.scalar_type(), self.device()};
}

}  // namespace meta

namespace cpu {

void constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value, const Tensor& out) {
  if (out.numel() > 0) kernels::pad_constant(view_of(out), view_of(self), pad, value);
}
void _pad_mode(const Tensor& self, IntArrayRef pad, int64_t mode, const Tensor& out) {
  if (out.numel() > 0) kernels::pad(view_of(out), view_of(self), pad, pad_mode(mode));
}
void _pad_mode_backward(const Tensor& grad_output, IntArrayRef, IntArrayRef pad, int64_t mode, const Tensor& out) {
  if (out.numel() > 0) kernels::pad_backward(view_of(out), view_of(grad_output), pad, pad_mode(mode));
}
void _resize_images(const Tensor& self, IntArrayRef, int64_t mode, bool align_corners, bool antialias, const std::optional<ArrayRef<double>>& scales,
                    const Tensor& out) {
  if (out.numel() > 0) kernels::resize(view_of(out), view_of(self), resize_options(mode, align_corners, antialias, scales));
}
void _resize_images_backward(const Tensor& grad_output, IntArrayRef, int64_t mode, bool align_corners, bool antialias,
                             const std::optional<ArrayRef<double>>& scales, const Tensor& out) {
  if (out.numel() > 0) kernels::resize_backward(view_of(out), view_of(grad_output), resize_options(mode, align_corners, antialias, scales));
}
void _im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, const Tensor& out) {
  if (out.numel() > 0) kernels::im2col(view_of(out), view_of(self), window_of(kernel_size, dilation, padding, stride));
}
void _col2im(const Tensor& self, IntArrayRef, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, const Tensor& out) {
  if (out.numel() > 0) kernels::col2im(view_of(out), view_of(self), window_of(kernel_size, dilation, padding, stride));
}

}  // namespace cpu

namespace composite {

Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode, std::optional<double> value) {
  if (mode == "constant") return cresset::constant_pad_nd(self, pad, value.value_or(0));
  CRESSET_CHECK(!value || *value == 0, "pad: mode \"", std::string(mode), "\" doesn't take in value argument");
  constexpr std::string_view kModes[] = {"reflect", "replicate", "circular"};
  for (int64_t m = 0; m < 3; m++)
    if (mode == kModes[m]) return cresset::_pad_mode(self, pad, m);
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "pad: unrecognised padding mode \"", std::string(mode), "\", expected constant, reflect, replicate or circular");
}

namespace {

Tensor resize(const Tensor& self, OptionalIntArrayRef output_size, bool align_corners, const std::optional<ArrayRef<double>>& scale_factors, ResizeMode mode,
              bool antialias = false) {
  CRESSET_CHECK(output_size.has_value() != scale_factors.has_value(), "interpolate: must specify exactly one of output_size and scale_factors");
  DimVector size;
  if (output_size) size = output_size.value();
  else
    for (size_t d = 0; d < scale_factors->size(); d++)
      size.push_back(static_cast<int64_t>(static_cast<double>(self.size(static_cast<int64_t>(d) + 2)) * (*scale_factors)[d]));
  return cresset::_resize_images(self, size, static_cast<int64_t>(mode), align_corners, antialias, scale_factors);
}

}  // namespace

using Scales = const std::optional<ArrayRef<double>>&;
Tensor upsample_nearest(const Tensor& input, OptionalIntArrayRef output_size, Scales scale_factors) {
  return resize(input, output_size, false, scale_factors, ResizeMode::nearest);
}
Tensor upsample_nearest_exact(const Tensor& input, OptionalIntArrayRef output_size, Scales scale_factors) {
  return resize(input, output_size, false, scale_factors, ResizeMode::nearest_exact);
}
// One, two or three dimensions: linear, bilinear, trilinear.
Tensor upsample_linear(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, Scales scale_factors, bool antialias) {
  return resize(input, output_size, align_corners, scale_factors, ResizeMode::linear, antialias);
}
Tensor upsample_bicubic(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, Scales scale_factors, bool antialias) {
  return resize(input, output_size, align_corners, scale_factors, ResizeMode::cubic, antialias);
}

Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales) {
  const double factors[] = {scales.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::nearest), false, false, ArrayRef<double>(factors));
}
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_h, std::optional<double> scales_w) {
  const double scales[] = {scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::nearest), false, false, ArrayRef<double>(scales));
}
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_d, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  const double scales[] = {scales_d.value_or(0), scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::nearest), false, false, ArrayRef<double>(scales));
}
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales) {
  const double factors[] = {scales.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::linear), align_corners, false, ArrayRef<double>(factors));
}
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w) {
  const double scales[] = {scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::linear), align_corners, false, ArrayRef<double>(scales));
}
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w) {
  const double scales[] = {scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::cubic), align_corners, false, ArrayRef<double>(scales));
}
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales_d, std::optional<double> scales_h,
                            std::optional<double> scales_w) {
  const double scales[] = {scales_d.value_or(0), scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::linear), align_corners, false, ArrayRef<double>(scales));
}

Tensor _upsample_bilinear2d_aa(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales_h,
                               std::optional<double> scales_w) {
  const double scales[] = {scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::linear), align_corners, true, ArrayRef<double>(scales));
}
Tensor _upsample_bilinear2d_aa(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, const std::optional<ArrayRef<double>>& scale_factors) {
  CRESSET_CHECK(input.dim() == 4, "_upsample_bilinear2d_aa: expected a 4-d input, got shape ", input.sizes());
  return cresset::upsample_linear(input, output_size, align_corners, scale_factors, true);
}
Tensor _upsample_bicubic2d_aa(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w) {
  const double scales[] = {scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::cubic), align_corners, true, ArrayRef<double>(scales));
}
Tensor _upsample_bicubic2d_aa(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, const std::optional<ArrayRef<double>>& scale_factors) {
  return cresset::upsample_bicubic(input, output_size, align_corners, scale_factors, true);
}
Tensor _upsample_lanczos2d_aa(const Tensor& self, IntArrayRef output_size, bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w) {
  const double scales[] = {scales_h.value_or(0), scales_w.value_or(0)};
  return cresset::_resize_images(self, output_size, static_cast<int64_t>(ResizeMode::lanczos), align_corners, true, ArrayRef<double>(scales));
}
Tensor _upsample_lanczos2d_aa(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, const std::optional<ArrayRef<double>>& scale_factors) {
  CRESSET_CHECK(input.dim() == 4, "_upsample_lanczos2d_aa: expected a 4-d input, got shape ", input.sizes());
  return resize(input, output_size, align_corners, scale_factors, ResizeMode::lanczos, true);
}

Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  if (self.dim() == 3) return cresset::_im2col(self.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0);
  return cresset::_im2col(self, kernel_size, dilation, padding, stride);
}
Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  if (self.dim() == 2) return cresset::_col2im(self.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0);
  return cresset::_col2im(self, output_size, kernel_size, dilation, padding, stride);
}

namespace {

// The same values in the memory format of another tensor.
Tensor formatted(const Tensor& t, const Tensor& like) {
  const MemoryFormat format = like.suggest_memory_format();
  return format == MemoryFormat::Contiguous ? t : t.clone(format);
}

void check_planes(const char* op, const Tensor& self) {
  CRESSET_CHECK(self.suggest_memory_format() != MemoryFormat::ChannelsLast3d, op,
                ": supports the memory formats channels_last and contiguous only, got channels_last_3d");
}

// The product of all dims before the last three.
int64_t leading_size(const Tensor& t) {
  int64_t n = 1;
  for (int64_t d = 0; d < t.dim() - 3; d++) n *= t.size(d);
  return n;
}

}  // namespace

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  CRESSET_CHECK(self.dim() >= 3, "pixel_shuffle: expects input to have at least 3 dimensions, got shape ", self.sizes());
  check_planes("pixel_shuffle", self);
  const int64_t r = upscale_factor, c = self.size(-3), h = self.size(-2), w = self.size(-1);
  CRESSET_CHECK(r > 0 && c % (r * r) == 0, "pixel_shuffle: expected channels that the square of upscale_factor divides, got ", c,
                " channels and upscale_factor ", r);
  const Tensor x = self.reshape({leading_size(self), c / (r * r), r, r, h, w}).permute({0, 1, 4, 2, 5, 3});
  DimVector shape(self.sizes().slice(0, static_cast<size_t>(self.dim() - 3)));
  for (const int64_t s : {c / (r * r), h * r, w * r}) shape.push_back(s);
  return formatted(x.clone(MemoryFormat::Contiguous).view(shape), self);
}
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  CRESSET_CHECK(self.dim() >= 3, "pixel_unshuffle: expects input to have at least 3 dimensions, got shape ", self.sizes());
  check_planes("pixel_unshuffle", self);
  const int64_t r = downscale_factor, c = self.size(-3), h = self.size(-2), w = self.size(-1);
  CRESSET_CHECK(r > 0 && h % r == 0 && w % r == 0, "pixel_unshuffle: expects height and width to be divisible by downscale_factor ", r, ", got ", h, " and ",
                w);
  const Tensor x = self.reshape({leading_size(self), c, h / r, r, w / r, r}).permute({0, 1, 3, 5, 2, 4});
  DimVector shape(self.sizes().slice(0, static_cast<size_t>(self.dim() - 3)));
  for (const int64_t s : {c * r * r, h / r, w / r}) shape.push_back(s);
  return formatted(x.clone(MemoryFormat::Contiguous).view(shape), self);
}

}  // namespace composite

}  // namespace cresset::ops
