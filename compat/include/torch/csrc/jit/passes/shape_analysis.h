#pragma once
// Facts about the tensors of a graph, in the types of its values.

#include "cresset/graph/script/passes.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {

// Takes it away.
inline void EraseShapeInformation(const std::shared_ptr<Graph>& graph) { cresset::graph::script::erase_types(graph->own()); }
// Finds it for all values from the types of the inputs.
inline void PropagateInputShapes(const std::shared_ptr<Graph>& graph) { cresset::graph::script::infer_types(graph->own()); }

}  // namespace torch::jit
