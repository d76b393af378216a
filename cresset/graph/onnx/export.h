#pragma once
// Graphs whose nodes are those of ONNX, as files of that format: "onnx::Relu" is a node Relu, "com::Op" a node of the domain com, blocks of If, Loop and Scan
// are graphs within, constants that are None are inputs that are left out.

#include <unordered_map>

#include "cresset/graph/ir/graph.h"
#include "cresset/graph/onnx/message.h"

namespace cresset::graph::onnx {

// Which operators a graph may have besides those of ONNX and of domains of users: none, or PyTorch's, as nodes of domains of their own.
enum class OperatorExportTypes { ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH };

// Names of the attributes of a function that nodes in it take the values of their attributes from.
using NodeAttrNameMap = std::unordered_map<const Node*, std::unordered_map<std::string, std::string>>;

struct ExportOptions {
  int64_t opset = 17;
  // Names of sizes, by the value's name and the dimension.
  std::unordered_map<std::string, std::unordered_map<int64_t, std::string>> dynamic_axes;
  // Initializers hold the mark "__EXTERNAL" in place of their bytes, and their tensors are given back.
  bool defer_weights = false;
  OperatorExportTypes operators = OperatorExportTypes::ONNX;
  // Whether nodes say nothing of the place that they come from.
  bool strip_places = true;
  bool initializers_are_inputs = true;
  std::map<std::string, int> custom_opsets;
  bool names_nodes = true;
  // Initializers of a kibibyte and more become files of their own beside `path`, as do those of a model beyond two gigabytes where there is a path.
  bool external_data = false;
  std::string path;
  NodeAttrNameMap attribute_names;
};
struct Exported {
  std::shared_ptr<Message> model;
  std::unordered_map<std::string, Tensor> weights;
  // The names of sizes that are not known, by negative numbers: -1 of "SS(-1)", and numbers of their own for others.
  std::map<int64_t, std::string> sizes;
  bool has_external_data = false;
  std::unordered_map<const Node*, std::string> node_names;
};

// Parameters of the graph that `initializers` has a tensor for become initializers. Errors: an opset that the format does not have; operators that `options` does
// not allow, all named at once; attributes and dtypes that the format has no place for; external data without a path, files that cannot be written.
CRESSET_API Exported export_graph(const Graph& graph, const std::map<std::string, Tensor>& initializers, const ExportOptions& options);

// That the bytes are a model whose graphs hold together: names that are defined before they are used and once, attributes with one value, initializers of the
// right size. Which operators there are, and what they take, is not checked. Errors: ValueError with the first thing that is wrong.
CRESSET_API void check_model(std::string_view bytes);

// A model for people, with the shapes of tensors in place of their numbers.
CRESSET_API std::string describe_model(const Message& model);

// A graph as the value of an attribute.
class CRESSET_API GraphObject final : public dispatch::Object {
 public:
  explicit GraphObject(std::shared_ptr<const Graph> g) : graph(std::move(g)) {}
  const char* kind_name() const override { return "graph"; }
  std::shared_ptr<const Graph> graph;
};

// A size by the number that texts of graphs have for it ("SS(-1)": 1), and the number of such a size.
CRESSET_API Sym numbered_size(int64_t number);
CRESSET_API std::optional<int64_t> number_of_size(const Sym& size);

}  // namespace cresset::graph::onnx
