#pragma once
// Padding, resizing, pixel shuffling, and sliding blocks.

#include <optional>
#include <vector>

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

// Amounts from the last dimension on: left, right, top, bottom, front, back; or one for all.
template <size_t D> struct ReflectionPadOptions {
  ReflectionPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  CRESSET_ARG(ExpandingArray<D * 2>, padding);
};
template <size_t D> using ReplicationPadOptions = ReflectionPadOptions<D>;
template <size_t D> using ZeroPadOptions = ReflectionPadOptions<D>;
template <size_t D> struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value) : padding_(padding), value_(value) {}
  CRESSET_ARG(ExpandingArray<D * 2>, padding);
  CRESSET_ARG(double, value);
};

#define CRESSET_DECLARE_PAD(Name, D)                                                                                           \
  using Name##D##dOptions = Name##Options<D>;                                                                                  \
  class CRESSET_API Name##D##dImpl : public detail::OptionsLayer<Name##D##dImpl, Name##Options<D>> {                           \
   public:                                                                                                                     \
    Name##D##dImpl(ExpandingArray<D * 2> padding);                                                                             \
    explicit Name##D##dImpl(const Name##Options<D>& options);                                                                  \
    void pretty_print(std::ostream& stream) const override;                                                                    \
    Tensor forward(const Tensor& input);                                                                                       \
  };                                                                                                                           \
  CRESSET_MODULE(Name##D##d);                                                                                                  \
  CRESSET_IN_LAYERS(Name##D##dImpl::Name##D##dImpl(ExpandingArray<D * 2> padding) : OptionsLayer(Name##Options<D>(padding)){}) \
  CRESSET_IN_LAYERS(Name##D##dImpl::Name##D##dImpl(const Name##Options<D>& options) : OptionsLayer(options){})
CRESSET_DECLARE_PAD(ReflectionPad, 1)
CRESSET_DECLARE_PAD(ReflectionPad, 2)
CRESSET_DECLARE_PAD(ReflectionPad, 3)
CRESSET_DECLARE_PAD(ReplicationPad, 1)
CRESSET_DECLARE_PAD(ReplicationPad, 2)
CRESSET_DECLARE_PAD(ReplicationPad, 3)
CRESSET_DECLARE_PAD(ZeroPad, 1)
CRESSET_DECLARE_PAD(ZeroPad, 2)
CRESSET_DECLARE_PAD(ZeroPad, 3)
#undef CRESSET_DECLARE_PAD

#define CRESSET_DECLARE_CONSTANT_PAD(D)                                                                                 \
  using ConstantPad##D##dOptions = ConstantPadOptions<D>;                                                               \
  class CRESSET_API ConstantPad##D##dImpl : public detail::OptionsLayer<ConstantPad##D##dImpl, ConstantPadOptions<D>> { \
   public:                                                                                                              \
    ConstantPad##D##dImpl(ExpandingArray<D * 2> padding, double value);                                                 \
    explicit ConstantPad##D##dImpl(const ConstantPadOptions<D>& options);                                               \
    void pretty_print(std::ostream& stream) const override;                                                             \
    Tensor forward(const Tensor& input);                                                                                \
  };                                                                                                                    \
  CRESSET_MODULE(ConstantPad##D##d);                                                                                    \
  CRESSET_IN_LAYERS(ConstantPad##D##dImpl::ConstantPad##D##dImpl(ExpandingArray<D * 2> padding, double value)           \
                    : OptionsLayer(ConstantPadOptions<D>(padding, value)){})                                            \
  CRESSET_IN_LAYERS(ConstantPad##D##dImpl::ConstantPad##D##dImpl(const ConstantPadOptions<D>& options) : OptionsLayer(options){})
CRESSET_DECLARE_CONSTANT_PAD(1)
CRESSET_DECLARE_CONSTANT_PAD(2)
CRESSET_DECLARE_CONSTANT_PAD(3)
#undef CRESSET_DECLARE_CONSTANT_PAD

struct CRESSET_API PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  CRESSET_ARG(int64_t, upscale_factor);
};
struct CRESSET_API PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  CRESSET_ARG(int64_t, downscale_factor);
};

// (*, C r^2, H, W) -> (*, C, H r, W r).
class CRESSET_API PixelShuffleImpl : public Cloneable<PixelShuffleImpl> {
 public:
  explicit PixelShuffleImpl(const PixelShuffleOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  PixelShuffleOptions options;
};
CRESSET_MODULE(PixelShuffle);

class CRESSET_API PixelUnshuffleImpl : public Cloneable<PixelUnshuffleImpl> {
 public:
  explicit PixelUnshuffleImpl(const PixelUnshuffleOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  PixelUnshuffleOptions options;
};
CRESSET_MODULE(PixelUnshuffle);

struct CRESSET_API UpsampleOptions {
  using mode_t = enumtype::OneOf<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic, enumtype::kTrilinear>;
  CRESSET_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  CRESSET_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  CRESSET_ARG(mode_t, mode) = kNearest;
  CRESSET_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

class CRESSET_API UpsampleImpl : public detail::OptionsLayer<UpsampleImpl, UpsampleOptions> {
 public:
  explicit UpsampleImpl(const UpsampleOptions& options = {});
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(Upsample);
CRESSET_IN_LAYERS(UpsampleImpl::UpsampleImpl(const UpsampleOptions& options) : OptionsLayer(options){})

struct CRESSET_API FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size) : output_size_(output_size), kernel_size_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<2>, output_size);
  CRESSET_ARG(ExpandingArray<2>, kernel_size);
  CRESSET_ARG(ExpandingArray<2>, dilation) = 1;
  CRESSET_ARG(ExpandingArray<2>, padding) = 0;
  CRESSET_ARG(ExpandingArray<2>, stride) = 1;
};
struct CRESSET_API UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<2>, kernel_size);
  CRESSET_ARG(ExpandingArray<2>, dilation) = 1;
  CRESSET_ARG(ExpandingArray<2>, padding) = 0;
  CRESSET_ARG(ExpandingArray<2>, stride) = 1;
};

// (N, C k^2, L) blocks -> (N, C, H, W), adding where they overlap.
class CRESSET_API FoldImpl : public detail::OptionsLayer<FoldImpl, FoldOptions> {
 public:
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size);
  explicit FoldImpl(const FoldOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(Fold);
CRESSET_IN_LAYERS(FoldImpl::FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size) : FoldImpl(FoldOptions(output_size, kernel_size)){})
CRESSET_IN_LAYERS(FoldImpl::FoldImpl(const FoldOptions& options) : OptionsLayer(options){})

class CRESSET_API UnfoldImpl : public detail::OptionsLayer<UnfoldImpl, UnfoldOptions> {
 public:
  UnfoldImpl(ExpandingArray<2> kernel_size);
  explicit UnfoldImpl(const UnfoldOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(Unfold);
CRESSET_IN_LAYERS(UnfoldImpl::UnfoldImpl(ExpandingArray<2> kernel_size) : UnfoldImpl(UnfoldOptions(kernel_size)){})
CRESSET_IN_LAYERS(UnfoldImpl::UnfoldImpl(const UnfoldOptions& options) : OptionsLayer(options){})

namespace functional {

struct CRESSET_API PadFuncOptions {
  using mode_t = enumtype::OneOf<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  CRESSET_ARG(std::vector<int64_t>, pad);
  CRESSET_ARG(mode_t, mode) = kConstant;
  CRESSET_ARG(double, value) = 0;
};
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
struct CRESSET_API InterpolateFuncOptions {
  using mode_t = enumtype::OneOf<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic, enumtype::kTrilinear, enumtype::kArea,
                                 enumtype::kNearestExact>;
  CRESSET_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  CRESSET_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  CRESSET_ARG(mode_t, mode) = kNearest;
  CRESSET_ARG(std::optional<bool>, align_corners) = std::nullopt;
  CRESSET_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
  CRESSET_ARG(bool, antialias) = false;
};
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;

CRESSET_API Tensor pad(const Tensor& input, const PadFuncOptions& options);
CRESSET_API Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
CRESSET_API Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
// Errors: neither or both of size and scale_factor; a mode that does not fit the number of dimensions.
CRESSET_API Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
CRESSET_API Tensor fold(const Tensor& input, const FoldFuncOptions& options);
CRESSET_API Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);

}  // namespace functional

}  // namespace cresset::nn
