#pragma once
// The graph as seen from a tensor: its history, its edge into the graph, its view relation and its hooks.

#include "cresset/autograd/autograd_meta.h"

namespace cresset {
namespace autograd {

using Variable = Tensor;

namespace impl {

// The tensor's data, or nullptr if it has none.
inline AutogradMeta* get_autograd_meta(const Tensor& t) { return static_cast<AutogradMeta*>(t.impl()->autograd()); }
inline AutogradMeta* get_autograd_meta(const TensorImpl& t) { return static_cast<AutogradMeta*>(t.autograd()); }
// The tensor's data, made at need.
CRESSET_API AutogradMeta& materialize_autograd_meta(TensorImpl& t);
inline AutogradMeta& materialize_autograd_meta(const Tensor& t) { return materialize_autograd_meta(*t.impl()); }

// Whether operators on `t` are recorded. Those on inference tensors that require grad are not, but beside a tensor that is they get their edge.
CRESSET_API bool requires_grad_slow(const TensorImpl& t);
inline bool requires_grad(const TensorImpl& t) { return CRESSET_UNLIKELY(t.layers() & kAutogradLayer) && requires_grad_slow(t); }

// The operator that made `t`, or null. A view whose base has changed since gets its history anew.
CRESSET_API const intrusive_ptr<Node>& grad_fn(TensorImpl& t);
// Where the gradient of `t` goes: its history, its accumulator if it is a leaf that requires grad, or nowhere.
CRESSET_API Edge gradient_edge(const Tensor& t);
// The node that adds to t.grad(). Errors: not a leaf. Null for a tensor that does not require grad.
CRESSET_API intrusive_ptr<Node> grad_accumulator(const Tensor& t);
CRESSET_API intrusive_ptr<Node> try_get_grad_accumulator(const Tensor& t);
// Makes `edge` the history of `t`. Hooks that retain the gradient move along.
CRESSET_API void set_gradient_edge(const Tensor& t, Edge edge);
CRESSET_API void set_name(const Tensor& t, std::string name);
// The hooks on the gradient of a leaf, or of the current history of a tensor; empty if there are none.
CRESSET_API std::shared_ptr<TensorHooks> hooks(const Tensor& t);
// The view again, from another base of the same geometry.
CRESSET_API Tensor replay_view(const TensorImpl& view, const TensorImpl& old_base, const Tensor& base);

}  // namespace impl

// Called after the gradient of a leaf has been accumulated. Errors: not a leaf, or does not require grad.
CRESSET_API unsigned register_post_accumulate_grad_hook(const Tensor& t, PostAccumulateHook hook);
CRESSET_API void remove_post_accumulate_grad_hook(const Tensor& t, unsigned position);

// A leaf over the same data, with its own version counter.
CRESSET_API Tensor make_variable(const Tensor& data, bool requires_grad = false);

}  // namespace autograd
}  // namespace cresset
