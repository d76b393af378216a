#pragma once
#include "cresset/ops/meta_functions.h"
#include "torch/detail/tensor.h"
namespace at {
namespace meta = cresset::meta;
}
