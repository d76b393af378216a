#include "cresset/autograd/node.h"

#include <sched.h>

#include "cresset/autograd/anomaly_mode.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/run_state.h"
#include "cresset/base/warning.h"
#include "cresset/core/hooks.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

thread_local RunState t_run;

namespace {

thread_local uint64_t t_sequence_nr = 0;

// References whose release is put off until the outermost release of this thread comes to them.
struct Pending {
  SmallVector<Node*, 32> nodes;
};
thread_local Pending* t_pending = nullptr;

}  // namespace

void release_node(intrusive_ptr<Node>&& node) noexcept {
  Node* first = node.release();
  if (!first) return;
  if (t_pending) {
    t_pending->nodes.push_back(first);
    return;
  }
  Pending pending;
  t_pending = &pending;
  first->release();
  while (!pending.nodes.empty()) {
    Node* next = pending.nodes.back();
    pending.nodes.pop_back();
    next->release();
  }
  t_pending = nullptr;
}

Tensor InputMetadata::zeros_like() const {
  CRESSET_INTERNAL_ASSERT(defined_);
  return cresset::zeros(sizes_, options());
}

uint64_t next_sequence_nr() { return t_sequence_nr; }

Node::Node(edge_list next_edges) : sequence_nr_(t_sequence_nr++) {
  if (!next_edges.empty()) set_next_edges(std::move(next_edges));
  if (CRESSET_UNLIKELY(AnomalyMode::is_enabled())) {
    trace_ = make_owned<NodeTrace>();
    trace_->stack = AnomalyMode::current_stack();
    trace_->parent = get_current_node();
  }
}

Node::~Node() { drop_edges(); }

void Node::release_resources() {
  release_variables();
  drop_edges();
  hooks_.reset();
}

void Node::drop_edges() {
  for (Edge& e : next_edges_) release_node(std::move(e.function));
  next_edges_.clear();
  if (trace_) release_node(std::move(trace_->parent));
}

std::string Node::name() const { return "Node"; }

void Node::set_next_edge(size_t i, Edge edge) {
  if (edge.function && edge.function->topological_nr_ >= topological_nr_) topological_nr_ = edge.function->topological_nr_ + 1;
  release_node(std::move(next_edges_[i].function));
  next_edges_[i] = std::move(edge);
}

void Node::set_next_edges(edge_list edges) {
  for (Edge& e : next_edges_) release_node(std::move(e.function));
  next_edges_.clear();
  for (Edge& e : edges) add_next_edge(std::move(e));
}

bool Node::is_restricted() { return t_run.mask_node || (t_run.task && task_is_restricted(*t_run.task)); }

bool Node::restricted_should_compute(size_t i) const {
  if (t_run.mask_node == this) return t_run.mask[i];
  return !t_run.task || !task_is_restricted(*t_run.task) || task_wants(*t_run.task, next_edges_[i].function.get());
}

NodeHooks& Node::hooks() {
  if (!hooks_) hooks_ = make_owned<NodeHooks>();
  return *hooks_;
}

size_t Node::add_pre_hook(NodePreHook hook) {
  hooks().pre_hooks.push_back(std::move(hook));
  return hooks().pre_hooks.size() - 1;
}

size_t Node::add_post_hook(NodePostHook hook) {
  hooks().post_hooks.push_back(std::move(hook));
  return hooks().post_hooks.size() - 1;
}

void Node::remove_pre_hook(size_t position) {
  CRESSET_CHECK_INDEX(position < hooks().pre_hooks.size(), "remove_pre_hook: no hook at position ", position);
  hooks().pre_hooks[position] = nullptr;
}

void Node::remove_post_hook(size_t position) {
  CRESSET_CHECK_INDEX(position < hooks().post_hooks.size(), "remove_post_hook: no hook at position ", position);
  hooks().post_hooks[position] = nullptr;
}

void Node::lock() const {
  // Held for one operator's backward at most, and contended only when threads share a graph.
  while (locked_.exchange(true, std::memory_order_acquire)) sched_yield();
}

intrusive_ptr<Node> get_current_node() { return intrusive_ptr<Node>::share(t_run.current); }

namespace {

// Out of line: g++ 12 drops the store on the way out through an exception where this is inlined.
CRESSET_NOINLINE void leave(Node* previous, Node* locked) {
  t_run.current = previous;
  if (locked) locked->unlock();
}

// Makes a node the thread's current one, and keeps it locked if it needs that.
class Running {
 public:
  Running(Node* node, bool lock) : previous_(t_run.current), locked_(lock ? node : nullptr) {
    if (locked_) locked_->lock();
    t_run.current = node;
  }
  ~Running() { leave(previous_, locked_); }

 private:
  Node* previous_;
  Node* locked_;
};

}  // namespace

variable_list Node::operator()(variable_list&& grads) {
  Running running(this, lock_apply_);
  if (CRESSET_LIKELY(!AnomalyMode::is_enabled())) return apply(std::move(grads));
  try {
    variable_list out = apply(std::move(grads));
    if (AnomalyMode::should_check_nan()) AnomalyMode::check_nan(*this, out);
    return out;
  } catch (Error& e) {
    if (!AnomalyMode::report(*this)) {
      warn(str("Error detected in ", name(), ". Traceback of forward call that caused the error:\n", trace_ ? trace_->stack : std::string()));
      intrusive_ptr<Node> ran = trace_ ? trace_->parent : nullptr;
      for (; ran; ran = ran->trace_ ? ran->trace_->parent : nullptr)
        warn(str("Traceback of forward call that induced the previous calculation, in the backward of ", ran->name(), ":\n",
                 ran->trace_ ? ran->trace_->stack : std::string()));
      e.add_context(describe_trace());
    }
    throw;
  } catch (...) {
    AnomalyMode::report(*this);
    throw;
  }
}

std::string Node::describe_trace() const {
  std::string s = "error in the backward of " + name();
  intrusive_ptr<Node> hold;
  for (const Node* n = this; n->trace_; n = hold.get()) {
    s += ", which ran forward at:\n" + n->trace_->stack;
    hold = n->trace_->parent;
    if (!hold) break;
    s += "  in the backward of " + hold->name();
  }
  return s;
}

}  // namespace autograd
}  // namespace cresset
