#include "cresset/autograd/function.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "cresset/autograd/generated_support.h"
#include "cresset/base/warning.h"
#include "cresset/core/batched.h"

namespace cresset {
namespace autograd {

namespace {

bool contains(const std::vector<const TensorImpl*>& list, const Tensor& t) { return std::find(list.begin(), list.end(), t.impl()) != list.end(); }

// An alias that is a view of `t`, to carry another history than `t` itself.
Tensor view_of_itself(const Tensor& t) {
  Tensor out(t.impl()->alias(true));
  NoGradGuard no_grad;
  out.impl()->set_view_of(*t.impl());
  return out;
}

bool has(const variable_list& list, const TensorImpl* t) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& one) { return one.impl() == t; });
}

void give_history(const intrusive_ptr<Node>& node, const std::string& name, const ForwardMarks& marks, const variable_list& inputs, Tensor& out,
                  size_t num_outputs) {
  if (!out.defined()) {
    if (node) node->add_undefined_input_metadata();
    return;
  }
  const bool is_input = has(inputs, out.impl());
  const bool is_dirty = contains(marks.dirty, out);
  const bool differentiable = node && !contains(marks.non_differentiable, out) && is_differentiable_type(out.scalar_type());
  if (!differentiable) {
    if (node) node->add_input_metadata(out);
    if (is_input && !is_dirty) out = out.requires_grad() ? out.detach() : view_of_itself(out);
    else if (out.requires_grad() && node) out = out.detach();
    return;
  }
  if (is_dirty) {
    CRESSET_CHECK(!out.requires_grad() || !out.is_leaf(), name, ": a leaf Variable that requires grad has been modified in place, ", out);
    CRESSET_CHECK(!out.is_view() || num_outputs == 1, name,
                  ": a view was modified in place by a function with several outputs, which is not supported; return one tensor only");
    check_inplace(out, true, name.c_str());
    rebase_history(out, node);
    return;
  }
  if (is_input) out = view_of_itself(out);
  impl::set_gradient_edge(out, Edge(node, node->add_input_metadata(out)));
}

}  // namespace

void finish_forward(const intrusive_ptr<Node>& node, const std::string& name, const ForwardMarks& marks, const variable_list& inputs, variable_list& outputs) {
  for (const TensorImpl* t : marks.dirty) {
    if (!has(inputs, t)) {
      warn(name + ": mark_dirty was given a tensor that is no input of forward; only inputs that forward changes in place are marked");
      continue;
    }
    CRESSET_CHECK(has(outputs, t), name, ": mark_dirty was given a tensor that forward does not return; inputs changed in place must be outputs");
    if (!(t->layers() & layer_bit(Layer::Functionalize))) const_cast<TensorImpl*>(t)->bump_version();  // a wrapper counts none
  }
  for (Tensor& out : outputs) give_history(node, name, marks, inputs, out, outputs.size());
}

namespace detail {

void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, const Tensor& t) {
  inputs.push_back(t);
  is_tensor.push_back(true);
}
void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, const std::optional<Tensor>& t) {
  collect_argument(inputs, is_tensor, t ? *t : Tensor());
}
void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, TensorList list) {
  for (const Tensor& t : list) collect_argument(inputs, is_tensor, t);
}
void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, const variable_list& list) { collect_argument(inputs, is_tensor, TensorList(list)); }
void collect_other(std::vector<bool>& is_tensor) { is_tensor.push_back(false); }

variable_list to_list(Tensor&& t) { return {std::move(t)}; }

}  // namespace detail

CustomNode::CustomNode(Backward backward, const char* type_name) : backward_(backward), type_name_(type_name) {
  ctx_.node_ = this;
  // Zeros stand in for them.
  wants_undefined_ = true;
}

AutogradContext::AutogradContext() = default;
AutogradContext::~AutogradContext() = default;

void AutogradContext::mark_dirty(const variable_list& inputs) {
  marks_.dirty.clear();
  for (const Tensor& t : inputs) marks_.dirty.push_back(t.impl());
}

