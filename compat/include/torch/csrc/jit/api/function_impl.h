#pragma once
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {

// A function that has a graph.
class GraphFunction {
 public:
  explicit GraphFunction(Function& function) : function_(function) {}
  std::shared_ptr<Graph> graph() const { return cresset::graph::script::libtorch_graph(function_); }
  Function& function() const { return function_; }

 private:
  Function& function_;
};
inline GraphFunction toGraphFunction(Function& function) { return GraphFunction(function); }

}  // namespace torch::jit
