#pragma once
#include <cmath>
#include "torch/detail/tensor.h"
namespace c10 {
template <class T, class U> auto copysign(const T& a, const U& b) { return std::copysign(a, b); }
inline Half copysign(Half a, Half b) { return std::copysign(static_cast<float>(a), static_cast<float>(b)); }
inline BFloat16 copysign(BFloat16 a, BFloat16 b) { return std::copysign(static_cast<float>(a), static_cast<float>(b)); }
}  // namespace c10
