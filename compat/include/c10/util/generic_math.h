#pragma once
#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::div_floor_floating;
using cresset::div_floor_integer;
using cresset::div_mod;
}  // namespace c10
