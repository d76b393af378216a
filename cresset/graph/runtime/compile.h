#pragma once
// From graphs to instructions. Private to the room.

#include "cresset/graph/runtime/machine.h"

namespace cresset::graph {

// `codes`: where the graphs that it calls are, by name; they need not be compiled yet.
void compile(const Graph& graph, Program::Code& code, const std::map<std::string, Program::Code*>& codes);

OwningCall find_owning_call(const dispatch::OpEntry& op);

}  // namespace cresset::graph
