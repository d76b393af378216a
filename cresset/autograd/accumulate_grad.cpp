#include "cresset/autograd/accumulate_grad.h"

#include <mutex>

#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/meta_extras.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/variable.h"
#include "cresset/core/observed.h"
#include "cresset/core/sparse.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

namespace {

// A gradient is laid out like its tensor if that is dense, and contiguous otherwise.
bool has_layout_for(const TensorImpl& grad, const TensorImpl& variable) {
  if (grad.layout() != Layout::Strided || variable.layout() != Layout::Strided) return true;
  if (grad.is_contiguous() && variable.is_contiguous()) return true;
  if (!variable.is_non_overlapping_and_dense()) return grad.is_contiguous();
  for (int64_t d = 0; d < grad.dim(); d++)
    if (grad.sizes()[d] != 1 && grad.strides()[d] != variable.strides()[d]) return false;
  return true;
}

Tensor clone_with_layout(const Tensor& grad, const Tensor& variable) {
  if (grad.layout() != Layout::Strided || !variable.is_non_overlapping_and_dense()) return grad.clone();
  if (variable.is_contiguous() || has_layout_for(*grad.impl(), *variable.impl())) {
    Tensor copy = grad.clone(variable.is_contiguous() ? MemoryFormat::Contiguous : MemoryFormat::Preserve);
    if (has_layout_for(*copy.impl(), *variable.impl())) return copy;
  }
  Tensor copy = cresset::empty_strided(variable.sizes(), variable.strides(), grad.options());
  return copy.copy_(grad);
}

// The same values without autograd data. A view with no other owner lets go of its base, so that the result may own its memory.
Tensor without_history(Tensor&& grad) {
  if (grad.layout() != Layout::Strided) return grad.impl()->autograd() ? grad.detach() : std::move(grad);
  if (!grad.impl()->autograd() && !grad.impl()->is_view()) return std::move(grad);
  const Tensor plain(grad.impl()->alias(true));
  grad = Tensor();
  return plain;
}

Tensor sum(const Tensor& a, const Tensor& b) { return a.layout() != Layout::Strided && b.layout() == Layout::Strided ? b + a : a + b; }

// The tensor and its memory have no owners but these.
bool is_sole_owner(const Tensor& grad, uint32_t owners) {
  const TensorImpl& t = *grad.impl();
  if (t.layout() == Layout::Mkldnn) return false;  // opaque: others may look at the values
  if (t.layout() != Layout::Strided) {
    const SparseParts& p = sparse_parts(grad);
    return t.use_count() <= owners && p.use_count() == 1 && p.indices.impl()->storage().use_count() == 1 && p.values.impl()->storage().use_count() == 1 &&
           p.values.is_contiguous();
  }
  return t.use_count() <= owners && !t.is_view() && (!t.has_storage() || t.storage().use_count() == 1);
}

}  // namespace

AccumulateGrad::AccumulateGrad(Tensor variable) : variable_(std::move(variable)) {
  // Before everything else, so that gradients are freed as early as they can be.
  set_sequence_nr(UINT64_MAX);
  add_input_metadata(variable_);
  accumulates_ = true;
}

void AccumulateGrad::release_resources() {
  Node::release_resources();
  variable_.reset();
}

void AccumulateGrad::accumulate(Tensor&& fresh) {
  Tensor& grad = impl::materialize_autograd_meta(variable_).grad_;
  if (CRESSET_UNLIKELY(dispatch::is_subclass(fresh)) && !grad.defined() && !GradMode::is_enabled()) {
    grad = fresh.detach();  // by the class, whose object the front end may keep
    return;
  }
  if (GradMode::is_enabled()) {
    grad = grad.defined() ? sum(grad, fresh) : clone_with_layout(fresh, variable_);
    return;
  }
  if (grad.defined()) {
    // Into the existing tensor, which others may hold; the sum of a sparse and a dense one replaces it.
    if (grad.layout() == fresh.layout() || grad.layout() == Layout::Strided) grad.add_(fresh);
    else grad = sum(grad, fresh);
    return;
  }
  const Tensor plain = without_history(std::move(fresh));
  // Post hooks are shown the gradient that came, which is the tensor's own from here on.
  const uint32_t owners = hooks_or_null() && !hooks_or_null()->post_hooks.empty() ? 2 : 1;
  if (!is_sole_owner(plain, owners) || !has_layout_for(*plain.impl(), *variable_.impl())) {
    grad = clone_with_layout(plain, variable_);
    return;
  }
  observe_method("detach", plain);
  grad = plain;
}

variable_list AccumulateGrad::apply(variable_list&& grads) {
  if (grads.empty() || !grads[0].defined() || !variable_.requires_grad()) return {};
  {
    std::lock_guard<const Node> guard(*this);
    accumulate(std::move(grads[0]));
  }
  const AutogradMeta* meta = impl::get_autograd_meta(variable_);
  if (CRESSET_LIKELY(!meta->extras_)) return {};
  // A hook may add or remove hooks.
  const std::vector<PostAccumulateHook> hooks = meta->extras_->post_accumulate_hooks;
  for (const auto& hook : hooks)
    if (hook) hook(variable_);
  return {};
}

}  // namespace autograd
}  // namespace cresset
