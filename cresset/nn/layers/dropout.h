#pragma once
// The dropout family: active in training, the identity in evaluation.

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

struct CRESSET_API DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  CRESSET_ARG(double, p);
  CRESSET_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

// Errors where they are made: p outside [0, 1].
#define CRESSET_DECLARE_DROPOUT(Name)                                                      \
  class CRESSET_API Name##Impl : public detail::OptionsLayer<Name##Impl, DropoutOptions> { \
   public:                                                                                 \
    explicit Name##Impl(double p);                                                         \
    explicit Name##Impl(const DropoutOptions& options = {});                               \
    void reset() override;                                                                 \
    void pretty_print(std::ostream& stream) const override;                                \
    Tensor forward(Tensor input);                                                          \
  };                                                                                       \
  CRESSET_MODULE(Name);                                                                    \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(double p) : Name##Impl(DropoutOptions(p)){})    \
  CRESSET_IN_LAYERS(Name##Impl::Name##Impl(const DropoutOptions& options) : OptionsLayer(options) { Name##Impl::reset(); })
CRESSET_DECLARE_DROPOUT(Dropout)
// Whole channels.
CRESSET_DECLARE_DROPOUT(Dropout2d)
CRESSET_DECLARE_DROPOUT(Dropout3d)
// Keeps mean and variance of self-normalising networks.
CRESSET_DECLARE_DROPOUT(AlphaDropout)
CRESSET_DECLARE_DROPOUT(FeatureAlphaDropout)
#undef CRESSET_DECLARE_DROPOUT

namespace functional {

struct CRESSET_API DropoutFuncOptions {
  CRESSET_ARG(double, p) = 0.5;
  CRESSET_ARG(bool, training) = true;
  CRESSET_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
struct CRESSET_API AlphaDropoutFuncOptions {
  CRESSET_ARG(double, p) = 0.5;
  CRESSET_ARG(bool, training) = false;
  CRESSET_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;

CRESSET_API Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
CRESSET_API Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
CRESSET_API Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
CRESSET_API Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
CRESSET_API Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});

}  // namespace functional

}  // namespace cresset::nn
