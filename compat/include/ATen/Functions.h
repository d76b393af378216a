#pragma once
#include "cresset/ops/list_functions.h"
#include "torch/detail/tensor.h"

namespace at {
#include "cresset/ops/list_names.inc"
}  // namespace at

namespace torch {
#include "cresset/ops/list_names.inc"
}  // namespace torch
