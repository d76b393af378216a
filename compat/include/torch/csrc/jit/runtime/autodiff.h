#pragma once
// The name of a differentiated graph, for signatures: gradients of programs are recorded as they run, and no graph is differentiated.

#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
struct Gradient;
}  // namespace torch::jit
