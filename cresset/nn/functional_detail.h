#pragma once
// nn::functional::detail: activations and dropout with their arguments one by one, as LibTorch's programs call them.

#include "cresset/nn/layers/activation.h"
#include "cresset/nn/layers/dropout.h"

namespace cresset::nn::functional::detail {

inline Tensor elu(Tensor input, double alpha, bool inplace) { return functional::elu(input, ELUFuncOptions().alpha(alpha).inplace(inplace)); }
inline Tensor selu(Tensor input, bool inplace) { return functional::selu(input, SELUFuncOptions(inplace)); }
inline Tensor celu(Tensor input, double alpha, bool inplace) { return functional::celu(input, CELUFuncOptions().alpha(alpha).inplace(inplace)); }
inline Tensor relu(Tensor input, bool inplace) { return functional::relu(input, ReLUFuncOptions(inplace)); }
inline Tensor relu6(Tensor input, bool inplace) { return functional::relu6(input, ReLU6FuncOptions(inplace)); }
inline Tensor leaky_relu(Tensor input, double slope, bool inplace) {
  return functional::leaky_relu(input, LeakyReLUFuncOptions().negative_slope(slope).inplace(inplace));
}
inline Tensor rrelu(Tensor input, double lower, double upper, bool training, bool inplace) {
  return functional::rrelu(input, RReLUFuncOptions().lower(lower).upper(upper).training(training).inplace(inplace));
}
inline Tensor hardtanh(Tensor input, double min_val, double max_val, bool inplace) {
  return functional::hardtanh(input, HardtanhFuncOptions().min_val(min_val).max_val(max_val).inplace(inplace));
}
inline Tensor threshold(Tensor input, double threshold, double value, bool inplace) {
  return functional::threshold(input, ThresholdFuncOptions(threshold, value).inplace(inplace));
}
inline Tensor hardshrink(const Tensor& input, double lambda) { return functional::hardshrink(input, HardshrinkFuncOptions(lambda)); }
inline Tensor softshrink(const Tensor& input, double lambda) { return functional::softshrink(input, SoftshrinkFuncOptions(lambda)); }
inline Tensor softplus(const Tensor& input, double beta, double threshold) {
  return functional::softplus(input, SoftplusFuncOptions().beta(beta).threshold(threshold));
}
inline Tensor glu(const Tensor& input, int64_t dim) { return functional::glu(input, GLUFuncOptions(dim)); }
inline Tensor gelu(const Tensor& input, std::string approximate) { return functional::gelu(input, GELUFuncOptions().approximate(std::move(approximate))); }
inline Tensor softmax(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype) {
  return functional::softmax(input, SoftmaxFuncOptions(dim).dtype(dtype));
}
inline Tensor softmin(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype) {
  return functional::softmin(input, SoftminFuncOptions(dim).dtype(dtype));
}
inline Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype) {
  return functional::log_softmax(input, LogSoftmaxFuncOptions(dim).dtype(dtype));
}
inline Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int dim) {
  return functional::gumbel_softmax(logits, GumbelSoftmaxFuncOptions().tau(tau).hard(hard).dim(dim));
}
inline Tensor dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout(input, DropoutFuncOptions().p(p).training(training).inplace(inplace));
}
inline Tensor dropout2d(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout2d(input, Dropout2dFuncOptions().p(p).training(training).inplace(inplace));
}
inline Tensor dropout3d(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout3d(input, Dropout3dFuncOptions().p(p).training(training).inplace(inplace));
}
inline Tensor alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::alpha_dropout(input, AlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}
inline Tensor feature_alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::feature_alpha_dropout(input, FeatureAlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}

}  // namespace cresset::nn::functional::detail
