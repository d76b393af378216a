#include "cresset/autograd/engine.h"

#include <algorithm>
#include <thread>
#include <unordered_map>

#include "cresset/autograd/accumulate_grad.h"
#include "cresset/autograd/function_parts.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/graph_task.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/pass.h"
#include "cresset/autograd/run_state.h"
#include "cresset/autograd/saved/keep_hooks.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/hooks.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

bool task_is_restricted(const GraphTask& task) { return task.restricted; }

bool task_wants(const GraphTask& task, const Node* node) {
  const uint32_t i = task.index.find(node);
  return i != NodeIndex::kNone && (task.states[i].needed || task.states[i].captured);
}

namespace {

// Passes nested deeper than this on one thread's stack continue on another thread.
constexpr int kMaxNesting = 64;

bool is_accelerator(Device d) { return !d.is_cpu() && !d.is_meta() && backend_of(d.type(), Layout::Strided) != kNoBackend; }

// The mode in which gradients of a backward pass over fake tensors are made.
FakeMode* mode_of(const variable_list& grads) {
  for (const Tensor& g : grads)
    if (FakeMode* const mode = g.defined() ? mode_of_fake(*g.impl()) : nullptr) return mode;
  return nullptr;
}

std::unique_lock<std::mutex> lock_if_shared(GraphTask& task) { return task.shared ? std::unique_lock<std::mutex>(task.mutex) : std::unique_lock<std::mutex>(); }

// ---- What flows along an edge

CRESSET_COLD bool expands_to(IntArrayRef from, IntArrayRef to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); i++) {
    const int64_t have = from[from.size() - 1 - i];
    if (have != 1 && have != to[to.size() - 1 - i]) return false;
  }
  return true;
}

CRESSET_NOINLINE void convert_gradient(const std::string& name, size_t i, const InputMetadata& wanted, Tensor& grad) {
  if (!wanted.defined()) {
    grad.reset();
    return;
  }
  if (grad.sizes() != wanted.sizes()) {
    CRESSET_CHECK(expands_to(wanted.sizes(), grad.sizes()), name, ": returned an invalid gradient for input ", i, ", got shape ", grad.sizes(),
                  ", expected shape compatible with ", wanted.sizes());
    grad = sum_to_size(grad, wanted.sizes());
  }
  // From complex to real this keeps the real part.
  if (grad.is_complex() && !is_complex_type(wanted.dtype())) grad = cresset::real(grad).contiguous();
  if (grad.scalar_type() != wanted.dtype()) grad = grad.to(wanted.dtype());
  if (grad.device() != wanted.device()) {
    CRESSET_CHECK(grad.dim() == 0, name, ": returned a gradient for input ", i, " on ", grad.device(), ", expected one on ", wanted.device());
    grad = grad.to(wanted.device());
  }
}

}  // namespace

void validate_outputs(const std::vector<std::optional<InputMetadata>>& metadata, variable_list& grads,
                      const std::function<std::string(const std::string&)>& format_error) {
  try {
    CRESSET_CHECK(grads.size() == metadata.size(), "backward: expected ", metadata.size(), " gradients, got ", grads.size());
    for (size_t i = 0; i < grads.size(); i++)
      if (grads[i].defined()) convert_gradient("backward", i, metadata[i].value_or(InputMetadata()), grads[i]);
  } catch (const Error& error) { cresset::detail::throw_error<Error>(format_error(error.what())); }
}

