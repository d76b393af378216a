#pragma once
// at::native: the ops by their own names, without a layer between.
#include "torch/detail/tensor.h"
namespace at::native {
#include "cresset/ops/names.inc"
using cresset::compat::arange;
using cresset::compat::complex;
using cresset::compat::complex_out;
inline bool cpu_equal(const Tensor& a, const Tensor& b) { return a.equal(b); }
}  // namespace at::native
