#include "cresset/nn/layers/vision.h"

#include <ostream>

namespace cresset::nn {

namespace functional {

Tensor pad(const Tensor& input, const PadFuncOptions& o) {
  if (o.mode() == kConstant) return cresset::pad(input, o.pad(), "constant", o.value());
  const char* mode = o.mode() == kReflect ? "reflect" : o.mode() == kReplicate ? "replicate" : "circular";
  return cresset::pad(input, o.pad(), mode);
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& o) { return cresset::pixel_shuffle(input, o.upscale_factor()); }
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& o) { return cresset::pixel_unshuffle(input, o.downscale_factor()); }

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& o) {
  CRESSET_CHECK(input.dim() == 4, "unfold: Input Error: Only 4D input Tensors are supported (got ", input.dim(), "D)");
  return cresset::im2col(input, o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
Tensor fold(const Tensor& input, const FoldFuncOptions& o) {
  return cresset::col2im(input, o.output_size(), o.kernel_size(), o.dilation(), o.padding(), o.stride());
}

namespace {

std::string_view name_of(const InterpolateFuncOptions& o) {
  if (o.mode() == kArea) return "area";
  if (o.mode() == kNearestExact) return "nearest-exact";
  if (o.mode() == kLinear) return "linear";
  if (o.mode() == kBilinear) return "bilinear";
  if (o.mode() == kTrilinear) return "trilinear";
  return o.mode() == kBicubic ? "bicubic" : "nearest";
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& o) {
  const bool nearest = o.mode() == kNearest || o.mode() == kArea;
  CRESSET_CHECK(!nearest || !o.align_corners(), "interpolate: align_corners does not go with mode ", o.mode().name());
  CRESSET_CHECK_VALUE(!o.antialias() || (input.dim() == 4 && (o.mode() == kBilinear || o.mode() == kBicubic)),
                      "interpolate: antialias goes with modes bilinear and bicubic and 4 dimensions, got ", o.mode().name(), " and shape ", input.sizes());
  CRESSET_CHECK(o.size() || o.scale_factor(), "interpolate: either size or scale_factor must be given");
  CRESSET_CHECK(!o.size() || !o.scale_factor(), "interpolate: only one of size and scale_factor may be given");
  OptionalIntArrayRef size;
  std::optional<ArrayRef<double>> scales;
  if (o.size()) size = IntArrayRef(*o.size());
  if (o.scale_factor()) scales = ArrayRef<double>(*o.scale_factor());
  return cresset::_interpolate(input, size, scales, name_of(o), o.align_corners().value_or(false), o.recompute_scale_factor().value_or(false), o.antialias());
}

}  // namespace functional

#define CRESSET_DEFINE_PAD(Name, D, mode_of)                                                                                                   \
  void Name##D##dImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::" #Name #D "d(padding=" << options.padding() << ")"; } \
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

#define CRESSET_DEFINE_CONSTANT_PAD(D)                                                                               \
  void ConstantPad##D##dImpl::pretty_print(std::ostream& stream) const {                                             \
    stream << "torch::nn::ConstantPad" #D "d(padding=" << options.padding() << ", value=" << options.value() << ")"; \
  }                                                                                                                  \
  Tensor ConstantPad##D##dImpl::forward(const Tensor& input) { return cresset::pad(input, options.padding(), "constant", options.value()); }
CRESSET_DEFINE_CONSTANT_PAD(1)
CRESSET_DEFINE_CONSTANT_PAD(2)
CRESSET_DEFINE_CONSTANT_PAD(3)

PixelShuffleImpl::PixelShuffleImpl(const PixelShuffleOptions& o) : options(o) {}
void PixelShuffleImpl::reset() {}
void PixelShuffleImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::PixelShuffle(upscale_factor=" << options.upscale_factor() << ")"; }
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
  stream << "torch::nn::Fold(output_size=" << options.output_size() << ", kernel_size=" << options.kernel_size() << ", dilation=" << options.dilation()
         << ", padding=" << options.padding() << ", stride=" << options.stride() << ")";
}
Tensor FoldImpl::forward(const Tensor& input) { return functional::fold(input, options); }

void UnfoldImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Unfold(kernel_size=" << options.kernel_size() << ", dilation=" << options.dilation() << ", padding=" << options.padding()
         << ", stride=" << options.stride() << ")";
}
Tensor UnfoldImpl::forward(const Tensor& input) { return functional::unfold(input, options); }

}  // namespace cresset::nn
