#include "cresset/nn/utils/utils.h"
#include "cresset/nn/more.h"
#include "cresset/ops/list_functions.h"

#include <cmath>
#include <limits>

namespace cresset::nn::utils {

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  NoGradGuard guard;
  std::vector<Tensor> grads;
  for (const Tensor& parameter : parameters)
    if (parameter.grad().defined()) grads.push_back(parameter.grad());
  if (grads.empty()) return 0;
  // In tensors to the end: float32 norms give PyTorch's float32 scale.
  const Tensor total = cresset::linalg_vector_norm(cresset::stack(cresset::_foreach_norm(grads, norm_type)), norm_type);
  const double value = total.item<double>();
  CRESSET_CHECK(!error_if_nonfinite || std::isfinite(value), "clip_grad_norm_: the norm of order ", norm_type, " of the gradients is not finite, got ", value);
  const Tensor scale = cresset::_clip_factor(total, max_norm);
  if (scale.item<double>() < 1.0 || !std::isfinite(value)) cresset::_foreach_mul_(grads, scale);
  return value;
}

void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm) {
  NoGradGuard guard;
  std::vector<Tensor> grads;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) grads.push_back(p.grad());
  if (!grads.empty()) cresset::_foreach_mul_(grads, cresset::_clip_factor(total_norm, max_norm));
}

std::pair<Tensor, Tensor> fuse_conv_bn_weights(const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var, double eps,
                                               const Tensor& bn_weight, const Tensor& bn_bias, bool transpose) {
  NoGradGuard guard;
  const auto given = [](const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; };
  const auto [fused, offset] = cresset::_fuse_batch_norm(weight, given(bias), mean, var, eps, given(bn_weight), given(bn_bias), transpose ? 1 : 0);
  return {fused, offset};
}

double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{std::move(parameter)}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  NoGradGuard guard;
  for (const Tensor& parameter : parameters)
    if (parameter.grad().defined()) parameter.grad().detach().clamp_(-clip_value, clip_value);
}
void clip_grad_value_(Tensor parameter, double clip_value) { clip_grad_value_(std::vector<Tensor>{std::move(parameter)}, clip_value); }

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  for (const Tensor& parameter : parameters) {
    CRESSET_CHECK_TYPE(parameter.device() == parameters.front().device(), "parameters_to_vector: parameters are on different devices, got ", parameter.device(),
                       " and ", parameters.front().device());
    flat.push_back(parameter.reshape({-1}));
  }
  return cresset::cat(flat);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  NoGradGuard guard;
  int64_t needed = 0, at = 0;
  for (const Tensor& parameter : parameters) needed += parameter.numel();
  CRESSET_CHECK(vec.dim() == 1 && vec.numel() == needed, "vector_to_parameters: expected a vector of ", needed, " elements, got shape ", vec.sizes());
  for (const Tensor& parameter : parameters) {
    parameter.detach().copy_(vec.narrow(0, at, parameter.numel()).view(parameter.sizes()));
    at += parameter.numel();
  }
}

}  // namespace cresset::nn::utils
