#pragma once
#include "cresset/graph/ir/file_check.h"

namespace torch::jit::testing {
using cresset::graph::FileCheck;
}  // namespace torch::jit::testing
