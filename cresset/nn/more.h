#pragma once
// The part of Python's torch.nn that LibTorch lacks, put together from what is there. Include it by name: <cresset/nn/more.h>.

#include <cmath>
#include <utility>

#include "cresset/core/random/generator_scope.h"
#include "cresset/nn/all.h"
#include "cresset/nn/layers/linear_cross_entropy.h"
#include "cresset/nn/module/functional_call.h"
#include "cresset/nn/module/lazy.h"
#include "cresset/nn/utils/parametrizations.h"
#include "cresset/nn/utils/prune.h"

namespace cresset::nn {

namespace functional {

// Of the last dimensions: x / sqrt(mean(x^2) + eps) * weight.
inline Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight = {}, std::optional<double> eps = std::nullopt) {
  return cresset::rms_norm(input, normalized_shape, weight, eps);
}
// Channels of (N, C, *) taken in turns from `groups` groups.
inline Tensor channel_shuffle(const Tensor& input, int64_t groups) { return cresset::channel_shuffle(input, groups); }
inline Tensor hardsigmoid(const Tensor& input) { return cresset::hardsigmoid(input); }
inline Tensor hardswish(const Tensor& input) { return cresset::hardswish(input); }
inline Tensor sigmoid(const Tensor& input) { return input.sigmoid(); }
inline Tensor tanh(const Tensor& input) { return input.tanh(); }
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask = std::nullopt,
                                           double dropout_p = 0.0, bool is_causal = false, std::optional<double> scale = std::nullopt,
                                           bool enable_gqa = false) {
  return cresset::scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa);
}
// Whole channels of (N, C, L) or (C, L).
inline Tensor dropout1d(const Tensor& input, double p = 0.5, bool training = true) {
  CRESSET_CHECK_VALUE(p >= 0 && p <= 1, "dropout1d: the probability must be between 0 and 1, got ", p);
  CRESSET_CHECK(input.dim() == 2 || input.dim() == 3, "dropout1d: input must have 2 or 3 dimensions, got shape ", input.sizes());
  if (input.dim() == 3) return feature_dropout(input, p, training);
  return feature_dropout(input.unsqueeze(0), p, training).squeeze(0);
}
// A convolution over time: (T, N, C_in) with a weight (K, C_in, C_out).
inline Tensor conv_tbc(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t pad = 0) { return cresset::conv_tbc(input, weight, bias, pad); }
// In place, as their names say.
inline Tensor rrelu_(Tensor input, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false) {
  return cresset::rrelu_(input, lower, upper, training);
}
inline Tensor relu_(Tensor input) { return input.relu_(); }
inline Tensor celu_(Tensor input, double alpha = 1.0) { return cresset::celu_(input, alpha); }
inline Tensor elu_(Tensor input, double alpha = 1.0) { return cresset::elu_(input, alpha); }
inline Tensor selu_(Tensor input) { return cresset::selu_(input); }
inline Tensor leaky_relu_(Tensor input, double negative_slope = 0.01) { return cresset::leaky_relu_(input, negative_slope); }
inline Tensor hardtanh_(Tensor input, double min_val = -1.0, double max_val = 1.0) { return cresset::hardtanh_(input, min_val, max_val); }
inline Tensor threshold_(Tensor input, double threshold, double value) { return cresset::threshold_(input, threshold, value); }

// (log var + (input - target)^2 / var) / 2, var at least eps. Errors: a negative variance, or one that does not fit.
inline Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full = false, double eps = 1e-6,
                                Reduction_t reduction = kMean) {
  return cresset::_gaussian_nll_loss(input, target, var, full, eps, reduction == kMean ? 1 : reduction == kSum ? 2 : 0);
}

inline Tensor upsample_nearest(const Tensor& input, const InterpolateFuncOptions& options) {
  return interpolate(input, InterpolateFuncOptions(options).mode(kNearest));
}
inline Tensor upsample_bilinear(const Tensor& input, const InterpolateFuncOptions& options) {
  return interpolate(input, InterpolateFuncOptions(options).mode(kBilinear).align_corners(true));
}
inline Tensor upsample(const Tensor& input, const InterpolateFuncOptions& options) { return interpolate(input, options); }

}  // namespace functional

struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  CRESSET_ARG(std::vector<int64_t>, normalized_shape);
  CRESSET_ARG(std::optional<double>, eps);
  CRESSET_ARG(bool, elementwise_affine) = true;
};
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  RMSNormImpl(std::vector<int64_t> normalized_shape) : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(RMSNormOptions o) : options(std::move(o)) { RMSNormImpl::reset(); }
  void reset() override {
    const bool affine = options.elementwise_affine();
    weight = register_parameter("weight", affine ? ones(options.normalized_shape()) : Tensor(), affine);
  }
  Tensor forward(const Tensor& input) { return functional::rms_norm(input, options.normalized_shape(), weight, options.eps()); }

  RMSNormOptions options;
  Tensor weight;
};
CRESSET_MODULE(RMSNorm);

// Layers without parameters, made with `Argument`.
#define CRESSET_SIMPLE_LAYER(Name, Argument, expression)        \
  class Name##Impl : public Cloneable<Name##Impl> {             \
   public:                                                      \
    explicit Name##Impl(Argument a) : argument(std::move(a)) {} \
    void reset() override {}                                    \
    Tensor forward(const Tensor& input) { return expression; }  \
    Argument argument;                                          \
  };                                                            \
  CRESSET_MODULE(Name)
#define CRESSET_BARE_LAYER(Name, expression)                   \
  class Name##Impl : public Cloneable<Name##Impl> {            \
   public:                                                     \
    void reset() override {}                                   \
    Tensor forward(const Tensor& input) { return expression; } \
  };                                                           \
  CRESSET_MODULE(Name)