namespace {

// Brings the gradient for an edge to the shape, dtype and device of what was the node's input.
inline void fit_gradient(const Node* from, size_t i, const Edge& edge, Tensor& grad) {
  const InputMetadata& wanted = edge.function->input_metadata(edge.input_nr);
  const TensorImpl& g = *grad.impl();
  if (CRESSET_LIKELY(wanted.defined() && g.sizes() == wanted.sizes() && g.dtype() == wanted.dtype() && g.device() == wanted.device())) return;
  convert_gradient(from ? from->name() : "backward", i, wanted, grad);
}

// The tensor has no other owner: a sum may be written into it.
bool is_exclusive(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return impl.use_count() == 1 && impl.has_storage() && impl.storage().use_count() == 1 && impl.is_non_overlapping_and_dense();
}

void add_gradient(Tensor& sum, Tensor&& more) {
  if (!sum.defined()) {
    sum = std::move(more);
    return;
  }
  // A program that listens is told of a sum in a tensor of its own, as PyTorch makes one there.
  // Neither has a layer: a batch cannot be written into a gradient that is the same for all of it.
  const bool is_plain = sum.impl()->layers() == 0 && more.impl()->layers() == 0;
  if (!GradMode::is_enabled() && CRESSET_LIKELY(!dispatch::is_listening()) && is_plain && sum.layout() == Layout::Strided && more.layout() == Layout::Strided) {
    if (is_exclusive(sum)) {
      sum.add_(more);
      return;
    }
    if (is_exclusive(more)) {
      more.add_(sum);
      sum = std::move(more);
      return;
    }
  }
  // A dense tensor goes first: what is added to a sparse one must be sparse.
  sum = sum.layout() != Layout::Strided && more.layout() == Layout::Strided ? more + sum : sum + more;
}

// ---- Hooks

// Hooks see undefined gradients too, as when a custom function returns none for an input.
void run_tensor_hooks(const std::shared_ptr<TensorHooks>& list, Tensor& grad, const Node& node) {
  // A copy, as a hook may register or remove hooks.
  const TensorHooks hooks = *list;
  for (const TensorHook& hook : hooks) {
    if (!hook) continue;
    Tensor result = hook(grad);
    if (!result.defined()) continue;
    check_hook_result(grad, result, node.name());
    grad = std::move(result);
  }
}

void retain(const NodeHooks::RetainGrad& entry, const Tensor& grad) {
  auto impl = entry.tensor.lock();
  if (!impl || !grad.defined()) return;
  Tensor& kept = impl::materialize_autograd_meta(*impl).grad_;
  kept = kept.defined() ? kept + grad : grad.clone();
}

CRESSET_NOINLINE void run_hooks_on_arrival(Node& node, variable_list& grads) {
  if (node.is_accumulate_grad()) {
    if (auto list = impl::hooks(static_cast<AccumulateGrad&>(node).variable())) run_tensor_hooks(list, grads[0], node);
  }
  if (!node.hooks_or_null()) return;
  const auto tensor_hooks = node.hooks_or_null()->tensor_hooks;
  for (const auto& entry : tensor_hooks) run_tensor_hooks(entry.hooks, grads[entry.output_nr], node);
  const auto retain_grad = node.hooks_or_null()->retain_grad;
  for (const auto& entry : retain_grad) retain(entry, grads[entry.output_nr]);
}

CRESSET_NOINLINE void run_pre_hooks(Node& node, variable_list& grads) {
  const auto hooks = node.hooks_or_null()->pre_hooks;
  for (const NodePreHook& hook : hooks) {
    if (!hook) continue;
    variable_list result = hook(grads);
    if (result.empty()) continue;
    CRESSET_CHECK(result.size() == grads.size(), "pre-hook on ", node.name(), ": returned ", result.size(), " gradients, expected ", grads.size());
    for (size_t i = 0; i < grads.size(); i++) check_hook_result(grads[i], result[i], node.name());
    grads = std::move(result);
  }
}

CRESSET_NOINLINE void run_post_hooks(Node& node, variable_list& grad_inputs, const variable_list& grad_outputs) {
  const auto hooks = node.hooks_or_null()->post_hooks;
  for (const NodePostHook& hook : hooks) {
    if (!hook) continue;
    variable_list result = hook(grad_inputs, grad_outputs);
    if (result.empty()) continue;
    CRESSET_CHECK(result.size() == grad_inputs.size(), "post-hook on ", node.name(), ": returned ", result.size(), " gradients, expected ", grad_inputs.size());
    for (size_t i = 0; i < grad_inputs.size(); i++) check_hook_result(grad_inputs[i], result[i], node.name());
    grad_inputs = std::move(result);
  }
}

// ---- Workers

// One thread for each accelerator device, started at its first use and never ended: the process may end while it waits.
struct Workers {
  std::mutex mutex;
  std::unordered_map<int, std::shared_ptr<TaskQueue>> queues;
};
Workers& workers() {
  static Workers* all = new Workers;
  return *all;
}

int device_key(Device d) { return static_cast<int>(d.type()) * 256 + (d.has_index() ? d.index() : 0); }

void serve(TaskQueue& queue, GraphTask* until);

std::shared_ptr<TaskQueue> worker_queue(int key) {
  Workers& all = workers();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto& queue = all.queues[key];
  if (!queue) {
    queue = std::make_shared<TaskQueue>();
    std::thread([key, q = queue] {
      t_run.worker = key;
      serve(*q, nullptr);
    }).detach();
  }
  return queue;
}

// ---- The pass

void make_ready(GraphTask& task, uint32_t state) {
  Node* node = task.states[state].node;
  const Ready ready{node->sequence_nr(), state};
  if (CRESSET_UNLIKELY(task.shared)) {
    task.outstanding++;
    const Device device = node->device();
    const auto queue = is_accelerator(device) ? worker_queue(device_key(device)) : task.home;
    queue->push({&task, task.depth, ready});
    return;
  }
  task.ready.push_back(ready);
  std::push_heap(task.ready.begin(), task.ready.end());
}

uint32_t add_state(GraphTask& task, Node* node) {
  const uint32_t fresh = static_cast<uint32_t>(task.states.size());
  const uint32_t i = task.index.find_or_insert(node, fresh);
  if (i == fresh) task.states.emplace_back(node);
  return i;
}

// Finds every node behind the roots and counts the edges into each. States are numbered in the order of discovery, so that the ones
// not yet looked at are simply the last.
void discover(GraphTask& task, const edge_list& roots, uint64_t min_topological_nr) {
  for (const Edge& root : roots) add_state(task, root.function.get());
  for (uint32_t i = 0; i < task.states.size(); i++) {
    Node* node = task.states[i].node;
    // Dispatch modes are of a thread: while one listens, it runs all nodes.
    if (is_accelerator(node->device())) task.shared = t_run.multithreading && !dispatch::listener_at(dispatch::ListenPlace::below_autograd);
    if (node->topological_nr() < min_topological_nr) continue;
    for (const Edge& e : node->next_edges())
      if (e.is_valid()) task.states[add_state(task, e.function.get())].dependencies++;
  }
}

uint64_t lowest_topological_nr(const edge_list& outputs) {
  uint64_t lowest = UINT64_MAX;
  for (const Edge& e : outputs) lowest = std::min(lowest, e.function->topological_nr());
  return lowest;
}

// Marks what leads to one of `outputs`.
void restrict_to(GraphTask& task, const edge_list& outputs, bool accumulate) {
  task.restricted = true;
  task.captured.resize(outputs.size());
  for (size_t k = 0; k < outputs.size(); k++) {
    const uint32_t i = task.index.find(outputs[k].function.get());
    if (i == NodeIndex::kNone) continue;
    NodeState& state = task.states[i];
    if (accumulate && state.node->is_accumulate_grad()) {
      state.needed = true;
      continue;
    }
    state.captured = true;
    // Where gradients are accumulated, the node of what is asked for runs too, and frees what it saved.
    state.needed = accumulate;
    task.captures.push_back({i, outputs[k].input_nr, k});
  }
  std::vector<uint32_t> order(task.states.size());
  for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return task.states[a].node->topological_nr() < task.states[b].node->topological_nr(); });
  for (const uint32_t i : order)
    for (const Edge& e : task.states[i].node->next_edges()) {
      const uint32_t next = e.is_valid() ? task.index.find(e.function.get()) : NodeIndex::kNone;
      if (next != NodeIndex::kNone && (task.states[next].needed || task.states[next].captured)) task.states[i].needed = true;
    }
}

