#pragma once
#include "ATen/Parallel.h"
#include "cresset/ops/tensor_apply.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::CPU_tensor_apply2;
using cresset::CPU_tensor_apply3;
using cresset::CPU_tensor_apply4;
}  // namespace at
