#pragma once
#include "cresset/base/util/sizes_and_strides.h"
#include "torch/detail/tensor.h"
#define C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE 5
namespace c10::impl {
using SizesAndStrides = cresset::SizeStrideVector;
}
