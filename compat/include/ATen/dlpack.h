#pragma once
#include "cresset/ops/layout/dlpack.h"
#include "torch/detail/tensor.h"
