#pragma once
#include <type_traits>

#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace c10::detail {
using cresset::detail::bits_from_f32;
using cresset::detail::f32_from_bits;
using cresset::detail::float2halfbits;
using cresset::detail::fp16_ieee_from_fp32_value;
using cresset::detail::fp16_ieee_to_fp32_bits;
using cresset::detail::fp16_ieee_to_fp32_value;
using cresset::detail::fp32_from_bits;
using cresset::detail::fp32_to_bits;
using cresset::detail::halfbits2float;
using cresset::detail::round_to_nearest_even;
}  // namespace c10::detail
// In std, where LibTorch has them.
namespace std {
template <class T> struct is_reduced_floating_point : bool_constant<is_same<T, cresset::Half>::value || is_same<T, cresset::BFloat16>::value> {};
template <class T> constexpr bool is_reduced_floating_point_v = is_reduced_floating_point<T>::value;
}  // namespace std