// Tells an observer, where there is one, of a node for its scope.
class ObservedNode {
 public:
  ObservedNode(const Node& node, bool whole) : hooks_(g_observer_hooks.load(std::memory_order_acquire)) {
    if (CRESSET_UNLIKELY(hooks_ != nullptr)) hooks_->node_begins(node, whole);
  }
  ~ObservedNode() {
    if (CRESSET_UNLIKELY(hooks_ != nullptr)) hooks_->node_ends();
  }
  ObservedNode(const ObservedNode&) = delete;
  ObservedNode& operator=(const ObservedNode&) = delete;

 private:
  const ObserverHooks* hooks_;
};

variable_list call_node(Node& node, variable_list&& grads, bool skip_undefined) {
  const ObservedNode observed(node, false);
  const bool has_post_hooks = node.hooks_or_null() && !node.hooks_or_null()->post_hooks.empty();
  variable_list outputs;
  if (skip_undefined && !any_defined(grads)) {
    outputs.resize(node.num_outputs());
    if (has_post_hooks) run_post_hooks(node, outputs, grads);
    return outputs;
  }
  if (CRESSET_LIKELY(!has_post_hooks)) return node(std::move(grads));
  const variable_list kept = grads;
  outputs = node(std::move(grads));
  run_post_hooks(node, outputs, kept);
  return outputs;
}

