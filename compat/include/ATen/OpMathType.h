#pragma once
#include "cresset/base/util/opmath.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::OpMathType;
using cresset::opmath_type;
using cresset::toOpMathType;
}  // namespace at
