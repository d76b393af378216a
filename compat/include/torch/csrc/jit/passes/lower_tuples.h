#pragma once
#include "cresset/graph/script/passes.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {
// Inputs and outputs that are tuples become their elements, and tuples that are taken apart again are not made.
inline void LowerAllTuples(const std::shared_ptr<Graph>& graph) {
  cresset::graph::script::run_script_pass(graph->own(), "lower_tuples");
  cresset::graph::remove_dead_code(graph->own());
  graph->changed_by_pass();
}
inline void LowerSimpleTuples(const std::shared_ptr<Graph>& graph) {
  cresset::graph::script::peephole(graph->own());
  cresset::graph::remove_dead_code(graph->own());
  graph->changed_by_pass();
}
}  // namespace torch::jit
