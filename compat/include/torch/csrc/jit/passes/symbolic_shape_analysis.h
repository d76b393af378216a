#pragma once
#include "torch/csrc/jit/passes/shape_analysis.h"

namespace torch::jit {
inline void PropagateShapesOnGraph(std::shared_ptr<Graph>& graph) { PropagateInputShapes(graph); }
}  // namespace torch::jit
