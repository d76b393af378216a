#pragma once
#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::greater_than_max;
using cresset::is_negative;
using cresset::less_than_lowest;
using cresset::signs_differ;
using cresset::signum;
}  // namespace c10
