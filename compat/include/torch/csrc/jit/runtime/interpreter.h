#pragma once
// Programs of graphs, which run on a stack.

#include "cresset/graph/script/ir/ir_text.h"
#include "torch/csrc/jit/ir/ir.h"

namespace torch::jit {

class Code {
 public:
  // Errors: as those of compilation.
  Code(const std::shared_ptr<Graph>& graph, const std::string& name)
      : unit_(std::make_shared<CompilationUnit>()),
        function_(cresset::graph::script::function_of_graph(*unit_, name.empty() ? "graph" : name, graph->own())),
        inputs_(graph->inputs().size()),
        outputs_(graph->outputs().size()) {}
  size_t num_inputs() const { return inputs_; }
  size_t num_outputs() const { return outputs_; }

 private:
  friend class InterpreterState;
  std::shared_ptr<CompilationUnit> unit_;
  Function* function_;
  size_t inputs_, outputs_;
};

class InterpreterState {
 public:
  explicit InterpreterState(Code code) : code_(std::move(code)) {}
  // Takes the arguments off the end of the stack, and puts the results there. Errors: too few arguments; as those of the program.
  void run(Stack& stack) {
    TORCH_CHECK(stack.size() >= code_.inputs_, "run: expected ", code_.inputs_, " arguments on the stack, got ", stack.size());
    const auto first = stack.end() - static_cast<ptrdiff_t>(code_.inputs_);
    IValue result = code_.function_->run(Stack(first, stack.end()));
    stack.erase(first, stack.end());
    if (code_.outputs_ == 1) return stack.push_back(std::move(result));
    if (code_.outputs_ == 0) return;
    for (const IValue& v : result.toTupleRef().elements()) stack.push_back(v);
  }

 private:
  Code code_;
};

}  // namespace torch::jit
