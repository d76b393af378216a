#include "cresset/autograd/generated_support.h"

#include "cresset/autograd/copy_slices.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

namespace detail {

void push_edge(Node& node, const Tensor& t) { node.add_next_edge(impl::gradient_edge(t)); }

}  // namespace detail

void set_history(const Tensor& out, const intrusive_ptr<Node>& node) {
  if (CRESSET_UNLIKELY(!out.defined() || !is_differentiable_type(out.scalar_type()))) {
    node->add_undefined_input_metadata();
    return;
  }
  const uint32_t nr = node->add_input_metadata(out);
  impl::set_gradient_edge(out, Edge(node, nr));
}

void set_history(TensorList outs, const intrusive_ptr<Node>& node) {
  for (const Tensor& t : outs) set_history(t, node);
}

void check_inplace(const Tensor& self, bool requires_grad, const char* op) {
  if (!self.defined()) return;
  const TensorImpl& t = *self.impl();
  t.check_writable();
  if (!requires_grad || !GradMode::is_enabled() || !is_differentiable_type(t.dtype())) return;
  if (t.is_view()) {
    const auto& node = [&]() -> const intrusive_ptr<Node>& {
      static const intrusive_ptr<Node> none;
      const AutogradMeta* meta = impl::get_autograd_meta(t);
      return meta ? meta->grad_fn_ : none;
    }();
    switch (t.view_creation()) {
      case ViewCreation::Default: break;
      case ViewCreation::NoGrad:
        // A history can only have come from outside.
        CRESSET_CHECK(!node, op, ": output ", self.output_nr(), " of ", node ? node->name() : std::string(), " is a view that was created inside a ",
                      "custom function, or because an input was returned as it is; modified in place it would bypass the function's own ",
                      "gradient, so clone() the output first");
        CRESSET_CHECK(false, op, ": A view was created in no_grad mode and is being modified inplace with gradients on; ",
                      "do both inside the NoGradGuard, or both outside of it");
        break;
      case ViewCreation::Inference:
        CRESSET_CHECK(false, op, ": A view was created in inference mode and is being modified inplace in normal mode; ",
                      "do both inside the InferenceMode, or both outside of it");
        break;
      case ViewCreation::MultiOutput:
        CRESSET_CHECK(false, op, ": output ", self.output_nr(), " of ", node ? node->name() : std::string("an operator"),
                      " is one of several views made by one operator, which cannot be modified in place; use an out-of-place operator");
        break;
    }
    CRESSET_CHECK(!dynamic_cast<const NotImplementedBackward*>(node.get()), op, ": expected a view whose history is known, got one of ",
                  static_cast<const NotImplementedBackward*>(node.get())->op(), ", whose gradient has no formula; clone() it first");
    CRESSET_CHECK(!self.requires_grad() || !self._base().is_leaf(), op,
                  ": a view of a leaf Variable that requires grad is being used in an in-place operation, ", self);
  }
  CRESSET_CHECK(!self.requires_grad() || !self.is_leaf(), op, ": a leaf Variable that requires grad is being used in an in-place operation, ", self);
}

void check_inplace(TensorList self, bool requires_grad, const char* op) {
  for (const Tensor& t : self) check_inplace(t, requires_grad, op);
}

void check_no_grad_for_out(const Tensor& out, bool args_require_grad, const char* op) {
  if (!GradMode::is_enabled()) return;
  CRESSET_CHECK(!args_require_grad, op, ": out=... arguments don't support automatic differentiation, but one of the arguments requires grad");
  CRESSET_CHECK(!detail::one_requires_grad(out), op, ": out=... arguments don't support automatic differentiation, but out requires grad");
}

void rebase_history(const Tensor& self, const intrusive_ptr<Node>& node) {
  if (!self.defined() || !is_differentiable_type(self.scalar_type())) {
    node->add_undefined_input_metadata();
    return;
  }
  const uint32_t nr = node->add_input_metadata(self);
  TensorImpl& t = *self.impl();
  if (CRESSET_LIKELY(!t.is_view())) {
    impl::set_gradient_edge(self, Edge(node, nr));
    return;
  }
  const Tensor& base = self._base();
  intrusive_ptr<Node> through = make_intrusive<CopySlices>(base, self, node);
  impl::set_gradient_edge(base, Edge(std::move(through), 0));
  // The view's own history comes from the base again.
  t.set_view_version(t.version() - 1);
  // One that was given other memory keeps waiting: only who asks for its history learns that there is none.
  if (t.storage() == base.impl()->storage()) impl::grad_fn(t);
}

void rebase_history(TensorList self, const intrusive_ptr<Node>& node) {
  for (const Tensor& t : self) rebase_history(t, node);
}

void set_view_history(const Tensor& view, const intrusive_ptr<Node>& node) { set_history(view, node); }
void set_view_history(TensorList views, const intrusive_ptr<Node>& node) { set_history(views, node); }

Tensor grad_or_zeros(const Node& node, const variable_list& grads, size_t i) { return has_grad(grads, i) ? grads[i] : node.input_metadata(i).zeros_like(); }

bool any_defined(const variable_list& grads) {
  for (const Tensor& g : grads)
    if (g.defined()) return true;
  return false;
}

Tensor sum_to_size(const Tensor& grad, IntArrayRef sizes) {
  if (grad.sizes() == sizes) return grad;
  if (sizes.empty()) return grad.sum();
  const int64_t extra = grad.dim() - static_cast<int64_t>(sizes.size());
  DimVector dims;
  for (int64_t d = 0; d < grad.dim(); d++)
    if (d < extra || (sizes[static_cast<size_t>(d - extra)] == 1 && grad.size(d) != 1)) dims.push_back(d);
  const Tensor sum = dims.empty() ? grad : grad.sum(IntArrayRef(dims), true);
  return extra > 0 ? sum.view(sizes) : sum;
}

void check_not_released(bool released) {
  CRESSET_CHECK(!released, "backward: the graph has been freed by an earlier call; pass retain_graph=true to the first call to go through the graph a ",
                "second time");
}

variable_list NotImplementedBackward::apply(variable_list&&) {
  CRESSET_CHECK(false, op_, ": the gradient is not implemented");
  return {};
}

}  // namespace autograd
}  // namespace cresset
