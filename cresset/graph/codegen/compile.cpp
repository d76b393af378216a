#include "cresset/graph/codegen/compile.h"

#include <algorithm>
#include <mutex>

#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/variable.h"
#include "cresset/core/random/generator.h"
#include "cresset/cresset.h"
#include "cresset/graph/capture/capture.h"
#include "cresset/graph/codegen/fuse.h"
#include "cresset/graph/codegen/history.h"
#include "cresset/graph/codegen/overlap.h"
#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/joint.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

namespace {

using autograd::AutoGradMode;
using autograd::GradMode;

// The programs for arguments of one kind.
struct Plan {
  Kernels kernels;
  std::unique_ptr<const Program> forward, backward;
  size_t results = 0;
  std::vector<Tensor> extra;                  // parameters that are inputs of the programs, behind the function's own
  std::vector<Tensor> written;                // tensors from elsewhere that get new values, which come after the results
  std::vector<Tensor> touched;                // tensors from elsewhere that are written, by the graph or after it
  std::vector<bool> recorded;                 // for each result: whether it has a history
  std::vector<std::vector<int64_t>> strides;  // of the gradients of these
};

struct PlanBackward final : CompiledBackward {
  explicit PlanBackward(std::shared_ptr<const Plan> p) : plan(std::move(p)) {}
  Values backward(Values&& inputs) override { return plan->backward->run(std::move(inputs)); }
  IntArrayRef strides(size_t i) const override { return plan->strides[i]; }
  std::shared_ptr<const Plan> plan;
};

bool wants_gradient(const Tensor& t) { return t.defined() && t.requires_grad(); }

// Tensors of the graph that come from elsewhere.
std::vector<Tensor> constants_of(const Graph& graph, FunctionRef<bool(const Value&)> wanted) {
  std::vector<Tensor> found;
  for (const auto& c : graph.constants())
    if (c->constant()->is_tensor() && c->constant()->to_tensor().defined() && wanted(*c)) found.push_back(c->constant()->to_tensor());
  return found;
}

// Whether a node writes to a constant, of which the schemas of batch norms say nothing.
bool is_written(const Value& constant, const AliasSets& aliases) {
  if (aliases.is_written(&constant)) return true;
  for (const Use& use : constant.uses()) {
    if (use.node->kind() != NodeKind::Op) continue;
    const std::string& name = use.node->op()->function_schema().arguments[use.input].name;
    if (name == "running_mean" || name == "running_var") return true;
  }
  return false;
}

bool writes_to_parameter(const Graph& graph) {
  const AliasSets aliases(graph);
  for (const auto& p : graph.block().parameters())
    if (aliases.is_written(p.get())) return true;
  return false;
}
std::vector<Tensor> written_constants(const Graph& graph) {
  const AliasSets aliases(graph);
  return constants_of(graph, [&](const Value& v) { return is_written(v, aliases); });
}
// Whether what a plan writes elsewhere lies in the memory of an argument, of which the graph knows nothing.
bool writes_to_one_of(const Plan& plan, const std::vector<Tensor>& inputs) {
  for (const Tensor& t : plan.touched)
    if (std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return share_memory(t, input); })) return true;
  return false;
}
bool returns_parameter(const Graph& graph, size_t results) {
  const AliasSets aliases(graph);
  for (size_t i = 0; i < results; i++) {
    const Value* r = graph.block().results()[i];
    if (r->is_constant()) return true;
    for (const auto& p : graph.block().parameters())
      if (aliases.may_alias(r, p.get())) return true;
    for (size_t k = 0; k < i; k++)
      if (r == graph.block().results()[k]) return true;
  }
  return false;
}

// Takes the copies at the end that functionalize has made; the new values become results, after the first `results`.
std::vector<Tensor> take_writes(Graph& graph, size_t results) {
  std::vector<Tensor> to;
  std::vector<Value*> values;
  for (Node* n = graph.block().return_node()->previous(); n;) {
    Node* const before = n->previous();
    if (n->kind() == NodeKind::Op && std::string_view(n->op()->name) == "copy_" && n->input(0)->is_constant() && n->output()->uses().empty()) {
      to.insert(to.begin(), n->input(0)->constant()->to_tensor());
      values.insert(values.begin(), n->input(1));
      n->erase();
    }
    n = before;
  }
  const std::vector<Value*> old = graph.block().results();
  graph.block().return_node()->remove_inputs();
  for (size_t i = 0; i < results; i++) graph.block().add_result(old[i]);
  for (Value* v : values) graph.block().add_result(v);
  for (size_t i = results; i < old.size(); i++) graph.block().add_result(old[i]);
  return to;
}

