#pragma once
#include "cresset/base/util/opmath.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::opmath_type;
using cresset::OpMathType;
using cresset::toOpMathType;
}  // namespace at
