#include "cresset/nn/utils/init.h"
#include "cresset/nn/more.h"
#include "cresset/ops/list_functions.h"

#include <algorithm>
#include <cmath>

namespace cresset::nn {
namespace init {

namespace {

// sqrt(2) and the like in the very order PyTorch computes them: the last bit of the bound decides the bits of the weights.
double kaiming_std(const Tensor& tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const Fan fan = calculate_fan_in_and_fan_out(tensor);
  const double gain = calculate_gain(nonlinearity, a);
  return gain / std::sqrt(static_cast<double>(mode.is<enumtype::kFanIn>() ? fan.in : fan.out));
}

double xavier_std(const Tensor& tensor, double gain) {
  const Fan fan = calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fan.in + fan.out));
}

}  // namespace

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (nonlinearity.is<enumtype::kTanh>()) return 5.0 / 3.0;
  if (nonlinearity.is<enumtype::kReLU>()) return std::sqrt(2.0);
  if (nonlinearity.is<enumtype::kLeakyReLU>()) return std::sqrt(2.0 / (1 + param * param));
  return 1;
}

Fan calculate_fan_in_and_fan_out(const Tensor& tensor) {
  CRESSET_CHECK_VALUE(tensor.dim() >= 2, "init: fan-in and fan-out need at least 2 dimensions, got shape ", tensor.sizes());
  int64_t field = 1;
  for (int64_t d = 2; d < tensor.dim(); d++) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

Tensor constant_(Tensor tensor, const Scalar& value) {
  NoGradGuard guard;
  tensor.fill_(value);
  return tensor;
}

Tensor dirac_(Tensor tensor, int64_t groups) {
  CRESSET_CHECK_VALUE(tensor.dim() >= 3 && tensor.dim() <= 5, "dirac_: expected 3 to 5 dimensions, got shape ", tensor.sizes());
  CRESSET_CHECK_VALUE(groups > 0 && tensor.size(0) % groups == 0, "dirac_: dim 0 must be divisible by groups, got ", tensor.size(0), " and ", groups);
  NoGradGuard guard;
  tensor.zero_();
  const int64_t per_group = tensor.size(0) / groups, ones = std::min(per_group, tensor.size(1));
  for (int64_t g = 0; g < groups; g++) {
    for (int64_t d = 0; d < ones; d++) {
      Tensor one = tensor.select(0, g * per_group + d).select(0, d);
      while (one.dim() > 0) one = one.select(0, one.size(0) / 2);
      one.fill_(1);
    }
  }
  return tensor;
}

Tensor eye_(Tensor matrix) {
  CRESSET_CHECK_VALUE(matrix.dim() == 2, "eye_: only tensors with 2 dimensions are supported, got shape ", matrix.sizes());
  NoGradGuard guard;
  matrix.zero_();
  matrix.diagonal().fill_(1);
  return matrix;
}

Tensor normal_(Tensor tensor, double mean, double std) {
  NoGradGuard guard;
  tensor.normal_(mean, std);
  return tensor;
}

Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }
Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }

Tensor uniform_(Tensor tensor, double low, double high) {
  NoGradGuard guard;
  tensor.uniform_(low, high);
  return tensor;
}

Tensor orthogonal_(Tensor tensor, double gain) {
  CRESSET_CHECK_VALUE(tensor.dim() >= 2, "orthogonal_: only tensors with 2 or more dimensions are supported, got shape ", tensor.sizes());
  NoGradGuard guard;
  if (tensor.numel() == 0) return tensor;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  Tensor a = empty({rows, columns}, tensor.options().requires_grad(false)).normal_(0, 1);
  if (rows < columns) a = a.t();
  Tensor q = _orthogonal_factor(a);
  if (rows < columns) q = q.t();
  tensor.view({rows, columns}).copy_(q);
  tensor.mul_(gain);
  return tensor;
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b) {
  NoGradGuard guard;
  return _trunc_normal_(tensor, mean, std, a, b);
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  CRESSET_CHECK_VALUE(tensor.dim() == 2, "sparse_: only tensors with 2 dimensions are supported, got shape ", tensor.sizes());
  NoGradGuard guard;
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  const int64_t zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  tensor.normal_(0, std);
  for (int64_t column = 0; column < columns; column++) {
    const Tensor order = randperm(rows);
    for (int64_t i = 0; i < zeros; i++) tensor.select(0, order.data_ptr<int64_t>()[i]).select(0, column).fill_(0);
  }
  return tensor;
}

Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return normal_(std::move(tensor), 0, std);
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return uniform_(std::move(tensor), -bound, bound);
}

}  // namespace init

namespace detail {

void init_bias_from_fan_in(const Tensor& bias, const Tensor& weight) {
  const int64_t fan_in = init::calculate_fan_in_and_fan_out(weight).in;
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

}  // namespace detail
}  // namespace cresset::nn
