#pragma once
// Operators of .pt2 files that are no rows here, as graphs over rows. Private to the room.

#include "cresset/dispatch/schema.h"
#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

struct Form {
  dispatch::FunctionSchema schema;
  std::unique_ptr<const Graph> body;  // its parameters are the arguments of the schema, in order
  bool branches = false;
};
// That of a target ("torch.ops.aten._unsafe_view.default"); null where the table has none.
const Form* form_of(std::string_view target);

}  // namespace cresset::graph
