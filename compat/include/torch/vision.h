#pragma once
// Images of files and back: torch::vision. Not part of <torch/torch.h>.

#include "cresset/io/image.h"
#include "torch/torch.h"

namespace torch {
namespace vision {
using namespace cresset::vision;
}
}  // namespace torch
