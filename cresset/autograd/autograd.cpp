#include "cresset/autograd/autograd.h"

#include "cresset/autograd/batched.h"
#include "cresset/autograd/engine.h"
#include "cresset/autograd/run_backward.h"
#include "cresset/base/warning.h"
#include "cresset/core/observed.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

namespace {

Edge root_edge(const char* op, size_t i, const PassEnd& root, bool accumulate) {
  if (root.is_edge()) return root.edge;
  CRESSET_CHECK(root.tensor.defined(), op, ": tensor ", i, " is undefined");
  CRESSET_CHECK(!accumulate || !as_batched(root.tensor), op,
                ": cannot be called inside of a function under vmap; use func.grad or func.vjp there, or call backward() outside");
  Edge edge = impl::gradient_edge(root.tensor);
  CRESSET_CHECK(edge.is_valid(), op, ": element ", i, " of tensors does not require grad and does not have a grad_fn");
  return edge;
}

// The gradient that goes into a root: the given one, or 1 for one element.
Tensor root_gradient(const char* op, size_t i, const PassEnd& root, const Tensor& given, bool create_graph) {
  const Tensor& out = root.tensor;
  if (root.is_edge()) {
    const Node& node = *root.edge.function;
    const InputMetadata expected = root.edge.input_nr < node.num_inputs() ? node.input_metadata(root.edge.input_nr) : InputMetadata();
    if (given.defined()) {
      CRESSET_CHECK(!expected.defined() || given.sizes() == expected.sizes(), op, ": gradient ", i, " has shape ", given.sizes(),
                    ", expected that of the edge's output, ", expected.sizes());
      CRESSET_CHECK(!expected.defined() || given.is_complex() == is_complex_type(expected.dtype()), op, ": gradient ", i, " has dtype ", given.scalar_type(),
                    ", but the edge's output has dtype ", expected.dtype(), "; complex outputs need complex gradients and real ones real gradients");
      return given;
    }
    const bool is_number = std::all_of(expected.sizes().begin(), expected.sizes().end(), [](int64_t n) { return n == 1; });
    CRESSET_CHECK(expected.defined() && is_number && is_floating_type(expected.dtype()), op,
                  ": a gradient can be left out only where the output has one element of a floating type, got the gradient edge ", i, " of shape ",
                  expected.sizes());
    return cresset::ones(expected.sizes(), expected.options());
  }
  if (given.defined()) {
    CRESSET_CHECK(given.sizes() == out.sizes(), op, ": gradient ", i, " has shape ", given.sizes(), ", expected that of tensor ", i, ", ", out.sizes());
    CRESSET_CHECK(given.is_complex() == out.is_complex(), op, ": gradient ", i, " has dtype ", given.scalar_type(), ", but tensor ", i, " has dtype ",
                  out.scalar_type(), "; complex tensors need complex gradients and real ones real gradients");
    return !create_graph && given.requires_grad() ? given.detach() : given;
  }
  CRESSET_CHECK(out.numel() == 1, op, ": a gradient can be left out only for a tensor with one element, got ", out);
  CRESSET_CHECK(out.is_floating_point() || out.is_complex(), op, ": a gradient can be left out only for a floating point tensor, got ", out);
  CRESSET_CHECK(!out.is_complex(), op, ": a gradient can be left out only for a real tensor, got ", out);
  if (CRESSET_UNLIKELY(dispatch::is_listening() || dispatch::is_subclass(out) || are_methods_observed())) {
    const AutoGradMode unrecorded(false);
    return cresset::ones_like(out, TensorOptions(), MemoryFormat::Preserve);
  }
  return CRESSET_UNLIKELY(out.lacks_data() || as_batched(out)) ? cresset::ones_like(out.detach()) : cresset::ones(out.sizes(), out.options());
}

Edge input_edge(const char* op, size_t i, const PassEnd& input, const variable_list& batched, bool retain) {
  if (input.is_edge()) return input.edge;
  const Tensor& t = input.tensor;
  CRESSET_CHECK(t.defined() && t.requires_grad(), op, ": element ", i, " of the input tensors does not require grad");
  check_batched_as(op, batched, t);
  if (retain) t.retain_grad();
  return impl::gradient_edge(t);
}

PassEnds ends_of(const variable_list& tensors) {
  PassEnds ends;
  for (const Tensor& t : tensors) ends.push_back(PassEnd(t));
  return ends;
}

}  // namespace

variable_list run_backward(const char* op, const PassEnds& roots, const variable_list& given, const PassEnds* inputs, PassOptions options) {
  CRESSET_CHECK(given.empty() || given.size() == roots.size(), op, ": ", given.size(), " gradients for ", roots.size(), " tensors");
  edge_list from, to;
  variable_list grads, batched;
  for (size_t i = 0; i < roots.size(); i++) {
    from.push_back(root_edge(op, i, roots[i], options.accumulate));
    if (roots[i].tensor.defined() && as_batched(roots[i].tensor)) batched.push_back(roots[i].tensor);
  }
  grads.reserve(roots.size());
  for (size_t i = 0; i < roots.size(); i++) {
    grads.push_back(root_gradient(op, i, roots[i], given.empty() ? Tensor() : given[i], options.create_graph));
    // The values are recorded under vmap. Gradients that come in may be batched at further levels, at which nodes then run.
    if (roots[i].tensor.defined() && as_batched(roots[i].tensor)) grads.back() = without_levels_of(grads.back(), roots[i].tensor);
  }
  // A view made without recording, of a base that requires grad, has no edge: nothing arrives there.
  SmallVector<bool, 8> arrives;
  for (size_t i = 0; inputs && i < inputs->size(); i++) {
    Edge edge = input_edge(op, i, (*inputs)[i], batched, options.accumulate);
    arrives.push_back(edge.is_valid());
    if (edge.is_valid()) to.push_back(std::move(edge));
  }
  variable_list found, result;
  if (!inputs || !to.empty())
    found = Engine::get_default_engine().execute(from, std::move(grads), options.keep_graph, options.create_graph, options.accumulate, to);
  if (options.accumulate || !inputs) return {};
  size_t next = 0;
  for (size_t i = 0; i < arrives.size(); i++) {
    result.push_back(arrives[i] ? std::move(found[next++]) : Tensor());
    const Tensor& like = (*inputs)[i].tensor;
    if (result[i].defined() && like.defined() && as_batched(like)) result[i] = with_levels_of(result[i], like);
  }
  return result;
}

void backward(const variable_list& tensors, const variable_list& grad_tensors, std::optional<bool> retain_graph, bool create_graph,
              const variable_list& inputs) {
  if (create_graph)
    CRESSET_WARN_ONCE(
        "Using backward() with create_graph=True lets a parameter and its gradient hold each other, which leaks memory; use autograd::grad, or reset the "
        "gradient");
  const PassEnds ends = ends_of(inputs);
  run_backward("backward", ends_of(tensors), grad_tensors, inputs.empty() ? nullptr : &ends, {retain_graph.value_or(create_graph), create_graph, true});
}

variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  CRESSET_CHECK(!inputs.empty(), "grad requires non-empty inputs.");
  const PassEnds ends = ends_of(inputs);
  variable_list result = run_backward("grad", ends_of(outputs), grad_outputs, &ends, {retain_graph.value_or(create_graph), create_graph, false});
  if (!allow_unused)
    for (size_t i = 0; i < result.size(); i++)
      CRESSET_CHECK(result[i].defined(), "grad: input ", i, " was not used in the graph. Set allow_unused=True if that is intended");
  return result;
}

}  // namespace autograd
}  // namespace cresset
