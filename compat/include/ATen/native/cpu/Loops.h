#pragma once
#include "ATen/TensorIterator.h"
#include "cresset/ops/tensor_loops.h"
namespace at::native {
using cresset::cpu_kernel;
using cresset::cpu_kernel_multiple_outputs;
using cresset::cpu_kernel_vec;
using cresset::cpu_serial_kernel;
}  // namespace at::native
