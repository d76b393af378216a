#pragma once
// Graphs from their texts.

#include "cresset/graph/script/ir/ir_text.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {

// Fills a new graph, whose values have names after what they are, not those of the text. Errors: the graph is not empty; the text is no graph, or has
// operators that are lacking. With `parse_tensor_constants` numbers between braces are tensors.
inline void parseIR(const std::string& text, Graph* graph, bool parse_tensor_constants = false) {
  TORCH_CHECK(graph && graph->nodes().empty() && graph->inputs().empty(), "parseIR: expected an empty graph");
  const auto parsed = cresset::graph::script::parse_ir(text, parse_tensor_constants);
  cresset::graph::Graph& to = graph->own();
  std::vector<cresset::graph::Value*> parameters;
  for (const auto& p : parsed->block().parameters()) parameters.push_back(to.add_parameter(p->type(), p->name()));
  for (cresset::graph::Value* v : cresset::graph::copy_nodes(*parsed, parameters, to, to.block().return_node())) to.block().add_result(v);
}

}  // namespace torch::jit
