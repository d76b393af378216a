// The autograd layer's work for an op from outside the tree that says nothing of its gradient: the result keeps its place in the
// graph, and backward raises there.

#include <algorithm>

#include "cresset/autograd/generated_support.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

// A view whose way back is not known: one result, the first, of the first argument.
void check_views(const FunctionSchema& schema, const char* op) {
  const auto views = [](const std::vector<Argument>& list) {
    return std::count_if(list.begin(), list.end(), [](const Argument& a) { return a.aliases && !a.writes; });
  };
  const auto count = views(schema.returns);
  if (count == 0) return;
  CRESSET_CHECK(count == 1, op, ": an operator without a formula for its gradient can have one result that is a view, got ", count);
  CRESSET_CHECK(schema.returns[0].aliases && !schema.arguments.empty() && schema.arguments[0].aliases, op,
                ": an operator without a formula for its gradient can have a view of its first argument as its first result, and no other");
}

}  // namespace

void autograd_without_formula(const OpEntry& op, Stack& stack) {
  using namespace autograd;
  const FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size(), first = stack.size() - n;
  variable_list inputs, written;
  for (size_t i = 0; i < n; i++) {
    for_each_tensor(stack[first + i], [&](const Tensor& t) { inputs.push_back(t); });
    if (schema.arguments[i].writes && stack[first + i].is_tensor()) written.push_back(stack[first + i].to_tensor());
  }
  const bool record = any_requires_grad(TensorList(inputs));
  intrusive_ptr<Node> node;
  if (record) {
    check_views(schema, op.name);
    check_inplace(TensorList(written), true, op.name);
    node = make_node<NotImplementedBackward>(op.name);
    set_next_edges(*node, TensorList(inputs));
  }
  {
    BelowAutograd below;
    call_boxed(op, stack);
  }
  if (!record) return;
  for (const Tensor& t : written) rebase_history(t, node);
  for (size_t i = first; i < stack.size(); i++) {
    for_each_tensor(stack[i], [&](const Tensor& t) {
      for (const Tensor& w : written)
        if (w.is_same(t)) return;
      for (const Tensor& in : inputs)
        if (in.is_same(t)) return;
      set_history(t, node);
    });
  }
}

namespace {

using autograd::SavedVariable;
using autograd::variable_list;

bool holds_tensors(const Argument& a) { return a.type.kind == TypeKind::Tensor; }

// Visits every tensor of an argument, undefined ones too, so that each has its place among the edges.
template <class F> void visit_tensors(const Value& v, F&& visit) {
  if (v.is<std::vector<Tensor>>() || v.is<std::vector<Value::Optional>>()) {
    for (const auto& t : v.to_optional_tensor_list()) visit(t ? *t : Tensor());
  } else {
    visit(v.to_tensor());
  }
}

// A node whose gradient is a boxed function of arguments, results and the results' gradients.
struct FormulaNode final : autograd::Node {
  FormulaNode(const OpEntry& op, const BoxedFn& backward) : op_(op), backward_(backward) { lock_apply_ = true; }
  std::string name() const override { return std::string(op_.name) + "Backward"; }

  void save_arguments(const Value* values) {
    for (const Argument& a : op_.function_schema().arguments) {
      const Value& v = *values++;
      Saved saved;
      if (holds_tensors(a)) visit_tensors(v, [&](const Tensor& t) { saved.tensors.emplace_back(t, false); });
      else saved.plain = v;
      arguments_.push_back(std::move(saved));
    }
  }
  void save_result(const Value& v) {
    Saved saved;
    if (!v.is_tensor()) saved.plain = v;
    else saved.tensors.emplace_back(v.to_tensor(), is_differentiable_type(v.to_tensor().scalar_type()));
    results_.push_back(std::move(saved));
  }
  void release_variables() override {
    for (auto* list : {&arguments_, &results_})
      for (Saved& s : *list)
        for (SavedVariable& v : s.tensors) v.reset_data();
  }

 protected:
  variable_list apply(variable_list&& grads) override {
    const auto& declared = op_.function_schema().arguments;
    Stack stack;
    for (size_t i = 0; i < arguments_.size(); i++) {
      const Saved& s = arguments_[i];
      if (!holds_tensors(declared[i])) stack.push_back(s.plain);
      else if (declared[i].type.list) stack.emplace_back(unpack_all(s));
      else stack.emplace_back(s.tensors[0].unpack(this));
    }
    for (const Saved& s : results_) stack.push_back(s.tensors.empty() ? s.plain : Value(s.tensors[0].unpack(this)));
    for (const Tensor& g : grads) stack.emplace_back(g);
    backward_(op_, stack);
    variable_list out;
    for (const Value& v : stack) visit_tensors(v, [&](const Tensor& t) { out.push_back(t); });
    CRESSET_CHECK(out.size() == num_outputs(), op_.name, ": the gradient gave ", out.size(), " tensors, expected ", num_outputs(),
                  ", one for each tensor among the arguments");
    return out;
  }

 private:
  struct Saved {
    Value plain;
    std::vector<SavedVariable> tensors;
  };
  std::vector<Tensor> unpack_all(const Saved& s) {
    std::vector<Tensor> list;
    for (const SavedVariable& v : s.tensors) list.push_back(v.unpack(this));
    return list;
  }
  const OpEntry& op_;
  const BoxedFn backward_;
  std::vector<Saved> arguments_, results_;
};

}  // namespace

BoxedFn autograd_with_formula(BoxedFn backward) {
  return [backward = std::move(backward)](const OpEntry& op, Stack& stack) {
    using namespace autograd;
    const FunctionSchema& schema = op.function_schema();
    const size_t n = schema.arguments.size(), first = stack.size() - n;
    variable_list inputs;
    for (size_t i = 0; i < n; i++)
      if (holds_tensors(schema.arguments[i])) visit_tensors(stack[first + i], [&](const Tensor& t) { inputs.push_back(t); });
    intrusive_ptr<FormulaNode> node;
    if (any_requires_grad(TensorList(inputs))) {
      node = make_node<FormulaNode>(op, backward);
      set_next_edges(*node, TensorList(inputs));
      node->save_arguments(stack.data() + first);
    }
    {
      BelowAutograd below;
      call_boxed(op, stack);
    }
    if (!node) return;
    for (size_t i = first; i < stack.size(); i++) {
      set_history(stack[i].is_tensor() ? stack[i].to_tensor() : Tensor(), node);
      node->save_result(stack[i]);
    }
  };
}

}  // namespace cresset::dispatch
