#pragma once
// A graph for people: each node with its type, the multiply-adds that it takes and the bytes that it reads and writes.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

struct NodeCost {
  // Multiply-adds of products and convolutions; unknown where sizes are. Of other operators none.
  Sym macs = 0;
  // Of all tensors that are read and written; none for views and structure.
  Sym bytes = 0;
};
CRESSET_API NodeCost cost_of(const Node& node);

// A line for each node, parameters and weights before them, totals at the end.
CRESSET_API std::string describe(const Graph& graph);
// The same as a drawing, in the language of Graphviz's `dot`.
CRESSET_API std::string dot(const Graph& graph);

}  // namespace cresset::graph
