#pragma once
#include <cmath>
#include <type_traits>

#include "torch/detail/tensor.h"

namespace at {

// Of single numbers, complex and reduced ones too.
template <class T> bool _isnan(T value) {
  if constexpr (std::is_integral<T>::value) return false;
  else if constexpr (cresset::is_complex<T>::value) return std::isnan(static_cast<double>(value.real())) || std::isnan(static_cast<double>(value.imag()));
  else return std::isnan(static_cast<double>(value));
}
template <class T> bool _isinf(T value) {
  if constexpr (std::is_integral<T>::value) return false;
  else return std::isinf(static_cast<double>(value));
}

}  // namespace at
