#pragma once
// A pass: copies whose readers copy again, or that lie as what they are copies of, go; sums of tensors that fill one another's zeros become one tensor.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// Needs the sizes and strides of values, and leaves graphs with writes alone. The same bits, but for the signs of zeros in such sums. Returns how many
// nodes it has taken out.
CRESSET_API size_t remove_copies(Graph& graph);

}  // namespace cresset::graph
