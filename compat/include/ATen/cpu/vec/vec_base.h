#pragma once
#include "ATen/native/Math.h"
#include "ATen/native/cpu/zmath.h"
#include "c10/util/BFloat16-math.h"
#include "cresset/kernels/vec/convert.h"
#include "torch/detail/tensor.h"
#if !defined(VECTOR_WIDTH)
#define VECTOR_WIDTH (::cresset::vec::kBytes)
#endif
namespace at::vec {
using namespace cresset::vec;
}
