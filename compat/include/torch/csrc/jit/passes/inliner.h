#pragma once
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
// Puts what functions do in place of their calls.
inline void Inline(Graph& graph) {
  cresset::graph::script::inline_functions(graph.own());
  graph.changed_by_pass();
}
}  // namespace torch::jit
