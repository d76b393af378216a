#pragma once
// The names that LibTorch gives to ops without a kernel of their own: the same rows as theirs.
#include "torch/detail/tensor.h"
namespace at::native {
inline Tensor math_addr(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) {
  return at::addr(self, a, b, beta, alpha);
}
inline Tensor math_silu_backward(const Tensor& grad, const Tensor& self) { return at::silu_backward(grad, self); }
inline Tensor math_mish_backward(const Tensor& grad, const Tensor& self) { return at::mish_backward(grad, self); }
inline auto math_native_layer_norm(const Tensor& input, IntArrayRef shape, const Tensor& weight, const Tensor& bias, double eps) {
  return at::native_layer_norm(input, shape, weight, bias, eps);
}
inline auto math_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c, int64_t inner, int64_t group, double eps) {
  return at::native_group_norm(input, weight, bias, n, c, inner, group, eps);
}
}  // namespace at::native
