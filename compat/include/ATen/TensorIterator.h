#pragma once
#include "cresset/ops/tensor_iterator.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::TensorIterator;
using cresset::TensorIteratorConfig;
using TensorIteratorBase = cresset::TensorIterator;
}  // namespace at
