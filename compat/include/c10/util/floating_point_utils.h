#pragma once
#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace c10::detail {
using cresset::detail::fp32_from_bits;
using cresset::detail::fp32_to_bits;
}  // namespace c10::detail
