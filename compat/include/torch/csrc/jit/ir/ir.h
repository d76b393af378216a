#pragma once
// Graphs of TorchScript: their nodes, values and blocks are those of cresset/graph/ir/graph.h, with its names.

#include "cresset/graph/script/print.h"
#include "torch/script.h"

namespace torch::jit {
using cresset::graph::Block;
using cresset::graph::Graph;
using cresset::graph::Node;
using cresset::graph::Value;
}  // namespace torch::jit
