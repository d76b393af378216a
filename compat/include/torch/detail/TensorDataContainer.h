#pragma once
#include "cresset/ops/tensor_data.h"
#include "torch/detail/tensor.h"
namespace torch::detail {
using cresset::detail::TensorDataContainer;
}
