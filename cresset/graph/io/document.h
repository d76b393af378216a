#pragma once
// One graph in the form that `.pt2` files have, as JSON, without an archive around it: how `torch.fx` graphs come here.

#include <map>

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// A tensor that an input of the document stands for.
struct DocumentConstant {
  std::string name;
  Tensor tensor;
};
// Inputs named in `constants` become constants, the others parameters; operators that this library lacks become foreign nodes. Errors: ValueError, with
// the place in the document.
CRESSET_API std::unique_ptr<Graph> read_document(std::string_view json, const std::map<std::string, DocumentConstant>& constants,
                                                 const std::string& name = "graph");

}  // namespace cresset::graph
