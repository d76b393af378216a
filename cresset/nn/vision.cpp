#include "cresset/nn/vision.h"

#include <cmath>
#include <ostream>

namespace cresset::nn {

namespace functional {

Tensor pad(const Tensor& input, const PadFuncOptions& o) {
  if (o.mode() == kConstant) return cresset::pad(input, o.pad(), "constant", o.value());
  const char* mode = o.mode() == kReflect ? "reflect" : o.mode() == kReplicate ? "replicate" : "circular";
  return cresset::pad(input, o.pad(), mode);
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& o) {
  const int64_t r = o.upscale_factor();
  CRESSET_CHECK(input.dim() >= 3, "pixel_shuffle: input must have at least 3 dimensions, got shape ", input.sizes());
  CRESSET_CHECK(r > 0, "pixel_shuffle: upscale_factor must be positive, got ", r);
  const int64_t c = input.size(-3), h = input.size(-2), w = input.size(-1);
  CRESSET_CHECK(c % (r * r) == 0, "pixel_shuffle: the channels must be divisible by upscale_factor squared, got ", c, " and ", r * r);
  std::vector<int64_t> shape = input.sizes().vec();
  shape[shape.size() - 3] = c / (r * r);
  shape[shape.size() - 2] = h * r;
  shape[shape.size() - 1] = w * r;
  return input.reshape({-1, c / (r * r), r, r, h, w}).permute({0, 1, 4, 2, 5, 3}).reshape(shape);
}

Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& o) {
  const int64_t r = o.downscale_factor();
  CRESSET_CHECK(input.dim() >= 3, "pixel_unshuffle: input must have at least 3 dimensions, got shape ", input.sizes());
  CRESSET_CHECK(r > 0, "pixel_unshuffle: downscale_factor must be positive, got ", r);
  const int64_t c = input.size(-3), h = input.size(-2), w = input.size(-1);
  CRESSET_CHECK(h % r == 0 && w % r == 0, "pixel_unshuffle: height and width must be divisible by downscale_factor, got ", h, ", ", w, " and ", r);
  std::vector<int64_t> shape = input.sizes().vec();
  shape[shape.size() - 3] = c * r * r;
  shape[shape.size() - 2] = h / r;
  shape[shape.size() - 1] = w / r;
  return input.reshape({-1, c, h / r, r, w / r, r}).permute({0, 1, 3, 5, 2, 4}).reshape(shape);
}

namespace {

// (output - 1) strides of blocks of (kernel - 1) dilated steps must fit between the paddings.
int64_t count_blocks(int64_t size, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride) {
  return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

template <class Options>
void check_blocks(const char* name, const Options& o) {
  for (size_t i = 0; i < 2; i++) {
    CRESSET_CHECK((*o.kernel_size())[i] > 0 && (*o.dilation())[i] > 0 && (*o.stride())[i] > 0, name,
                  ": kernel_size, dilation and stride must be positive, got ", IntArrayRef(o.kernel_size()), ", ", IntArrayRef(o.dilation()), " and ",
                  IntArrayRef(o.stride()));
    CRESSET_CHECK((*o.padding())[i] >= 0, name, ": padding must not be negative, got ", IntArrayRef(o.padding()));
  }
}

}  // namespace

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& o) {
  check_blocks("unfold", o);
  CRESSET_CHECK(input.dim() == 4 || input.dim() == 3, "unfold: input must have 3 or 4 dimensions, got shape ", input.sizes());
  const Tensor x = input.dim() == 4 ? input : input.unsqueeze(0);
  const auto [kh, kw] = *o.kernel_size();
  const auto [dh, dw] = *o.dilation();
  const auto [ph, pw] = *o.padding();
  const auto [sh, sw] = *o.stride();
  const int64_t rows = count_blocks(x.size(2), kh, dh, ph, sh), columns = count_blocks(x.size(3), kw, dw, pw, sw);
  CRESSET_CHECK(rows > 0 && columns > 0, "unfold: the blocks do not fit into the input, got shape ", input.sizes(), ", kernel_size ",
                IntArrayRef(o.kernel_size()));
  const Tensor padded = cresset::pad(x, {pw, pw, ph, ph}).contiguous();
  const IntArrayRef s = padded.strides();
  const Tensor blocks = padded.as_strided({x.size(0), x.size(1), kh, kw, rows, columns}, {s[0], s[1], dh * s[2], dw * s[3], sh * s[2], sw * s[3]},
                                          padded.storage_offset());
  const Tensor out = blocks.reshape({x.size(0), x.size(1) * kh * kw, rows * columns});
  return input.dim() == 4 ? out : out.squeeze(0);
}

Tensor fold(const Tensor& input, const FoldFuncOptions& o) {
  check_blocks("fold", o);
  CRESSET_CHECK(input.dim() == 3 || input.dim() == 2, "fold: input must have 2 or 3 dimensions, got shape ", input.sizes());
  const Tensor x = input.dim() == 3 ? input : input.unsqueeze(0);
  const auto [height, width] = *o.output_size();
  const auto [kh, kw] = *o.kernel_size();
  const auto [dh, dw] = *o.dilation();
  const auto [ph, pw] = *o.padding();
  const auto [sh, sw] = *o.stride();
  const int64_t rows = count_blocks(height, kh, dh, ph, sh), columns = count_blocks(width, kw, dw, pw, sw);
  CRESSET_CHECK(x.size(1) % (kh * kw) == 0, "fold: size of dimension 1 must be divisible by the kernel's ", kh * kw, " elements, got ", x.size(1));
  CRESSET_CHECK(rows > 0 && columns > 0 && x.size(2) == rows * columns, "fold: number of blocks, got ", x.size(2), ", expected ", rows, " * ",
                columns);
  const int64_t channels = x.size(1) / (kh * kw), padded_height = height + 2 * ph, padded_width = width + 2 * pw;
  // The place of every element of a block row in its padded plane.
  auto along = [](int64_t n, int64_t step, std::vector<int64_t> shape) { return (cresset::arange(0, n, kLong) * step).view(shape); };
  const Tensor place = along(kh, dh * padded_width, {kh, 1, 1, 1}) + along(kw, dw, {1, kw, 1, 1}) + along(rows, sh * padded_width, {1, 1, rows, 1}) +
                       along(columns, sw, {1, 1, 1, columns});
  const Tensor flat = x.reshape({x.size(0), channels, kh * kw * rows * columns});
  const Tensor plane = cresset::zeros({x.size(0), channels, padded_height * padded_width}, x.options().requires_grad(false))
                           .index_add(2, place.reshape({-1}), flat)
                           .view({x.size(0), channels, padded_height, padded_width});
  const Tensor out = plane.narrow(2, ph, height).narrow(3, pw, width).contiguous();
  return input.dim() == 3 ? out : out.squeeze(0);
}

namespace {

std::vector<int64_t> interpolated_size(const Tensor& input, const InterpolateFuncOptions& o) {
  const size_t dims = static_cast<size_t>(input.dim() - 2);
  CRESSET_CHECK(o.size() || o.scale_factor(), "interpolate: either size or scale_factor must be given");
  CRESSET_CHECK(!o.size() || !o.scale_factor(), "interpolate: only one of size and scale_factor may be given");
  if (o.size()) {
    CRESSET_CHECK(o.size()->size() == dims || o.size()->size() == 1, "interpolate: size must have 1 or ", dims, " elements, got ", o.size()->size());
    return o.size()->size() == dims ? *o.size() : std::vector<int64_t>(dims, o.size()->front());
  }
  const auto& factors = *o.scale_factor();
  CRESSET_CHECK(factors.size() == dims || factors.size() == 1, "interpolate: scale_factor must have 1 or ", dims, " elements, got ", factors.size());
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dims; i++)
    sizes.push_back(static_cast<int64_t>(std::floor(static_cast<double>(input.size(static_cast<int64_t>(i) + 2)) * factors[factors.size() == 1 ? 0 : i])));
  return sizes;
}

// The scale to hand on with a size computed from it: none where it shall be recomputed from the sizes.
std::optional<double> scale_of(const InterpolateFuncOptions& o, size_t dim) {
  if (!o.scale_factor() || o.recompute_scale_factor().value_or(false)) return std::nullopt;
  return (*o.scale_factor())[o.scale_factor()->size() == 1 ? 0 : dim];
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& o) {
  const int64_t dims = input.dim() - 2;
  CRESSET_CHECK(dims >= 1 && dims <= 3, "interpolate: input must have 3, 4 or 5 dimensions, got shape ", input.sizes());
  const bool nearest = o.mode() == kNearest || o.mode() == kNearestExact || o.mode() == kArea;
  CRESSET_CHECK(!nearest || !o.align_corners(), "interpolate: align_corners does not go with mode ", o.mode().name());
  CRESSET_CHECK_VALUE(!o.antialias() || (dims == 2 && (o.mode() == kBilinear || o.mode() == kBicubic)),
                      "interpolate: antialias goes with modes bilinear and bicubic and 4 dimensions, got ", o.mode().name(), " and shape ", input.sizes());
  const std::vector<int64_t> size = interpolated_size(input, o);
  const bool align = o.align_corners().value_or(false);
  if (o.antialias()) {
    if (o.mode() == kBicubic) return cresset::_upsample_bicubic2d_aa(input, size, align, scale_of(o, 0), scale_of(o, 1));
    return cresset::_upsample_bilinear2d_aa(input, size, align, scale_of(o, 0), scale_of(o, 1));
  }
  if (o.mode() == kArea) {
    if (dims == 1) return cresset::adaptive_avg_pool1d(input, size);
    return dims == 2 ? cresset::adaptive_avg_pool2d(input, size) : cresset::adaptive_avg_pool3d(input, size);
  }
  if (o.mode() == kNearest) {
    if (dims == 1) return cresset::upsample_nearest1d(input, size, scale_of(o, 0));
    if (dims == 2) return cresset::upsample_nearest2d(input, size, scale_of(o, 0), scale_of(o, 1));
    return cresset::upsample_nearest3d(input, size, scale_of(o, 0), scale_of(o, 1), scale_of(o, 2));
  }
  if (o.mode() == kLinear && dims == 1) return cresset::upsample_linear1d(input, size, align, scale_of(o, 0));
  if (o.mode() == kBilinear && dims == 2) return cresset::upsample_bilinear2d(input, size, align, scale_of(o, 0), scale_of(o, 1));
  if (o.mode() == kBicubic && dims == 2) return cresset::upsample_bicubic2d(input, size, align, scale_of(o, 0), scale_of(o, 1));
  if (o.mode() == kTrilinear && dims == 3)
    return cresset::upsample_trilinear3d(input, size, align, scale_of(o, 0), scale_of(o, 1), scale_of(o, 2));
  if (o.mode() == kNearestExact) {
    if (!scale_of(o, 0)) return cresset::upsample_nearest_exact(input, size, std::nullopt);
    std::vector<double> scales;
    for (int64_t d = 0; d < dims; d++) scales.push_back(*scale_of(o, static_cast<size_t>(d)));
    return cresset::upsample_nearest_exact(input, std::nullopt, ArrayRef<double>(scales));
  }
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "interpolate: mode ", o.mode().name(), " does not fit an input of shape ", input.sizes());
  return input;
}

}  // namespace functional

