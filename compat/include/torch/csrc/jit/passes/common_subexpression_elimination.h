#pragma once
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
// Whether a node that computes what an earlier one has computed gave way to it.
inline bool EliminateCommonSubexpression(const std::shared_ptr<Graph>& graph) {
  const bool changed = cresset::graph::merge_common_subexpressions(graph->own()) > 0;
  graph->changed_by_pass();
  return changed;
}
}  // namespace torch::jit
