#pragma once
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
// Nodes that nothing uses, and that do nothing else, go.
inline void EliminateDeadCode(const std::shared_ptr<Graph>& graph) {
  cresset::graph::remove_dead_code(graph->own());
  graph->changed_by_pass();
}
}  // namespace torch::jit
