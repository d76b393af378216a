#pragma once
#include "cresset/core/private_hooks.h"
#include "torch/detail/tensor.h"

namespace at {
using cresset::AcceleratorHooksInterface;
}
