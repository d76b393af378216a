#pragma once
#include "cresset/ops/tensor_args.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::TensorGeometry;
}
