#pragma once
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
