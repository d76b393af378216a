#pragma once
// Graphs from their texts.

#include <unordered_map>

#include "cresset/graph/script/ir_text.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {

// Fills a new graph, whose values have names after what they are, not those of the text. Errors: the graph is not empty; the text is no graph, or has
// operators that are lacking. With `parse_tensor_constants` numbers between braces are tensors.
inline void parseIR(const std::string& text, Graph* graph, bool parse_tensor_constants = false) {
  TORCH_CHECK(graph && graph->block().nodes().size() == 1 && graph->block().parameters().empty(), "parseIR: expected an empty graph");
  const std::unique_ptr<Graph> parsed = cresset::graph::script::parse_ir(text, parse_tensor_constants);
  std::unordered_map<const Value*, Value*> copies;
  const auto map = [&](Value* v) -> Value* {
    if (v->is_constant() && !copies.count(v)) copies[v] = graph->constant(*v->constant(), v->name());
    return copies.at(v);
  };
  for (const auto& p : parsed->block().parameters()) copies[p.get()] = graph->add_parameter(p->type(), p->name());
  for (const auto& node : parsed->block().nodes()) {
    if (node->kind() == cresset::graph::NodeKind::Return) continue;
    const Node* const made = graph->copy(*node, map, nullptr);
    for (size_t i = 0; i < node->outputs().size(); i++) copies[node->output(i)] = made->output(i);
  }
  for (Value* v : parsed->block().results()) graph->block().add_result(map(v));
}

}  // namespace torch::jit
