#pragma once
// The parts of custom functions under LibTorch's names, for functions of one's own that are put together by hand.

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/function.h"

namespace cresset::autograd {

using optional_variable_list = std::vector<std::optional<Tensor>>;
// The type that forward of X returns for arguments of these types.
template <class X, class... Args> using forward_t = decltype(X::forward(nullptr, std::declval<Args>()...));
// The node that T::apply makes.
template <class T> using CppNode = CustomNode;

// Appends the tensors among the arguments to a list, and for each argument whether it is a tensor.
struct ExtractVariables {
  ExtractVariables(std::vector<bool>& is_var, variable_list& list) : is_var_(is_var), list_(list) {}
  template <class T> void operator()(const T& argument) { detail::collect<std::decay_t<T>>(list_, is_var_, argument); }
  template <class... Args> ExtractVariables& apply(const Args&... args) {
    ((*this)(args), ...);
    return *this;
  }

  std::vector<bool>& is_var_;
  variable_list& list_;
};
template <class... Args> void extract_vars(std::vector<bool>& is_var, variable_list& list, const Args&... args) {
  ExtractVariables(is_var, list).apply(args...);
}

inline optional_variable_list to_optional(const Tensor& output) { return {output}; }
inline optional_variable_list to_optional(const variable_list& output) { return {output.begin(), output.end()}; }
// The outputs as forward returned them: one tensor, or a list.
template <class T> T to_output_type(optional_variable_list& outputs) {
  variable_list list;
  for (auto& output : outputs) list.push_back(output ? std::move(*output) : Tensor());
  return detail::from_list<T>(std::move(list));
}

// Errors: what a hook returned has another dtype, device or shape than what it got.
CRESSET_API void check_variable_result(const Tensor& original, const Tensor& result, const std::string& hook_name);

// Brings each gradient to the shape, dtype and device of its metadata, summing what broadcasting had expanded; no metadata: the gradient is
// dropped. Errors: a gradient that does not fit; `format_error` gets the text and returns the one to raise.
CRESSET_API void validate_outputs(const std::vector<std::optional<InputMetadata>>& metadata, variable_list& grads,
                                  const std::function<std::string(const std::string&)>& format_error);

// Returns its inputs as they are; backward, no gradient comes through.
struct CRESSET_API UndefinedGrad {
  variable_list apply(variable_list&& inputs);
  variable_list operator()(variable_list&& inputs) { return apply(std::move(inputs)); }
};

// A view's relation to its base stands in its impl.
using DifferentiableViewMeta = TensorImpl;

// The node's address, or 0: what programs that print x.grad_fn() get.
CRESSET_API std::ostream& operator<<(std::ostream& stream, const intrusive_ptr<Node>& node);

// How a view came to be, which decides whether it may be changed in place.
enum class CreationMeta : uint8_t { DEFAULT, IN_CUSTOM_FUNCTION, MULTI_OUTPUT_NODE, NO_GRAD_MODE, INFERENCE_MODE };
namespace impl {
class ViewMeta {
 public:
  explicit ViewMeta(CreationMeta creation) : creation_(creation) {}
  const ViewMeta* operator->() const { return this; }
  CreationMeta get_creation_meta() const { return creation_; }

 private:
  CreationMeta creation_;
};
// Errors: not a view.
CRESSET_API ViewMeta get_view_autograd_meta(const Tensor& view);

inline VariableVersion version_counter(const Tensor& t) { return t.unsafeGetTensorImpl()->version_counter(); }
}  // namespace impl

// The edges to the gradients of tensors: what a node of a program's own is given as its next ones.
template <class... Tensors> edge_list collect_next_edges(const Tensors&... tensors) {
  edge_list edges;
  const auto add = [&](const Tensor& t) { edges.push_back(t.defined() ? impl::gradient_edge(t) : Edge()); };
  const auto add_each = [&](const auto& given) {
    if constexpr (std::is_convertible<decltype(given), const Tensor&>::value) add(given);
    else
      for (const Tensor& t : given) add(t);
  };
  (add_each(tensors), ...);
  return edges;
}
// Whether a node of these tensors is needed.
template <class... Tensors> bool compute_requires_grad(const Tensors&... tensors) {
  return GradMode::is_enabled() && ((tensors.defined() && tensors.requires_grad()) || ...);
}

// Forward mode under Python's names.
namespace forward_ad {
using dual_level = DualLevel;
using UnpackedDualTensor = UnpackedDual;
using autograd::enter_dual_level;
using autograd::exit_dual_level;
using autograd::make_dual;
using autograd::unpack_dual;
}  // namespace forward_ad

}  // namespace cresset::autograd