// Runs one node and hands its results on.
void evaluate(GraphTask& task, uint32_t i) {
  auto lock = lock_if_shared(task);
  Node& node = *task.states[i].node;
  const ObservedNode observed(node, true);
  variable_list grads = std::move(task.states[i].arrived);
  const bool captured = task.states[i].captured, needed = !task.restricted || task.states[i].needed;
  if (lock) lock.unlock();

  if (CRESSET_UNLIKELY(grads.empty())) grads.resize(node.num_inputs());
  const auto capture = [&] {
    const auto guard = lock_if_shared(task);
    for (const Capture& c : task.captures)
      if (c.state == i) task.captured[c.output] = grads[c.input_nr];
  };
  // A requested gradient is seen before hooks where the node runs on, else after them: so it is in PyTorch.
  if (captured && needed) capture();
  if (node.hooks_or_null() || node.is_accumulate_grad()) run_hooks_on_arrival(node, grads);
  if (captured && !needed) capture();
  if (!needed) return;
  if (CRESSET_UNLIKELY(node.hooks_or_null() && !node.hooks_or_null()->pre_hooks.empty())) run_pre_hooks(node, grads);

  variable_list outputs = call_node(node, std::move(grads), !node.wants_undefined());
  if (!task.keep_graph) {
    if (node.locks_apply()) node.lock();
    node.release_variables();
    if (node.locks_apply()) node.unlock();
  }

  const edge_list& edges = node.next_edges();
  if (CRESSET_UNLIKELY(outputs.size() != edges.size())) {
    // More than asked for is an error unless the rest is undefined; less is filled up.
    for (size_t k = edges.size(); k < outputs.size(); k++)
      CRESSET_CHECK(!outputs[k].defined(), node.name(), ": returned an incorrect number of gradients, got ", outputs.size(), ", expected ", edges.size());
    CRESSET_CHECK(outputs.size() >= edges.size() || node.is_accumulate_grad(), node.name(), ": returned an incorrect number of gradients, got ", outputs.size(),
                  ", expected ", edges.size());
  }
  for (size_t k = 0; k < edges.size(); k++)
    if (edges[k].is_valid() && outputs[k].defined()) fit_gradient(&node, k, edges[k], outputs[k]);

  if (task.shared) lock.lock();
  for (size_t k = 0; k < edges.size(); k++) {
    const Edge& e = edges[k];
    if (!e.is_valid()) continue;
    const uint32_t next = task.index.find(e.function.get());
    if (next == NodeIndex::kNone) continue;
    NodeState& state = task.states[next];
    if (outputs[k].defined()) {
      if (state.arrived.empty()) state.arrived.resize(e.function->num_inputs());
      add_gradient(state.arrived[e.input_nr], std::move(outputs[k]));
    }
    if (--state.dependencies == 0 && (!task.restricted || state.needed || state.captured)) make_ready(task, next);
  }
}

// Makes `task` the one this thread is working on.
class Working {
 public:
  explicit Working(GraphTask& task) : task_(t_run.task), depth_(t_run.depth), layers_(layer_state()) {
    t_run.task = &task;
    t_run.depth = task.depth;
    layer_state() = task.layers;
  }
  ~Working() {
    t_run.task = task_;
    t_run.depth = depth_;
    layer_state() = layers_;
  }

