#include "cresset/graph/capture/capture.h"

#include "cresset/core/fake_mode.h"
#include "cresset/core/layers.h"
#include "cresset/dispatch/backend.h"

namespace cresset::graph {

namespace {

using dispatch::OpEntry;
using dispatch::Stack;

class Recorder;
thread_local Recorder* t_recorder = nullptr;

class Recorder {
 public:
  Recorder(Graph& graph, const CaptureOptions& options) : graph_(graph), options_(options), outer_(t_recorder), included_(layer_state().included) {
    t_recorder = this;
    layer_state().included = static_cast<uint8_t>(included_ | layer_bit(Layer::Capture));
  }
  ~Recorder() {
    t_recorder = outer_;
    layer_state().included = included_;
  }

  void add_parameter(const Tensor& t, size_t i) { know(t, graph_.add_parameter(Type::tensor(TensorFacts::of(t)), "x" + std::to_string(i))); }
  Value* value_of(const Tensor& t) {
    if (!t.defined()) return graph_.none();
    const auto found = values_.find(t.impl());
    if (found != values_.end()) return found->second;
    Value* v = graph_.constant(Datum(t), "constant");
    know(t, v);
    return v;
  }

  void record(const OpEntry& op, Stack& stack) {
    const dispatch::FunctionSchema& schema = op.function_schema();
    std::vector<Value*> inputs;
    for (const Datum& v : stack) inputs.push_back(operand(op, v));
    {
      const ExcludeLayers unseen(layer_bit(Layer::Capture));
      dispatch::call_boxed(op, stack);
    }
    Node* n = graph_.create(dispatch::OpHandle(&op), inputs);
    CRESSET_CHECK(stack.size() == schema.returns.size(), op.name, ": expected ", schema.returns.size(), " results, got ", stack.size());
    for (size_t i = 0; i < stack.size(); i++) result(*n, n->output(i), stack[i]);
  }

 private:
  // Tensors are kept, so that no other one gets their place.
  void know(const Tensor& t, Value* v) {
    values_[t.impl()] = v;
    kept_.push_back(t);
  }
  Value* operand(const OpEntry& op, const Datum& v) {
    if (v.is_tensor()) return value_of(v.to_tensor());
    const auto list = [&](std::vector<Value*> values, Type element) {
      Node* n = graph_.create(NodeKind::List, std::move(values));
      n->output()->set_type(Type::list(std::move(element)));
      return n->output();
    };
    if (v.is<std::vector<Tensor>>() || v.isTensorList()) {
      std::vector<Value*> values;
      for (const Tensor& t : v.to_tensor_list()) values.push_back(value_of(t));
      return list(std::move(values), TypeKind::Tensor);
    }
    if (v.is<std::vector<Datum::Optional>>() || v.isOptionalTensorList()) {
      std::vector<Value*> values;
      for (const auto& t : v.to_optional_tensor_list()) values.push_back(t ? value_of(*t) : graph_.none());
      return list(std::move(values), Type::optional(TypeKind::Tensor));
    }
    CRESSET_CHECK_NOT_IMPLEMENTED(!v.is<Generator>(), "capture: ", op.name, ": got a generator, which graphs cannot hold; seed the default one instead");
    const Datum plain = v.object() ? v.plain() : v;
    return graph_.constant(plain);
  }
  void result(const Node& n, Value* v, const Datum& r) {
    if (r.is_tensor() && r.to_tensor().defined()) {
      v->set_type(Type::tensor(TensorFacts::of(r.to_tensor())));
      return know(r.to_tensor(), v);
    }
    if (r.is<std::vector<Tensor>>()) {
      const std::vector<Tensor> list = r.to_tensor_list();
      Node* unpacked = graph_.create(NodeKind::Unpack, {v});
      for (const Tensor& t : list) know(t, unpacked->add_output(Type::tensor(TensorFacts::of(t)), v->name()));
      return;
    }
    if (r.is_none() || r.is_tensor()) return;
    throw DataDependentOutputError(n.op_name(), n.op_name() +
                                                    ": a graph that is being captured would keep the example's result; compute with tensors instead (where() "
                                                    "chooses between two), or capture what comes before and after it");
  }

  Graph& graph_;
  const CaptureOptions& options_;
  Recorder* const outer_;
  const uint8_t included_;
  std::unordered_map<const TensorImpl*, Value*> values_;
  std::vector<Tensor> kept_;

 public:
  bool sees(const OpEntry& op) const { return !options_.decompose_composites || !(op.flags & dispatch::kCompositeOp); }
};

void see_operator(const OpEntry& op, Stack& stack) {
  if (!t_recorder || !t_recorder->sees(op)) return dispatch::call_boxed_below(Layer::Capture, op, stack);
  const size_t n = op.function_schema().arguments.size();
  // Values below on the stack are the caller's.
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(n);
  Stack own(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  t_recorder->record(op, own);
  for (Datum& v : own) stack.push_back(std::move(v));
}

}  // namespace

std::unique_ptr<Graph> capture(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function, const std::vector<Tensor>& examples,
                               const CaptureOptions& options) {
  static const bool registered = (dispatch::set_layer_fallback(Layer::Capture, see_operator), true);
  (void)registered;
  auto graph = std::make_unique<Graph>(options.name);
  {
    Recorder recorder(*graph, options);
    for (size_t i = 0; i < examples.size(); i++) recorder.add_parameter(examples[i], i);
    try {
      for (const Tensor& t : function(examples)) graph->block().add_result(recorder.value_of(t));
    } catch (DataDependentOutputError& e) {
      const Node* last = graph->block().return_node()->previous();
      e.add_context(last ? "capture: after " + last->text_name() : std::string("capture"));
      throw;
    }
  }
  graph->verify();
  return graph;
}

}  // namespace cresset::graph
