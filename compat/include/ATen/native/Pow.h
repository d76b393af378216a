#pragma once
#include "cresset/kernels/expr/transcendental.h"
#include "torch/detail/tensor.h"
namespace at::native {
// Integers; what pow of integer tensors computes.
template <class T, class = std::enable_if_t<std::is_integral<T>::value>> T powi(T base, T exponent) { return cresset::kernels::expr::int_pow(base, exponent); }
}  // namespace at::native
