#pragma once
#include "cresset/graph/script/passes.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
// Whether nodes whose inputs are constants became constants.
inline bool ConstantPropagation(std::shared_ptr<Graph>& graph, bool /*ignore_custom_classes*/ = false) {
  const size_t changed = cresset::graph::script::fold_builtins(graph->own()) + cresset::graph::fold_constants(graph->own());
  cresset::graph::remove_dead_code(graph->own());
  graph->changed_by_pass();
  return changed > 0;
}
}  // namespace torch::jit