 private:
  GraphTask* task_;
  int depth_;
  LayerState layers_;
};

// Works on whatever comes, of any pass, until the pass `until` has finished.
void serve(TaskQueue& queue, GraphTask* until) {
  while (!until || !until->finished) {
    const TaskQueue::Item item = queue.pop();
    GraphTask& task = *item.task;
    if (item.ready.state == TaskQueue::kFinished) {
      task.finished = true;
      continue;
    }
    bool failed;
    {
      std::lock_guard<std::mutex> lock(task.mutex);
      failed = task.error != nullptr;
    }
    if (!failed) {
      Working working(task);
      try {
        evaluate(task, item.ready.state);
      } catch (...) {
        std::lock_guard<std::mutex> lock(task.mutex);
        if (!task.error) task.error = std::current_exception();
      }
    }
    std::shared_ptr<TaskQueue> home;
    const int depth = task.depth;
    {
      std::lock_guard<std::mutex> lock(task.mutex);
      if (--task.outstanding == 0) home = task.home;
    }
    // Past this point the task may be gone.
    if (home) home->push({&task, depth, {0, TaskQueue::kFinished}});
  }
}

void send_roots(GraphTask& task, const edge_list& roots, variable_list&& grads) {
  for (size_t k = 0; k < roots.size(); k++) {
    const Edge& e = roots[k];
    if (!grads[k].defined()) continue;
    fit_gradient(nullptr, k, e, grads[k]);
    NodeState& state = task.states[task.index.find(e.function.get())];
    if (state.arrived.empty()) state.arrived.resize(e.function->num_inputs());
    add_gradient(state.arrived[e.input_nr], std::move(grads[k]));
  }
  std::vector<uint32_t> first;
  for (const Edge& e : roots) {
    const uint32_t i = task.index.find(e.function.get());
    const NodeState& state = task.states[i];
    const bool repeated = std::find(first.begin(), first.end(), i) != first.end();
    // A single root sees its gradient, and its hooks do, whether it is needed or not.
    const bool wanted = !task.restricted || state.needed || state.captured || roots.size() == 1;
    if (state.dependencies == 0 && !repeated && wanted) first.push_back(i);
  }
  for (const uint32_t i : first) make_ready(task, i);
}

void run_inline(GraphTask& task) {
  Working working(task);
  while (!task.ready.empty()) {
    std::pop_heap(task.ready.begin(), task.ready.end());
    const uint32_t next = task.ready.back().state;
    task.ready.pop_back();
    evaluate(task, next);
  }
}

// Callbacks are of the pass still, and may queue more.
void run_callbacks(GraphTask& task) {
  if (CRESSET_LIKELY(task.callbacks.empty())) return;
  struct InPass {
    explicit InPass(GraphTask* task) : outer(std::exchange(t_run.task, task)) {}
    ~InPass() { t_run.task = outer; }
    GraphTask* outer;
  };
  const InPass in_pass(&task);
  for (size_t i = 0; i < task.callbacks.size(); i++) {
    const auto callback = std::move(task.callbacks[i]);
    callback();
  }
}

void run_shared(GraphTask& task, const edge_list& roots, variable_list&& grads) {
  task.home = t_run.worker >= 0 ? worker_queue(t_run.worker) : std::make_shared<TaskQueue>();
  {
    Working working(task);
    std::lock_guard<std::mutex> lock(task.mutex);
    send_roots(task, roots, std::move(grads));
    task.finished = task.outstanding == 0;
  }
  serve(*task.home, &task);
  if (task.error) std::rethrow_exception(task.error);
}

}  // namespace

