#pragma once
#include "cresset/graph/script/passes.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
// Whether nodes whose results are there already gave way to them.
inline bool PeepholeOptimize(const std::shared_ptr<Graph>& graph, bool /*disable_shape_peepholes*/ = false) {
  const size_t changed = cresset::graph::script::peephole(graph->own()) + cresset::graph::script::fold_builtins(graph->own());
  cresset::graph::remove_dead_code(graph->own());
  graph->changed_by_pass();
  return changed > 0;
}
}  // namespace torch::jit
