#include "cresset/graph/io/document.h"

#include "cresset/graph/io/pt2_graph.h"

namespace cresset::graph {

namespace {

// The name of an input that is a value.
std::optional<std::string> name_of(const Field& argument) {
  const auto [kind, value] = argument.choice();
  if (!value.json().is_object()) return std::nullopt;
  if (value.has("name")) return value.at("name").text();
  if (value.has("as_name")) return value.at("as_name").text();
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Graph> read_document(std::string_view json, const std::map<std::string, DocumentConstant>& constants, const std::string& name) {
  Field::Json parsed;
  try {
    parsed = Field::Json::parse(json);
  } catch (const Field::Json::exception& e) { throw ValueError(str("graph document: expected JSON, ", e.what())); }
  const Field document(parsed, "graph");
  auto graph = std::make_unique<Graph>(name);
  Names names;
  document.at("inputs").each([&](const Field& in) {
    const auto input = name_of(in);
    const auto constant = input ? constants.find(*input) : constants.end();
    Value* v = constant != constants.end() ? graph->constant(constant->second.tensor, constant->second.name)
                                           : graph->add_parameter(GraphReader::type_of(document, in), input.value_or("constant"));
    if (input && !names.emplace(*input, v).second) in.fail("the input '", *input, "' is there twice");
  });
  GraphReader reader(*graph, true);
  reader.nodes(document, graph->block(), names);
  document.at("outputs").each([&](const Field& out) { graph->block().add_result(reader.argument(out, names, graph->block().return_node())); });
  graph->verify();
  return graph;
}

}  // namespace cresset::graph
