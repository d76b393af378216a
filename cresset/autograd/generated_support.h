#pragma once
// Parts of the generated nodes and wrappers of operators.
//
// A functional wrapper: any_requires_grad -> make_node -> set_next_edges -> save inputs -> BelowAutograd + call -> set_history -> save outputs.
// An in-place wrapper: any_requires_grad -> check_inplace -> (save inputs, self as self.clone()) -> call -> rebase_history.
// A view wrapper: call (whose body calls TensorImpl::set_view_of) -> if any_requires_grad: set_next_edges, set_view_history.

#include <optional>

#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/node.h"
#include "cresset/autograd/saved/saved_variable.h"
#include "cresset/autograd/variable.h"

namespace cresset {
namespace autograd {

// Calls in its scope go below the autograd layer: to the backend, or into a composite's ops without recording.
class BelowAutograd : public ExcludeLayers {
 public:
  BelowAutograd() : ExcludeLayers(kAutogradLayer) {}
};
using AutoBelowAutograd = BelowAutograd;

namespace detail {

inline bool one_requires_grad(const Tensor& t) { return t.defined() && impl::requires_grad(*t.impl()); }
inline bool one_requires_grad(const std::optional<Tensor>& t) { return t && one_requires_grad(*t); }
inline bool one_requires_grad(TensorList list) {
  for (const Tensor& t : list)
    if (one_requires_grad(t)) return true;
  return false;
}
inline bool one_requires_grad(ArrayRef<std::optional<Tensor>> list) {
  for (const auto& t : list)
    if (one_requires_grad(t)) return true;
  return false;
}

CRESSET_API void push_edge(Node& node, const Tensor& t);
inline void push_edge(Node& node, const std::optional<Tensor>& t) { push_edge(node, t ? *t : Tensor()); }
inline void push_edge(Node& node, TensorList list) {
  for (const Tensor& t : list) push_edge(node, t);
}
inline void push_edge(Node& node, ArrayRef<std::optional<Tensor>> list) {
  for (const auto& t : list) push_edge(node, t);
}

}  // namespace detail

// Whether the call must be recorded: gradients are on and an argument requires them. Takes Tensor, optional<Tensor> and lists of both.
template <class... Args> inline bool any_requires_grad(const Args&... args) { return GradMode::is_enabled() && (detail::one_requires_grad(args) || ...); }

template <class N, class... Args> inline intrusive_ptr<N> make_node(Args&&... args) {
  return intrusive_ptr<N>::unsafe_steal_from_new(new N(std::forward<Args>(args)...));
}

// One edge for each differentiable argument in order, as many as a list has elements; invalid where none requires grad.
template <class... Args> inline void set_next_edges(Node& node, const Args&... args) { (detail::push_edge(node, args), ...); }

// Makes `node` the history of a fresh result. Undefined results and dtypes without gradients only get their place counted.
CRESSET_API void set_history(const Tensor& out, const intrusive_ptr<Node>& node);
CRESSET_API void set_history(TensorList outs, const intrusive_ptr<Node>& node);

// Before an in-place operator writes to `self`; `requires_grad` is what any_requires_grad said of all arguments.
// Errors: a leaf that requires grad, a view of one, a view of a multi-output operator or made without recording; inference tensors.
CRESSET_API void check_inplace(const Tensor& self, bool requires_grad, const char* op);
CRESSET_API void check_inplace(TensorList self, bool requires_grad, const char* op);
// Before an operator with out= arguments runs. Errors: gradients are on and an argument or `out` requires them.
CRESSET_API void check_no_grad_for_out(const Tensor& out, bool args_require_grad, const char* op);

// After an in-place operator has written (and bumped the version): `node` becomes the last step of self's history, and of the base's
// through CopySlices if self is a view. One call for each changed argument.
CRESSET_API void rebase_history(const Tensor& self, const intrusive_ptr<Node>& node);
CRESSET_API void rebase_history(TensorList self, const intrusive_ptr<Node>& node);

// Makes `node` the history of a view that set_view_of has marked.
CRESSET_API void set_view_history(const Tensor& view, const intrusive_ptr<Node>& node);
CRESSET_API void set_view_history(TensorList views, const intrusive_ptr<Node>& node);

// Whether gradients[i] is there; and the gradient itself, or zeros of the output's shape where the engine has none.
inline bool has_grad(const variable_list& grads, size_t i) { return i < grads.size() && grads[i].defined(); }
CRESSET_API Tensor grad_or_zeros(const Node& node, const variable_list& grads, size_t i);
CRESSET_API bool any_defined(const variable_list& grads);

// `grad` summed to `sizes` where broadcasting had expanded; the engine does this for every edge itself.
CRESSET_API Tensor sum_to_size(const Tensor& grad, IntArrayRef sizes);

// Errors: an earlier backward has freed the node.
CRESSET_API void check_not_released(bool released);

// For operators without a gradient formula: raises when backward reaches it.
struct CRESSET_API NotImplementedBackward final : public Node {
  explicit NotImplementedBackward(std::string op) : op_(std::move(op)) {}
  std::string name() const override { return "torch::autograd::NotImplemented"; }
  const std::string& op() const { return op_; }

 protected:
  variable_list apply(variable_list&& grads) override;

 private:
  std::string op_;
};

}  // namespace autograd
}  // namespace cresset
