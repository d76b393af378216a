#pragma once
#include "torch/detail/symint.h"
#include "torch/detail/tensor.h"
