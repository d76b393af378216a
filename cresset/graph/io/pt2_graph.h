#pragma once
// The graph of a .pt2 file. Private to the room.

#include "cresset/graph/io/json.h"
#include "cresset/graph/io/pt2_forms.h"
#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// Values by the names that the file gives them.
using Names = std::unordered_map<std::string, Value*>;

class GraphReader {
 public:
  GraphReader(Graph& graph, bool allow_foreign) : graph_(graph), allow_foreign_(allow_foreign) {}

  // The type that the graph's tables give to a value of this name.
  static Type type_of(const Field& graph, const Field& argument);
  // Makes the nodes of a graph at the end of a block; `names` has its inputs already.
  void nodes(const Field& graph, Block& block, Names& names);
  // The value of an argument: a name, a number, a list of them, ...
  Value* argument(const Field& argument, const Names& names, Node* place);
  // Operators that this library lacks, with their nodes.
  const std::map<std::string, std::string>& missing() const { return missing_; }
  // Whether there are regions of mixed precision, or levels of transforms.
  bool has_regions() const { return has_regions_; }

 private:
  void node(const Field& graph, const Field& node, Block& block, Names& names);
  // `skipped`: inputs that are no arguments of the operator.
  void operation(const Field& graph, const Field& node, const dispatch::OpHandle& op, Block& block, Names& names, size_t skipped = 0);
  // A number where an operator takes a tensor: its overload for numbers, or the number as a tensor.
  dispatch::OpHandle for_numbers(const Field& node, const dispatch::OpHandle& op) const;
  Value* as_tensor(Value* number, Node* place);
  void builtin(const Field& graph, const Field& node, const Builtin& builtin, Block& block, Names& names);
  // The input of this name; None where it is not given.
  Value* input(const Field& node, std::string_view name, const Names& names, Block& block);
  void resize(const Field& graph, const Field& node, const char* mode, bool antialias, Block& block, Names& names);
  void composed(const Field& graph, const Field& node, const Form& form, Block& block, Names& names, size_t skipped);
  void ordered(const Field& graph, const Field& node, Block& block, Names& names);
  void results(const Field& node, const std::vector<Value*>& values, Names& names);
  void written(const Field& graph, const Field& node, Block& block, Names& names);
  void choice(const Field& graph, const Field& node, Block& block, Names& names);
  void condition(const Field& graph, const Field& node, Block& block, Names& names);
  // The values of a list of tensors and sizes.
  std::vector<Value*> operands(const Field& list, const Names& names) const;
  void over_slices(const Field& graph, const Field& node, bool carries, Block& block, Names& names);
  void while_loop(const Field& graph, const Field& node, Block& block, Names& names);
  void inlined(const Field& node, size_t function, Block& block, Names& names);
  void step_of_transform(const Field& graph, const Field& node, std::string_view step, Block& block, Names& names);
  void in_mixed_precision(const Field& node, Block& block, Names& names);
  void foreign(const Field& graph, const Field& node, const std::string& target, Block& block, Names& names);
  // The nodes of a nested graph, whose inputs are these values; its outputs.
  std::vector<Value*> nested(const Field& argument, const std::vector<Value*>& inputs, Block& block);
  void outputs(const Field& graph, const Field& node, Node& made, Names& names);
  // Names the tensors of a list.
  void unpacked(const Field& graph, const Field& output, Value* list, Node* place, Names& names);
  void define(const Field& output, Value* value, Names& names);
  std::vector<Field> inputs_of(const Field& node) const;
  std::shared_ptr<const Location> location(const Field& node) const;

  Graph& graph_;
  bool allow_foreign_;
  bool has_regions_ = false;
  int depth_ = 0;
  std::map<std::string, std::string> missing_;
};

}  // namespace cresset::graph