std::vector<const TensorImpl*> AutogradContext::get_and_bump_dirty() const {
  for (const TensorImpl* t : marks_.dirty) const_cast<TensorImpl*>(t)->bump_version();
  return marks_.dirty;
}

void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  marks_.non_differentiable.clear();
  for (const Tensor& t : outputs) marks_.non_differentiable.push_back(t.impl());
}

variable_list AutogradContext::get_saved_variables() const {
  std::lock_guard<const Node> guard(*node_);
  CRESSET_CHECK(!freed_, "backward: the graph has been freed by an earlier call, which also freed the tensors that ", node_->name(),
                " had saved; pass retain_graph=true to the first call to go through the graph a second time");
  return unpack_list(saved_, node_);
}

bool AutogradContext::needs_input_grad(size_t edge) const {
  CRESSET_CHECK_INDEX(edge < node_->num_outputs(), "needs_input_grad: no tensor argument ", edge, ", there are ", node_->num_outputs());
  return node_->should_compute_output(edge);
}

bool AutogradContext::needs_input_grad(std::initializer_list<IndexRange> ranges) const {
  for (const IndexRange& r : ranges)
    for (size_t i = r.first; i < r.second; i++)
      if (needs_input_grad(i)) return true;
  return false;
}

CustomNode::~CustomNode() = default;

std::string CustomNode::name() const {
  int status = 1;
  char* readable = abi::__cxa_demangle(type_name_, nullptr, nullptr, &status);
  const std::string type = status == 0 ? readable : type_name_;
  std::free(readable);
  return "torch::autograd::CppNode<" + type + ">";
}

void CustomNode::release_variables() {
  std::vector<SavedVariable> saved;
  std::lock_guard<const Node> guard(*this);
  std::swap(saved, ctx_.saved_);
  if (!saved.empty()) ctx_.freed_ = true;
}

bool CustomNode::start(const variable_list& inputs, std::vector<bool> is_tensor) {
  for (const Tensor& t : inputs) CRESSET_CHECK(!as_batched(t), "vmap: a custom autograd::Function has no rule for batches; write it with operators");
  is_tensor_ = std::move(is_tensor);
  if (!any_requires_grad(TensorList(inputs))) return false;
  autograd::set_next_edges(*this, TensorList(inputs));
  return true;
}

void CustomNode::finish(const variable_list& inputs, variable_list& outputs, bool recorded) {
  finish_forward(recorded ? intrusive_ptr<Node>::share(this) : nullptr, name(), ctx_.marks_, inputs, outputs);
  if (recorded)
    for (const Tensor& t : ctx_.to_save_) ctx_.saved_.emplace_back(t, t.defined() && t.grad_fn().get() == this);
  ctx_.to_save_.clear();
}

variable_list CustomNode::apply(variable_list&& grads) {
  if (ctx_.materialize_grads_)
    for (size_t i = 0; i < grads.size(); i++)
      if (!grads[i].defined() && input_metadata(i).defined()) grads[i] = input_metadata(i).zeros_like();
  variable_list outputs = backward_(&ctx_, std::move(grads));
  const size_t expected = is_tensor_.size();
  while (outputs.size() > expected && !outputs.back().defined()) outputs.pop_back();
  CRESSET_CHECK(outputs.size() == expected, name(), ": backward returned an incorrect number of gradients, got ", outputs.size(), ", expected ", expected,
                ", one for each argument of forward");
  variable_list kept;
  kept.reserve(num_outputs());
  for (size_t i = 0; i < expected; i++) {
    if (is_tensor_[i]) {
      kept.push_back(std::move(outputs[i]));
      continue;
    }
    CRESSET_CHECK(!outputs[i].defined(), name(), ": backward returned a gradient for argument ", i, " of forward, which is not a tensor");
  }
  return kept;
}

}  // namespace autograd
}  // namespace cresset
