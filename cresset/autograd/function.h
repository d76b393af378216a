#pragma once
// Custom functions: an operator with a gradient of one's own.
//
//   struct Cube : autograd::Function<Cube> {
//     static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) { ctx->save_for_backward({x}); return x * x * x; }
//     static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
//       const Tensor x = ctx->get_saved_variables()[0];
//       return {grads[0] * 3 * x * x};
//     }
//   };
//   Tensor y = Cube::apply(x);
//
// forward may take anything beside tensors; backward returns one gradient for each argument of forward, undefined for the others.

#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>

#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/node.h"
#include "cresset/autograd/saved/saved_variable.h"
#include "cresset/dispatch/values/value.h"

namespace cresset {
namespace autograd {

struct CustomNode;

// Marks that the forward of a custom function set on its inputs and outputs.
struct ForwardMarks {
  std::vector<const TensorImpl*> dirty, non_differentiable;
};
// Gives the outputs of the forward of a custom function their history, in place: `node` is theirs, or null where nothing is
// recorded. An output that is an input, not changed in place, becomes a view of it. Errors: mark_dirty of a tensor that is no input
// or not returned; a leaf that requires grad, or a view beside other outputs, changed in place.
CRESSET_API void finish_forward(const intrusive_ptr<Node>& node, const std::string& name, const ForwardMarks& marks, const variable_list& inputs,
                                variable_list& outputs);

// Counts edges [first, second).
using IndexRange = std::pair<size_t, size_t>;

// The values that forward leaves for backward.
struct CRESSET_API AutogradContext {
  AutogradContext();
  ~AutogradContext();
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  // Values other than tensors of the graph.
  std::unordered_map<std::string, dispatch::Value> saved_data;

  // Keeps inputs or outputs of forward; version checks apply. Other tensors belong in saved_data.
  void save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }
  // Inputs that forward has changed in place.
  void mark_dirty(const variable_list& inputs);
  // Outputs that backward gives no gradient through.
  void mark_non_differentiable(const variable_list& outputs);
  // Whether backward sees zeros instead of undefined gradients; true unless told otherwise.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  // The tensors marked so; the first moves the versions of those tensors.
  std::vector<const TensorImpl*> get_and_bump_dirty() const;
  const std::vector<const TensorImpl*>& get_non_differentiable() const { return marks_.non_differentiable; }

  // Errors: changed in place since forward; freed by an earlier backward.
  variable_list get_saved_variables() const;
  // Whether the gradient for the tensor argument (counted without the other arguments) is wanted.
  bool needs_input_grad(size_t edge) const;
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;

 private:
  friend struct CustomNode;
  variable_list to_save_;
  std::vector<SavedVariable> saved_;
  ForwardMarks marks_;
  bool materialize_grads_ = true;
  bool freed_ = false;
  CustomNode* node_ = nullptr;
};

// The node of a custom function. Which function it is comes in through three pointers, so that little is compiled for each.
struct CRESSET_API CustomNode : public Node {
  using Backward = variable_list (*)(AutogradContext*, variable_list);
  CustomNode(Backward backward, const char* type_name);
  ~CustomNode() override;

  std::string name() const override;
  void release_variables() override;

  // Prepares the edges. Whether the call is recorded at all.
  bool start(const variable_list& inputs, std::vector<bool> is_tensor);
  // Gives the outputs of forward their history, in place.
  void finish(const variable_list& inputs, variable_list& outputs, bool recorded);
  AutogradContext* context() { return &ctx_; }

 protected:
  variable_list apply(variable_list&& grads) override;

 private:
  friend struct AutogradContext;
  Backward backward_;
  const char* type_name_;
  AutogradContext ctx_;
  // For each argument of forward: whether it is a tensor, and so has an edge.
  std::vector<bool> is_tensor_;
};

namespace detail {

CRESSET_API void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, const Tensor& t);
CRESSET_API void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, const std::optional<Tensor>& t);
CRESSET_API void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, TensorList list);
CRESSET_API void collect_argument(variable_list& inputs, std::vector<bool>& is_tensor, const variable_list& list);
CRESSET_API void collect_other(std::vector<bool>& is_tensor);
template <class T> struct is_tensor_like : std::false_type {};
template <> struct is_tensor_like<Tensor> : std::true_type {};
template <> struct is_tensor_like<std::optional<Tensor>> : std::true_type {};
template <> struct is_tensor_like<TensorList> : std::true_type {};
template <> struct is_tensor_like<variable_list> : std::true_type {};

template <class T> void collect(variable_list& inputs, std::vector<bool>& is_tensor, const T& argument) {
  if constexpr (is_tensor_like<T>::value) collect_argument(inputs, is_tensor, argument);
  else collect_other(is_tensor);
}

CRESSET_API variable_list to_list(Tensor&& t);
inline variable_list to_list(variable_list&& list) { return std::move(list); }
template <class R> R from_list(variable_list&& list) {
  if constexpr (std::is_same<R, Tensor>::value) return std::move(list[0]);
  else return std::move(list);
}

}  // namespace detail

template <class T> struct Function {
  static constexpr bool is_traceable = false;
  // Runs T::forward without recording and records T::backward as its gradient.
  template <class X = T, class... Args> static auto apply(Args&&... args) {
    using Result = std::decay_t<decltype(X::forward(static_cast<AutogradContext*>(nullptr), std::forward<Args>(args)...))>;
    auto node = make_intrusive<CustomNode>(&run_backward<X>, typeid(T).name());
    variable_list inputs;
    std::vector<bool> is_tensor;
    (detail::collect<std::decay_t<Args>>(inputs, is_tensor, args), ...);
    const bool recorded = node->start(inputs, std::move(is_tensor));
    variable_list outputs;
    {
      AutoGradMode no_grad(false);
      outputs = detail::to_list(X::forward(node->context(), std::forward<Args>(args)...));
    }
    node->finish(inputs, outputs, recorded);
    return detail::from_list<Result>(std::move(outputs));
  }

 private:
  template <class X> static variable_list run_backward(AutogradContext* ctx, variable_list grads) {
    return detail::to_list(X::backward(ctx, std::move(grads)));
  }
};

}  // namespace autograd
}  // namespace cresset
