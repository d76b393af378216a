#include "cresset/graph/capture/capture.h"

#include "cresset/autograd/autograd.h"
#include "cresset/core/fake_mode.h"
#include "cresset/dispatch/listen.h"
#include "cresset/graph/capture/place.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

namespace {

using dispatch::OpEntry;
using dispatch::Stack;

class Recorder final : public dispatch::Listener {
 public:
  Recorder(Graph& graph, const CaptureOptions& options) : graph_(graph), options_(options) {}

  void add_parameter(const Tensor& t, const std::string& name) { know(t, graph_.add_parameter(Type::tensor(TensorFacts::of(t)), name)); }
  Value* value_of(const Tensor& t) {
    if (!t.defined()) return graph_.none();
    const auto found = values_.find(t.impl());
    if (found != values_.end()) return found->second;
    if (Value* same = value_at(t)) return same;
    Value* v = graph_.constant(Datum(t), "constant");
    know(t, v);
    return v;
  }

  bool hears(const OpEntry& op, bool) override { return !options_.decompose_composites || !(op.flags & dispatch::kCompositeOp); }
  void call(const OpEntry& op, Stack& stack) override {
    if (failed()) return dispatch::call_boxed(op, stack);
    std::vector<Value*> inputs;
    noted([&] {
      if (std::string_view(op.name) == "_local_scalar_dense") refuse("item", "number", value_of(stack.back().to_tensor()));
      for (const Datum& v : stack) inputs.push_back(operand(op, v));
    });
    dispatch::call_boxed(op, stack);
    if (failed()) return;
    noted([&] {
      Node* n = graph_.create(dispatch::OpHandle(&op), inputs);
      const size_t expected = op.function_schema().returns.size();
      CRESSET_CHECK(stack.size() == expected, op.name, ": expected ", expected, " results, got ", stack.size());
      for (size_t i = 0; i < stack.size(); i++) result(*n, n->output(i), stack[i]);
    });
  }
  bool failed() const { return options_.failure && !options_.failure->empty(); }

 private:
  template <class F> void noted(F&& body) const {
    if (!options_.failure) return body();
    try {
      body();
    } catch (const Error& e) { *options_.failure = e.what(); }
  }
  static const void* memory_of(const Tensor& t) { return t.layout() == kStrided && t.has_storage() ? t.impl()->storage().get() : nullptr; }
  // Tensors are kept, so that no other one gets their place.
  void know(const Tensor& t, Value* v) {
    values_[t.impl()] = v;
    kept_[memory_of(t)].emplace_back(t, v);
  }
  // The last value that is the same part of the same memory: autograd keeps what operators gave as tensors of its own.
  Value* value_at(const Tensor& t) const {
    const auto found = kept_.find(memory_of(t));
    if (!memory_of(t) || found == kept_.end()) return nullptr;
    for (size_t i = found->second.size(); i-- > 0;) {
      const auto& [known, value] = found->second[i];
      if (known.sizes() == t.sizes() && known.strides() == t.strides() && known.storage_offset() == t.storage_offset() &&
          known.scalar_type() == t.scalar_type() && known.is_conj() == t.is_conj() && known.is_neg() == t.is_neg())
        return value;
    }
    return nullptr;
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
    refuse(n.op_name(), "result", n.inputs().empty() ? nullptr : n.input(0));
  }
  [[noreturn]] static void refuse(const std::string& op, const char* what, const Value* of) {
    const std::string place = place_of_caller();
    const std::string value = !of ? "" : of->node() ? " of " + of->node()->text_name() : " of %" + of->name();
    throw DataDependentOutputError(op, str(op, value, place.empty() ? "" : " at ", place, ": a graph that is being captured would keep the example's ", what,
                                           ". Two ways out: compute with tensors instead (where() chooses between two), or capture what comes before and after "
                                           "it as two graphs"));
  }

  Graph& graph_;
  const CaptureOptions& options_;
  std::unordered_map<const TensorImpl*, Value*> values_;
  std::unordered_map<const void*, std::vector<std::pair<Tensor, Value*>>> kept_;
};

}  // namespace

std::unique_ptr<Graph> capture(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function, const std::vector<Tensor>& examples,
                               const CaptureOptions& options) {
  auto graph = std::make_unique<Graph>(options.name);
  {
    Recorder recorder(*graph, options);
    const dispatch::ListenScope listening(dispatch::ListenPlace::above_layers, &recorder);
    for (size_t i = 0; i < examples.size(); i++) recorder.add_parameter(examples[i], "x" + std::to_string(i));
    try {
      for (const Tensor& t : function(examples))
        if (!recorder.failed()) graph->block().add_result(recorder.value_of(t));
    } catch (DataDependentOutputError& e) {
      e.add_context("capture");
      throw;
    }
  }
  graph->verify();
  return graph;
}

JointGraph capture_joint(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function, const std::vector<Tensor>& examples,
                         const CaptureOptions& options) {
  JointGraph joint{std::make_unique<Graph>(options.name), examples.size(), 0};
  CaptureOptions apart = options;
  apart.decompose_composites = true;
  Recorder recorder(*joint.graph, apart);
  std::vector<Tensor> leaves, wanted;
  for (size_t i = 0; i < examples.size(); i++) {
    leaves.push_back(examples[i].requires_grad() && examples[i].is_leaf() ? examples[i] : examples[i].detach());
    if (examples[i].requires_grad()) wanted.push_back(leaves.back().requires_grad_());
    recorder.add_parameter(leaves[i], "x" + std::to_string(i));
  }
  const dispatch::ListenScope listening(dispatch::ListenPlace::below_autograd, &recorder);
  const std::vector<Tensor> results = function(leaves);
  std::vector<Tensor> roots, tangents;
  for (const Tensor& t : results)
    if (t.requires_grad()) roots.push_back(t);
  CRESSET_CHECK(!wanted.empty() && !roots.empty(), "capture_joint: expected an example that requires a gradient and a result that depends on it, got ",
                wanted.size(), " such examples and ", roots.size(), " such results");
  for (size_t i = 0; i < roots.size(); i++) {
    const dispatch::ListenScope quiet(dispatch::ListenPlace::below_autograd, nullptr);
    tangents.push_back(cresset::ones_like(roots[i].detach()));
    recorder.add_parameter(tangents[i], "tangent" + std::to_string(i));
  }
  const std::vector<Tensor> gradients = autograd::grad(roots, wanted, tangents, std::nullopt, false, true);
  for (const Tensor& t : results) joint.graph->block().add_result(recorder.value_of(t));
  for (size_t i = 0; i < wanted.size(); i++)
    joint.graph->block().add_result(recorder.value_of(gradients[i].defined() ? gradients[i] : cresset::zeros_like(wanted[i].detach())));
  joint.results = results.size();
  joint.graph->verify();
  return joint;
}

}  // namespace cresset::graph
