#pragma once
#include "cresset/ops/pointwise/scalar_ops.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::scalar_to_tensor;
}
namespace at {
using c10::scalar_to_tensor;
namespace native {
using cresset::wrapped_scalar_tensor;
}
}  // namespace at
