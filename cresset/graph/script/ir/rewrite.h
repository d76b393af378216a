#pragma once
// Subgraphs that texts describe, and what stands there afterwards.

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// Names of values of the replacement and of the pattern: the node of the first gets the place in the source of that of the second.
using NamePairs = std::vector<std::pair<std::string, std::string>>;
// Where the graph of a text is found, that of another stands, with the same inputs and outputs: how often. Nodes are the same that have the same name
// ("aten::add") and attributes, whichever overload they are; inputs behind those that the pattern names have their defaults. `match::module[name="Linear"](%self)`
// is a module of that class. Operators of the replacement that there are none of can be looked at, and not run. Errors: as parse_ir; other numbers of inputs.
CRESSET_API size_t rewrite_by_text(Graph& graph, const std::string& pattern, const std::string& replacement, const NamePairs& places = {});

}  // namespace cresset::graph::script
