#pragma once
// Graphs as TorchScript again: the text of archives, and of `code`.

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// Things that the text refers to besides: tensors (CONSTANTS.c0), and classes and functions whose texts it needs.
struct Referred {
  std::vector<Datum> constants;
  std::vector<ClassType*> classes;
  std::vector<Function*> functions;
  std::vector<std::string> named_tuples;
  int64_t version = 3;  // of archives, whose readers know the operators as the text means them

  size_t constant(const Datum& v);
  void add(const Type& type);
  void add(ClassType* cls);
  void add(Function* f);
};

// "def f(x: Tensor) -> Tensor:\n  ..." Errors: it calls functions of Python, `to_save` alone.
CRESSET_API std::string code_of(Function& function, Referred& referred, bool to_save, const std::string& indent = "");
// "class Net(Module):\n  ..."
CRESSET_API std::string code_of(ClassType& cls, Referred& referred, bool to_save);
std::string code_of_named_tuple(const std::string& name);
// As PyTorch prints graphs: "graph(%x : Tensor):\n  %1 : int = prim::Constant[value=1]()". Constants stand first.
CRESSET_API std::string graph_text(const Graph& graph);
// "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)", "Tensor[]": a type as graphs print it, with what is known of tensors.
CRESSET_API std::string graph_type_text(const Type& type);
// "aten::add", "prim::If", "prim::CallMethod": names as PyTorch's graphs have them.
CRESSET_API std::string kind_of(const Node& node);
// "aten::add" of add.Tensor; of operators and builtins alone.
std::string base_name(const Node& node);

// Rows that resize in any number of dimensions are an operator for each number elsewhere, which takes so many of the node's inputs. Nothing: the node does
// not resize. Errors: the number of dimensions is not known.
struct ResizeForm {
  std::string name;
  size_t arguments;
};
std::optional<ResizeForm> resize_form(const Node& node);

// A node as PyTorch's graphs have it: names and types that ours takes as inputs are attributes there.
struct NodeView {
  std::string kind;
  std::vector<std::pair<std::string, Datum>> attributes;
  std::vector<size_t> inputs;  // which of the node's own
  bool is_foreign = false;     // its attributes are those that it was made with
};
// The note of a node that stands nowhere yet.
inline constexpr const char* kDetachedNote = "detached";
CRESSET_API NodeView view_of(const Node& node);
// Whether the node takes the input as an attribute.
bool is_attribute(const Node& node, size_t input);
// Whether all that use a constant take it as an attribute.
CRESSET_API bool is_only_attribute(const Value& constant);
// The names of the constants that a graph prints: those of their own, or numbers that no other value has.
CRESSET_API std::unordered_map<const Value*, std::string> constant_names(const Graph& graph);

// The name of an attribute, class or function that a node has as an input. Errors: it is no constant.
std::string constant_text(const Value* v);

}  // namespace cresset::graph::script
