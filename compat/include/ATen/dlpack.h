#pragma once
#include "cresset/ops/dlpack.h"
#include "torch/detail/tensor.h"