CRESSET_SIMPLE_LAYER(ChannelShuffle, int64_t, functional::channel_shuffle(input, argument));
CRESSET_SIMPLE_LAYER(Dropout1d, double, functional::dropout1d(input, argument, is_training()));
CRESSET_SIMPLE_LAYER(CircularPad1d, ExpandingArray<2>, functional::pad(input, functional::PadFuncOptions(IntArrayRef(argument).vec()).mode(kCircular)));
CRESSET_SIMPLE_LAYER(CircularPad2d, ExpandingArray<4>, functional::pad(input, functional::PadFuncOptions(IntArrayRef(argument).vec()).mode(kCircular)));
CRESSET_SIMPLE_LAYER(CircularPad3d, ExpandingArray<6>, functional::pad(input, functional::PadFuncOptions(IntArrayRef(argument).vec()).mode(kCircular)));
CRESSET_SIMPLE_LAYER(UpsamplingNearest2d, functional::InterpolateFuncOptions, functional::upsample_nearest(input, argument));
CRESSET_SIMPLE_LAYER(UpsamplingBilinear2d, functional::InterpolateFuncOptions, functional::upsample_bilinear(input, argument));
CRESSET_BARE_LAYER(Hardsigmoid, functional::hardsigmoid(input));
CRESSET_BARE_LAYER(Hardswish, functional::hardswish(input));
#undef CRESSET_SIMPLE_LAYER
#undef CRESSET_BARE_LAYER

struct GaussianNLLLossOptions {
  CRESSET_ARG(bool, full) = false;
  CRESSET_ARG(double, eps) = 1e-6;
  CRESSET_ARG(Reduction_t, reduction) = kMean;
};
class GaussianNLLLossImpl : public detail::OptionsLayer<GaussianNLLLossImpl, GaussianNLLLossOptions> {
 public:
  explicit GaussianNLLLossImpl(const GaussianNLLLossOptions& options = {}) : OptionsLayer(options) {}
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var) {
    return functional::gaussian_nll_loss(input, target, var, options.full(), options.eps(), options.reduction());
  }
};
CRESSET_MODULE(GaussianNLLLoss);

namespace init {

// Numbers of the normal distribution that lie in [a, b].
CRESSET_API Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2);

}  // namespace init

namespace utils {

// The norm of all tensors as one vector. Errors: with error_if_nonfinite, one that is NaN or infinite.
inline Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type = 2.0, bool error_if_nonfinite = false) {
  if (tensors.empty()) return zeros({});
  std::vector<Tensor> norms;
  for (const Tensor& t : tensors) norms.push_back(t.flatten().norm(norm_type, 0));
  const Tensor total = stack(norms).norm(norm_type, 0);
  CRESSET_CHECK(!error_if_nonfinite || total.isfinite().item<bool>(), "get_total_norm: the total norm of order ", norm_type, " is ", total.item<double>());
  return total;
}
// Scales gradients so that a joint norm of total_norm becomes max_norm at most.
CRESSET_API void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm);

// Weight and bias of a layer that does what it and a batch normalisation with these statistics did.
CRESSET_API std::pair<Tensor, Tensor> fuse_conv_bn_weights(const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var, double eps,
                                                           const Tensor& bn_weight = {}, const Tensor& bn_bias = {}, bool transpose = false);
inline std::pair<Tensor, Tensor> fuse_linear_bn_weights(const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var, double eps,
                                                        const Tensor& bn_weight, const Tensor& bn_bias) {
  return fuse_conv_bn_weights(weight, bias, mean, var, eps, bn_weight, bn_bias);
}
// A layer that does what `layer` and then `bn` do, both in evaluation. Errors: in training; no running statistics; a layer without a bias.
template <class Layer, class Norm> Layer fuse_conv_bn_eval(const Layer& layer, const Norm& bn, bool transpose = false) {
  CRESSET_CHECK(!layer->is_training() && !bn->is_training(), "fuse: call eval() on both modules first");
  CRESSET_CHECK(bn->running_mean.defined() && layer->bias.defined(), "fuse: running statistics and a bias are needed");
  const DefaultGeneratorScope unchanged(copy_of_default_generator());  // copies draw; the same call in Python does not
  Layer fused(std::dynamic_pointer_cast<typename Layer::ContainedType>(layer->clone()));
  NoGradGuard guard;
  const auto [weight, bias] =
      fuse_conv_bn_weights(layer->weight, layer->bias, bn->running_mean, bn->running_var, bn->options.eps(), bn->weight, bn->bias, transpose);
  fused->weight.set_data(weight);
  fused->bias.set_data(bias);
  return fused;
}
template <class Norm> Linear fuse_linear_bn_eval(const Linear& layer, const Norm& bn) { return fuse_conv_bn_eval(layer, bn); }

namespace detail {
inline void convert_conv_weights(Module& module, MemoryFormat format, int64_t dim) {
  NoGradGuard guard;
  module.apply([&](Module& m) {
    for (Tensor& weight : m.parameters(false))
      if (weight.dim() == dim) weight.set_data(weight.detach().contiguous(format));
  });
}
}  // namespace detail
// Weights of convolutions of 2 or 3 dimensions in another memory order.
inline void convert_conv2d_weight_memory_format(Module& module, MemoryFormat format) { detail::convert_conv_weights(module, format, 4); }
inline void convert_conv3d_weight_memory_format(Module& module, MemoryFormat format) { detail::convert_conv_weights(module, format, 5); }

}  // namespace utils
}  // namespace cresset::nn
