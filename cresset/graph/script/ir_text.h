#pragma once
// Graphs from PyTorch's text of them: "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)".

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// Operands may also be literals, as graph_text prints them. Errors: CompileError with the place: text that is no graph, values that are not defined,
// operators that are lacking or do not take these values.
CRESSET_API std::unique_ptr<Graph> parse_ir(const std::string& text);
// A function that runs the graph; several results become a tuple.
CRESSET_API Function* function_of_graph(CompilationUnit& unit, const std::string& name, const Graph& graph);

}  // namespace cresset::graph::script
