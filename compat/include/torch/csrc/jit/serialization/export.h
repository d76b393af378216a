#pragma once
// Archives written record by record (torch/detail/script_export.h), and graphs of ONNX nodes as files of that format.

#include <map>

#include "cresset/graph/onnx/export.h"
#include "torch/csrc/jit/ir/ir.h"
#include "torch/csrc/onnx/onnx.h"
#include "torch/detail/script_export.h"

namespace ONNX_NAMESPACE {
using ModelProto = cresset::graph::onnx::Message;
}

namespace torch::jit {

// Tensors that the caller stores, by the names that the model has for them.
using RawDataExportMap = std::unordered_map<std::string, at::Tensor>;
using SymbolDimMap = std::map<c10::ShapeSymbol, std::string>;
using DimSymbolMap = std::map<std::string, c10::ShapeSymbol>;
using NodeNameMap = std::unordered_map<const Node*, std::string>;
// Names of the attributes of a function that nodes in it take the values of their attributes from.
using NodeAttrNameMap = std::unordered_map<const Node*, std::unordered_map<std::string, std::string>>;

// A model, the tensors that are deferred, the names of sizes that are not known, whether tensors became files beside `onnx_file_path`, the names of nodes.
// Errors: cresset/graph/onnx/export.h.
inline std::tuple<std::shared_ptr<::ONNX_NAMESPACE::ModelProto>, RawDataExportMap, SymbolDimMap, bool, NodeNameMap> export_onnx(
    const std::shared_ptr<Graph>& graph, const std::map<std::string, at::Tensor>& initializers, int64_t onnx_opset_version,
    const std::unordered_map<std::string, std::unordered_map<int64_t, std::string>>& dynamic_axes, bool defer_weight_export = false,
    ::torch::onnx::OperatorExportTypes operator_export_type = ::torch::onnx::OperatorExportTypes::ONNX, bool strip_doc_string = true,
    bool keep_initializers_as_inputs = true, const std::map<std::string, int>& custom_opsets = {}, bool add_node_names = true,
    bool use_external_data_format = false, const std::string& onnx_file_path = std::string(), const NodeAttrNameMap& node_attr_to_name = {}) {
  TORCH_CHECK(graph, "export_onnx: expected a graph");
  cresset::graph::onnx::NodeAttrNameMap renamed;
  for (const auto& [node, names] : node_attr_to_name) renamed.emplace(node->own(), names);
  cresset::graph::onnx::Exported made =
      cresset::graph::onnx::export_graph(graph->own(), initializers,
                                         {onnx_opset_version, dynamic_axes, defer_weight_export, operator_export_type, strip_doc_string,
                                          keep_initializers_as_inputs, custom_opsets, add_node_names, use_external_data_format, onnx_file_path, renamed});
  SymbolDimMap sizes;
  for (auto& [number, name] : made.sizes) sizes.emplace(c10::ShapeSymbol::numbered(number), std::move(name));
  NodeNameMap names;
  for (const auto& [node, name] : made.node_names) names.emplace(graph->part(const_cast<cresset::graph::Node*>(node)), name);
  return {std::move(made.model), std::move(made.weights), std::move(sizes), made.has_external_data, std::move(names)};
}

inline std::string serialize_model_proto_to_string(const std::shared_ptr<::ONNX_NAMESPACE::ModelProto>& model_proto) {
  TORCH_CHECK(model_proto, "serialize_model_proto_to_string: expected a model");
  return model_proto->bytes();
}

// Errors: the bytes are no model, or its graphs do not hold together. Which operators there are is not checked.
inline void check_onnx_proto(const std::string& proto_string) { cresset::graph::onnx::check_model(proto_string); }

// A model as text: in short, or with all that it holds.
inline std::string pretty_print_onnx(const std::shared_ptr<Graph>& graph, const std::map<std::string, at::Tensor>& initializers, int64_t onnx_opset_version,
                                     bool defer_weight_export,
                                     ::torch::onnx::OperatorExportTypes operator_export_type = ::torch::onnx::OperatorExportTypes::ONNX,
                                     bool google_printer = false, bool keep_initializers_as_inputs = true, const std::map<std::string, int>& custom_opsets = {},
                                     bool add_node_names = true) {
  const auto made = export_onnx(graph, initializers, onnx_opset_version, {}, defer_weight_export, operator_export_type, /*strip_doc_string=*/true,
                                keep_initializers_as_inputs, custom_opsets, add_node_names);
  return google_printer ? std::get<0>(made)->print() : cresset::graph::onnx::describe_model(*std::get<0>(made));
}

}  // namespace torch::jit
