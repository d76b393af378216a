#pragma once
// Conversions between the C++ types of elements.

#include <cstdint>
#include <type_traits>

#include "c10/util/overflows.h"
#include "torch/detail/tensor.h"

namespace c10 {

// As tensors convert: complex numbers keep their real part, and floating ones reach uint8 through int64, which holds negative numbers too.
template <class To, class From> To convert(From value) {
  if constexpr (std::is_same<To, From>::value) return value;
  else if constexpr (cresset::is_complex<To>::value && cresset::is_complex<From>::value)
    return To(convert<typename To::value_type>(value.real()), convert<typename To::value_type>(value.imag()));
  else if constexpr (cresset::is_complex<To>::value) return To(convert<typename To::value_type>(value));
  else if constexpr (cresset::is_complex<From>::value) return convert<To>(value.real());
  else if constexpr (!std::is_arithmetic<From>::value) return convert<To>(static_cast<float>(value));
  else if constexpr (!std::is_arithmetic<To>::value) return To(static_cast<float>(value));
  else if constexpr (std::is_same<To, uint8_t>::value && std::is_floating_point<From>::value) return static_cast<To>(static_cast<int64_t>(value));
  else return static_cast<To>(value);
}

// Errors: the number does not fit.
template <class To, class From> To checked_convert(From value, const char* name) {
  TORCH_CHECK((!overflows<To, From>(value)), "value ", value, " cannot be converted to type ", name, " without overflow");
  return convert<To>(value);
}

}  // namespace c10
