#pragma once
#include "ATen/native/math_kernels.h"
#include "torch/detail/tensor.h"
namespace at::cpu {
#include "cresset/ops/method_names.inc"
#include "cresset/ops/names.inc"
using cresset::compat::arange;
using cresset::compat::complex;
using cresset::compat::complex_out;
}  // namespace at::cpu
