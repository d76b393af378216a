#pragma once
// Bases of LibTorch's layers of 1 to 3 dimensions, for layers of one's own: struct MyPool : MaxPoolImpl<2, MyPool> { … forward … }.

#include "cresset/nn/layers/conv.h"
#include "cresset/nn/layers/normalization.h"
#include "cresset/nn/layers/pooling.h"
#include "cresset/nn/layers/vision.h"

namespace cresset::nn {

template <size_t D, class Derived> using ConvTransposeNdImpl = ConvNdImpl<D, Derived>;
template <size_t D, class Derived> using BatchNormImplBase = NormImplBase<D, Derived, BatchNormOptions>;
template <size_t D, class Derived> using InstanceNormImpl = NormImplBase<D, Derived, InstanceNormOptions>;

template <size_t D, class Derived> using MaxPoolImpl = detail::OptionsLayer<Derived, MaxPoolOptions<D>>;
template <size_t D, class Derived> using AvgPoolImpl = detail::OptionsLayer<Derived, AvgPoolOptions<D>>;
template <size_t D, class Derived> using LPPoolImpl = detail::OptionsLayer<Derived, LPPoolOptions<D>>;
template <size_t D, class Derived> using MaxUnpoolImpl = detail::OptionsLayer<Derived, MaxUnpoolOptions<D>>;
template <class OutputSize> using AdaptiveMaxPoolOptions = AdaptivePoolOptions<OutputSize>;
template <class OutputSize> using AdaptiveAvgPoolOptions = AdaptivePoolOptions<OutputSize>;
template <size_t D, class OutputSize, class Derived> using AdaptiveMaxPoolImpl = detail::OptionsLayer<Derived, AdaptiveMaxPoolOptions<OutputSize>>;
template <size_t D, class OutputSize, class Derived> using AdaptiveAvgPoolImpl = detail::OptionsLayer<Derived, AdaptiveAvgPoolOptions<OutputSize>>;

#define CRESSET_PAD_BASE(Name, pad_mode)                                                                         \
  template <size_t D, class Derived> class Name##Impl : public detail::OptionsLayer<Derived, Name##Options<D>> { \
   public:                                                                                                       \
    using detail::OptionsLayer<Derived, Name##Options<D>>::OptionsLayer;                                         \
    Tensor forward(const Tensor& input) { return functional::pad(input, pad_mode); }                             \
                                                                                                                 \
   private:                                                                                                      \
    functional::PadFuncOptions amounts() const { return IntArrayRef(this->options.padding()).vec(); }            \
  };
CRESSET_PAD_BASE(ReflectionPad, amounts().mode(kReflect))
CRESSET_PAD_BASE(ReplicationPad, amounts().mode(kReplicate))
CRESSET_PAD_BASE(ZeroPad, amounts())
CRESSET_PAD_BASE(ConstantPad, amounts().value(this->options.value()))
#undef CRESSET_PAD_BASE

using detail::AnyModuleHolder;
using detail::AnyModulePlaceholder;

}  // namespace cresset::nn