// Puts tensors and random numbers back after a run that is only looked at.
class Restored {
 public:
  explicit Restored(const std::vector<Tensor>& tensors) : tensors_(tensors) {
    const AutoGradMode off(false);
    for (const Tensor& t : tensors) copies_.push_back(t.clone());
    const std::lock_guard lock(default_generator().mutex());
    random_ = default_generator().get_state();
  }
  ~Restored() {
    const AutoGradMode off(false);
    for (size_t i = 0; i < tensors_.size(); i++) tensors_[i].copy_(copies_[i]);
    const std::lock_guard lock(default_generator().mutex());
    default_generator().set_state(random_);
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  std::vector<Tensor> tensors_, copies_;
  std::vector<uint8_t> random_;
};

std::vector<Datum> data_of(const std::vector<Tensor>& inputs, const std::vector<Tensor>& extra) {
  std::vector<Datum> data;
  data.reserve(inputs.size() + extra.size());
  for (const Tensor& t : inputs) data.emplace_back(t);
  for (const Tensor& t : extra) data.emplace_back(t);
  return data;
}

std::vector<Tensor> run_plan(const std::shared_ptr<const Plan>& plan, const std::vector<Tensor>& inputs) {
  std::vector<Datum> found;
  {
    const AutoGradMode off(false);
    found = plan->forward->run(data_of(inputs, plan->extra));
    for (size_t i = 0; i < plan->written.size(); i++) Tensor(plan->written[i]).copy_(found[plan->results + i].to_tensor());
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < plan->results; i++) results.push_back(std::move(found[i]).to_tensor());
  if (!plan->backward) return results;
  auto node = autograd::make_node<PlanBackward>(plan);
  const auto connect = [&](const Tensor& t) {
    if (wants_gradient(t)) node->add_next_edge(autograd::impl::gradient_edge(t));
  };
  for (const Tensor& t : inputs) connect(t);
  for (const Tensor& t : plan->extra) connect(t);
  for (size_t i = plan->results + plan->written.size(); i < found.size(); i++) node->keep(std::move(found[i]));
  for (size_t i = 0; i < results.size(); i++)
    if (plan->recorded[i]) autograd::set_history(results[i], node);
  return results;
}

std::shared_ptr<Plan> plan_of(std::unique_ptr<Graph> graph, const FuseOptions& options) {
  auto plan = std::make_shared<Plan>();
  plan->results = graph->block().results().size();
  plan->touched = written_constants(*graph);
  remove_dead_code(*graph);
  plan->kernels = fuse(*graph, options);
  plan->forward = std::make_unique<const Program>(*graph);
  return plan;
}

// With gradients; null with a reason where they cannot be.
std::shared_ptr<Plan> plan_with_gradients(CompiledCall::Function function, const std::vector<Tensor>& inputs, std::vector<Tensor> extra,
                                          const std::vector<Tensor>& written, const std::vector<bool>& recorded) {
  auto plan = std::make_shared<Plan>();
  std::vector<Tensor> examples = inputs;
  examples.insert(examples.end(), extra.begin(), extra.end());
  JointGraph joint = [&] {
    const Restored restored(written);
    return capture_joint(
        [&](const std::vector<Tensor>& given) {
          return function(std::vector<Tensor>(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(inputs.size())));
        },
        examples);
  }();
  CRESSET_CHECK_NOT_IMPLEMENTED(!writes_to_parameter(*joint.graph), "compile: the function writes to its argument");
  functionalize(*joint.graph);
  merge_common_subexpressions(*joint.graph);
  remove_dead_code(*joint.graph);
  CRESSET_CHECK_NOT_IMPLEMENTED(!returns_parameter(*joint.graph, joint.results), "compile: a result of the function is its argument, or a view of it");
  plan->written = take_writes(*joint.graph, joint.results);
  plan->touched = plan->written;
  SplitOptions options;
  options.inputs = joint.inputs;
  options.results = joint.results + plan->written.size();
  const auto cheap = cheaper_than_memory(*joint.graph);
  options.cheap = [&](const Node& n) { return cheap.count(&n) != 0; };
  const std::vector<std::unique_ptr<Value>>& parameters = joint.graph->block().parameters();
  for (size_t i = joint.inputs; i < parameters.size(); i++) {
    auto& strides = plan->strides.emplace_back();
    for (const Sym& s : *parameters[i]->type().facts().strides) strides.push_back(s.constant().value());
  }
  Module halves = split_joint(*joint.graph, options);
  ProgramOptions shared;
  shared.plan_memory = false;  // memory that one half gives back serves the other
  for (const auto& g : halves.graphs) plan->kernels.add(fuse(*g));
  plan->forward = std::make_unique<const Program>(*halves.graphs[0], shared);
  plan->backward = std::make_unique<const Program>(*halves.graphs[1], shared);
  plan->results = joint.results;
  plan->extra = std::move(extra);
  plan->recorded = recorded;
  return plan;
}

// Two calls with equal keys may share a program. Empty: there is none for such a call.
std::vector<uintptr_t> key_of(const std::vector<Tensor>& inputs, const std::vector<uintptr_t>& state) {
  const LayerState& layers = layer_state();
  const auto other = static_cast<uint8_t>(layers.included & ~layer_bit(Layer::Profiler));
  if (other != 0 || layers.no_data != NoData::None) return {};
  std::vector<uintptr_t> key = {inputs.size(), layers.grad_mode, layers.inference_mode};
  for (const Tensor& t : inputs) {
    if (!t.defined() || !t.is_cpu() || t.layout() != Layout::Strided || t.impl()->is_lazy()) return {};
    const bool wanted = layers.grad_mode && t.requires_grad();
    key.push_back(static_cast<uintptr_t>(t.scalar_type()) * 2 + wanted);
    key.push_back(static_cast<uintptr_t>(t.dim()));
    for (const int64_t n : t.sizes()) key.push_back(static_cast<uintptr_t>(n));
    for (const int64_t n : t.strides()) key.push_back(static_cast<uintptr_t>(n));
  }
  key.insert(key.end(), state.begin(), state.end());
  return key;
}

// Arguments of one kind: seen, then with a program, or without one for a reason.
struct Kind {
  std::vector<uintptr_t> key;
  std::mutex mutex;  // held while programs are made
  std::shared_ptr<const Plan> plan;
  std::string reason;
  bool seen = false;
  std::vector<Tensor> extra, written;  // of a kind with gradients, until it has a program
  std::vector<bool> recorded;
};

}  // namespace

