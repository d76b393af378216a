#pragma once
// The names by which other interpreters know operators and builtins. Private to the folder.

#include "cresset/graph/script/print.h"

namespace cresset::graph::script {

struct LiteName {
  std::string name, overload;
};
LiteName operator_of(const dispatch::OpEntry& op);
// Of an operator that is a text here.
LiteName operator_of_library(const std::string& name);
// Of a node of a builtin, whose overload elsewhere may tell the types that it has.
LiteName operator_of(const Node& builtin);

}  // namespace cresset::graph::script
