#pragma once
// Graphs from PyTorch's text of them: "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)".

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// Operands may also be literals, as graph_text prints them. Errors: CompileError with the place: text that is no graph, values that are not defined,
// operators that are lacking or do not take these values.
// With `tensors` a number between braces is a tensor of no dimensions.
CRESSET_API std::unique_ptr<Graph> parse_ir(const std::string& text, bool tensors = false);
// The same of a pattern: nodes are known by their names alone, and values without a type may be any.
std::unique_ptr<Graph> parse_pattern(const std::string& text);
// A function that runs the graph; several results become a tuple.
CRESSET_API Function* function_of_graph(CompilationUnit& unit, const std::string& name, const Graph& graph);

// A node by the name that PyTorch's graphs have for it ("aten::add", "prim::ListConstruct"), of the variant that takes the values; defaults complete
// them. Attributes are names of attributes and methods. Errors: no such operator, or none of its variants takes the values.
CRESSET_API Node* create_by_kind(Graph& graph, const std::string& kind, std::vector<Value*> inputs,
                                 const std::vector<std::pair<std::string, Datum>>& attributes, Node* place);

}  // namespace cresset::graph::script