struct CompiledCall::Parts {
  CompileOptions options;
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<Kind>> kinds;

  // Null where there are too many.
  std::shared_ptr<Kind> find(std::vector<uintptr_t> key) {
    const std::lock_guard lock(mutex);
    for (const auto& k : kinds)
      if (k->key == key) return k;
    if (kinds.size() >= options.max_kinds) return nullptr;
    kinds.push_back(std::make_shared<Kind>());
    kinds.back()->key = std::move(key);
    return kinds.back();
  }

  // The first call of a kind is the function's own, with its operators written down.
  std::vector<Tensor> first(Kind& kind, Function function, const std::vector<Tensor>& inputs) const {
    kind.seen = true;
    std::vector<Tensor> results;
    CaptureOptions capturing;
    capturing.failure = &kind.reason;
    auto graph = capture([&](const std::vector<Tensor>& given) { return results = function(given); }, inputs, capturing);
    CRESSET_CHECK(kind.reason.empty() || !options.fullgraph, "compile: ", kind.reason);
    if (!kind.reason.empty()) return results;
    make(
        [&] {
          const auto wanted = [](const Value& v) { return wants_gradient(v.constant()->to_tensor()); };
          const bool gradients = GradMode::is_enabled() && std::any_of(results.begin(), results.end(), wants_gradient);
          if (!gradients) {
            kind.plan = plan_of(std::move(graph), {options.freezing});
            return;
          }
          kind.extra = constants_of(*graph, wanted);
          for (const Tensor& t : kind.extra) CRESSET_CHECK_NOT_IMPLEMENTED(t.is_leaf(), "compile: the function takes a tensor with a history from elsewhere");
          kind.written = written_constants(*graph);
          for (const Tensor& t : results) kind.recorded.push_back(t.requires_grad());
        },
        kind);
    return results;
  }

  template <class F> void make(F&& body, Kind& kind) const {
    try {
      body();
    } catch (const Error& e) {
      if (options.fullgraph) throw;
      kind.reason = e.what();
    }
  }
};

CompiledCall::CompiledCall(const CompileOptions& options) : parts_(new Parts{options, {}, {}}) {}
CompiledCall::~CompiledCall() = default;

std::vector<Tensor> CompiledCall::run(Function function, const std::vector<Tensor>& inputs, const std::vector<uintptr_t>& state) const {
  std::vector<uintptr_t> key = key_of(inputs, state);
  const std::shared_ptr<Kind> kind = key.empty() ? nullptr : parts_->find(std::move(key));
  if (!kind) return function(inputs);
  std::shared_ptr<const Plan> plan;
  {
    const std::lock_guard lock(kind->mutex);
    if (!kind->seen) return parts_->first(*kind, function, inputs);
    if (!kind->plan && kind->reason.empty())
      parts_->make(
          [&] { kind->plan = plan_with_gradients(function, inputs, std::exchange(kind->extra, {}), std::exchange(kind->written, {}), kind->recorded); }, *kind);
    plan = kind->plan;
  }
  return plan && !writes_to_one_of(*plan, inputs) ? run_plan(plan, inputs) : function(inputs);
}

CompileReport CompiledCall::report() const {
  CompileReport report;
  const std::lock_guard lock(parts_->mutex);
  for (const auto& k : parts_->kinds) {
    const std::lock_guard own(k->mutex);
    report.programs += k->plan != nullptr;
    report.kernels += k->plan ? k->plan->kernels.size() : 0;
    if (!k->reason.empty()) report.reasons.push_back(k->reason);
  }
  return report;
}

}  // namespace cresset::graph