#define CRESSET_DEFINE_PAD(Name, D, mode_of)                                                             \
  void Name##D##dImpl::pretty_print(std::ostream& stream) const {                                        \
    stream << "torch::nn::" #Name #D "d(padding=" << options.padding() << ")";                         \
  }                                                                                                      \
  Tensor Name##D##dImpl::forward(const Tensor& input) { return cresset::pad(input, options.padding(), mode_of); }
CRESSET_DEFINE_PAD(ReflectionPad, 1, "reflect")
CRESSET_DEFINE_PAD(ReflectionPad, 2, "reflect")
CRESSET_DEFINE_PAD(ReflectionPad, 3, "reflect")
CRESSET_DEFINE_PAD(ReplicationPad, 1, "replicate")
CRESSET_DEFINE_PAD(ReplicationPad, 2, "replicate")
CRESSET_DEFINE_PAD(ReplicationPad, 3, "replicate")
CRESSET_DEFINE_PAD(ZeroPad, 1, "constant")
CRESSET_DEFINE_PAD(ZeroPad, 2, "constant")
CRESSET_DEFINE_PAD(ZeroPad, 3, "constant")

#define CRESSET_DEFINE_CONSTANT_PAD(D)                                                                                      \
  void ConstantPad##D##dImpl::pretty_print(std::ostream& stream) const {                                                    \
    stream << "torch::nn::ConstantPad" #D "d(padding=" << options.padding() << ", value=" << options.value() << ")";      \
  }                                                                                                                         \
  Tensor ConstantPad##D##dImpl::forward(const Tensor& input) {                                                              \
    return cresset::pad(input, options.padding(), "constant", options.value());                                             \
  }
