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
// As PyTorch prints graphs: "graph(%x : Tensor):\n  %1 : int = prim::Constant[value=1]()".
CRESSET_API std::string graph_text(const Graph& graph);
// "aten::add", "prim::If", "prim::CallMethod": names as PyTorch's graphs have them.
CRESSET_API std::string kind_of(const Node& node);

}  // namespace cresset::graph::script
