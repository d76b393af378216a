#pragma once
// A pass: convolutions and linear maps run together with what follows them, in the memory of their result: a batch norm of running statistics, a sum, relu.

#include "cresset/graph/codegen/fuse.h"

namespace cresset::graph {

// Results have the bits that the operators have one by one; but linear maps with `options.freezing`, which add the bias first.
CRESSET_API Kernels join_layers(Graph& graph, const FuseOptions& options);

}  // namespace cresset::graph
