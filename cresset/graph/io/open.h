#pragma once
// Graphs from files of any kind that the room reads.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// A .pt2 archive, whose programs are graphs of their names where there are several, or the text of a module; operators that this library lacks are kept
// as foreign ones. Errors: a file that is neither.
CRESSET_API Module open_module(const std::string& path);

}  // namespace cresset::graph
