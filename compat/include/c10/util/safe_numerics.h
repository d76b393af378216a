#pragma once
#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::add_overflows;
using cresset::mul_overflows;
using cresset::safe_multiplies_u64;
}  // namespace c10