void check_hook_result(const Tensor& before, const Tensor& after, const std::string& name) {
  if (!after.defined()) return;
  CRESSET_CHECK(before.defined(), "hook on ", name, ": returned a tensor of shape ", after.sizes(), " in place of a gradient that is None, expected None");
  CRESSET_CHECK(before.sizes() == after.sizes(), "hook on ", name, ": changed the shape of the gradient, got ", after.sizes(), ", expected ", before.sizes());
  CRESSET_CHECK(before.scalar_type() == after.scalar_type(), "hook on ", name, ": changed the dtype of the gradient, got ", after.scalar_type(), ", expected ",
                before.scalar_type());
  CRESSET_CHECK(before.device() == after.device(), "hook on ", name, ": changed the device of the gradient, got ", after.device(), ", expected ",
                before.device());
}

Engine& Engine::get_default_engine() {
  static Engine engine;
  return engine;
}

variable_list Engine::execute(const edge_list& roots, variable_list&& grads, bool keep_graph, bool create_graph, bool accumulate_grad,
                              const edge_list& outputs) {
  if (CRESSET_UNLIKELY(t_run.depth > 0 && t_run.depth % kMaxNesting == 0 && !t_run.on_fresh_thread)) {
    return execute_on_fresh_thread(roots, std::move(grads), keep_graph, create_graph, accumulate_grad, outputs);
  }
  t_run.on_fresh_thread = false;
  const KeepSavedTensorHooks hooks;
  GraphTask task;
  task.keep_graph = keep_graph;
  task.depth = t_run.depth + 1;
  task.layers = layer_state();
  task.layers.set_hidden(static_cast<uint8_t>(task.layers.hidden & ~kAutogradLayer));
  task.layers.set_grad_mode(create_graph);
  const auto mode = intrusive_ptr<FakeMode>::share(mode_of(grads));
  if (CRESSET_UNLIKELY(mode && !task.layers.fake_mode)) {
    task.layers.fake_mode = mode.get();
    task.layers.included |= kLazyMathLayer;
  }
  discover(task, roots, outputs.empty() ? 0 : lowest_topological_nr(outputs));
  if (!outputs.empty()) restrict_to(task, outputs, accumulate_grad);
  if (CRESSET_LIKELY(!task.shared)) {
    {
      Working working(task);
      send_roots(task, roots, std::move(grads));
    }
    run_inline(task);
  } else {
    run_shared(task, roots, std::move(grads));
  }
  run_callbacks(task);
  return std::move(task.captured);
}

variable_list Engine::execute_on_fresh_thread(const edge_list& roots, variable_list&& grads, bool keep_graph, bool create_graph, bool accumulate_grad,
                                              const edge_list& outputs) {
  variable_list result;
  std::exception_ptr error;
  const RunState state = t_run;
  const LayerState layers = layer_state();
  std::thread thread([&] {
    // The new thread is this one in all that matters: it may even serve the accelerator that this one works for.
    t_run = state;
    t_run.on_fresh_thread = true;
    layer_state() = layers;
    for (const auto place : {dispatch::ListenPlace::above_layers, dispatch::ListenPlace::below_autograd}) dispatch::set_listener(place, nullptr);
    try {
      result = execute(roots, std::move(grads), keep_graph, create_graph, accumulate_grad, outputs);
    } catch (...) { error = std::current_exception(); }
  });
  thread.join();
  if (error) std::rethrow_exception(error);
  return result;
}

int64_t Engine::current_pass() { return t_run.task ? t_run.task->number : -1; }

bool Engine::is_checkpoint_valid() { return !t_run.task || !t_run.task->restricted; }

bool pass_keeps_graph() { return t_run.task && t_run.task->keep_graph; }

bool Engine::will_execute(const Node& node) {
  const GraphTask* task = t_run.task;
  CRESSET_CHECK(task, "will_execute: can only be asked from within a backward pass");
  return task->restricted ? task_wants(*task, &node) : task->index.find(&node) != NodeIndex::kNone;
}

bool Engine::set_multithreading_enabled(bool enabled) { return std::exchange(t_run.multithreading, enabled); }

void Engine::queue_callback(std::function<void()> callback) {
  GraphTask* task = t_run.task;
  CRESSET_CHECK(task, "queue_callback: callbacks can only be queued from within a backward pass");
  const auto lock = lock_if_shared(*task);
  task->callbacks.push_back(std::move(callback));
}

}  // namespace autograd
}  // namespace cresset
