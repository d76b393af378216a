#pragma once
// torch::distributions, which LibTorch lacks.

#include "cresset/distributions.h"
#include "torch/torch.h"

namespace torch {
namespace distributions {
using namespace cresset::distributions;
}
}  // namespace torch
