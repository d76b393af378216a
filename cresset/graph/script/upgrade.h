#pragma once
// Operators that meant something else in archives of older versions.

#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

// The first version whose operators are all those of today.
constexpr int64_t kVersionOfOperators = 9;

// The graph of a text of that version, with what its operators meant then.
void upgrade_operators(Graph& graph, int64_t version);
// `torch` of a text of that version, whose operators also take the arguments that they took then.
SugarPtr torch_namespace_of(int64_t version);

}  // namespace cresset::graph::script
