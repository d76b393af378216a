#pragma once
// Operators that meant something else in archives of older versions.

#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

// The first version whose operators are all those of today.
constexpr int64_t kVersionOfOperators = 9;

// The first version in which an operator means what it means today, which a text needs that calls it.
int64_t version_of_operator(const std::string& name);
// A function that does what an operator of bytecode did in that version, for values that it takes; null: what it does today.
Function* older_operator(const std::string& name, const std::string& overload, int64_t version);
// The graph of a text of that version, with what its operators meant then.
void upgrade_operators(Graph& graph, int64_t version);
// `torch` of a text of that version, whose operators also take the arguments that they took then.
SugarPtr torch_namespace_of(int64_t version);

}  // namespace cresset::graph::script