CRESSET_DEFINE_CONSTANT_PAD(1)
CRESSET_DEFINE_CONSTANT_PAD(2)
CRESSET_DEFINE_CONSTANT_PAD(3)

PixelShuffleImpl::PixelShuffleImpl(const PixelShuffleOptions& o) : options(o) {}
void PixelShuffleImpl::reset() {}
void PixelShuffleImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::PixelShuffle(upscale_factor=" << options.upscale_factor() << ")";
}
Tensor PixelShuffleImpl::forward(const Tensor& input) { return functional::pixel_shuffle(input, options); }

PixelUnshuffleImpl::PixelUnshuffleImpl(const PixelUnshuffleOptions& o) : options(o) {}
void PixelUnshuffleImpl::reset() {}
void PixelUnshuffleImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::PixelUnshuffle(downscale_factor=" << options.downscale_factor() << ")";
}
Tensor PixelUnshuffleImpl::forward(const Tensor& input) { return functional::pixel_unshuffle(input, options); }

void UpsampleImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Upsample(";
  if (options.scale_factor()) {
    stream << "scale_factor=";
    cresset::detail::print_list(stream, ArrayRef<double>(*options.scale_factor()));
  } else if (options.size()) {
    stream << "size=";
    cresset::detail::print_list(stream, IntArrayRef(*options.size()));
  }
  stream << ", mode=" << options.mode().name() << ")";
}
Tensor UpsampleImpl::forward(const Tensor& input) {
  return functional::interpolate(input, functional::InterpolateFuncOptions()
                                            .size(options.size())
                                            .scale_factor(options.scale_factor())
                                            .mode(options.mode())
                                            .align_corners(options.align_corners()));
}

void FoldImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Fold(output_size=" << options.output_size() << ", kernel_size=" << options.kernel_size()
         << ", dilation=" << options.dilation() << ", padding=" << options.padding() << ", stride=" << options.stride() << ")";
}
Tensor FoldImpl::forward(const Tensor& input) { return functional::fold(input, options); }

void UnfoldImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Unfold(kernel_size=" << options.kernel_size() << ", dilation=" << options.dilation() << ", padding=" << options.padding()
         << ", stride=" << options.stride() << ")";
}
Tensor UnfoldImpl::forward(const Tensor& input) { return functional::unfold(input, options); }

}  // namespace cresset::nn
