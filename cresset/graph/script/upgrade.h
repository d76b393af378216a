#pragma once
// Operators that meant something else in archives of older versions.

#include "cresset/graph/ir/graph.h"

namespace cresset::graph::script {

// The first version whose operators are all those of today.
constexpr int64_t kVersionOfOperators = 5;

// The graph of a text of that version, with what its operators meant then.
void upgrade_operators(Graph& graph, int64_t version);

}  // namespace cresset::graph::script
