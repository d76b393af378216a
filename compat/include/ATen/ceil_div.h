#pragma once
#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::ceil_div;
using cresset::round_up;
}  // namespace at
