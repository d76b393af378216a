#include "cresset/autograd/autograd.h"

#include <algorithm>

#include "cresset/autograd/batched.h"
#include "cresset/autograd/engine.h"
#include "cresset/base/warning.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

namespace {

// The gradient that goes into each output: what was given, or 1 for one element.
variable_list root_gradients(const char* op, const variable_list& outputs, const variable_list& given, bool create_graph) {
  CRESSET_CHECK(given.empty() || given.size() == outputs.size(), op, ": ", given.size(), " gradients for ", outputs.size(), " tensors");
  variable_list grads;
  grads.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); i++) {
    const Tensor& out = outputs[i];
    if (i < given.size() && given[i].defined()) {
      const Tensor& g = given[i];
      CRESSET_CHECK(g.sizes() == out.sizes(), op, ": gradient ", i, " has shape ", g.sizes(), ", expected that of tensor ", i, ", ", out.sizes());
      CRESSET_CHECK(g.is_complex() == out.is_complex(), op, ": gradient ", i, " has dtype ", g.scalar_type(), ", but tensor ", i, " has dtype ",
                    out.scalar_type(), "; complex tensors need complex gradients and real ones real gradients");
      grads.push_back(create_graph ? g : g.requires_grad() ? g.detach() : g);
      continue;
    }
    CRESSET_CHECK(out.numel() == 1, op, ": a gradient can be left out only for a tensor with one element, got ", out);
    CRESSET_CHECK(out.is_floating_point() || out.is_complex(), op, ": a gradient can be left out only for a floating point tensor, got ", out);
    CRESSET_CHECK(!out.is_complex(), op, ": a gradient can be left out only for a real tensor, got ", out);
    grads.push_back(CRESSET_UNLIKELY(out.lacks_data()) ? cresset::ones_like(out) : cresset::ones(out.sizes(), out.options()));
  }
  return grads;
}

edge_list root_edges(const char* op, const variable_list& outputs) {
  edge_list roots;
  for (size_t i = 0; i < outputs.size(); i++) {
    CRESSET_CHECK(outputs[i].defined(), op, ": tensor ", i, " is undefined");
    Edge e = impl::gradient_edge(outputs[i]);
    CRESSET_CHECK(e.is_valid(), op, ": tensor ", i, " does not require grad and has no grad_fn");
    roots.push_back(std::move(e));
  }
  return roots;
}

edge_list input_edges(const char* op, const variable_list& inputs, bool retain) {
  edge_list edges;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Tensor& t = inputs[i];
    CRESSET_CHECK(t.defined() && t.requires_grad(), op, ": input ", i, " does not require grad");
    if (retain) t.retain_grad();
    Edge e = impl::gradient_edge(t);
    // A leaf that requires grad only because its base does: nothing arrives there.
    CRESSET_CHECK(e.is_valid(), op, ": input ", i, " is a view made without recording gradients and has no history");
    edges.push_back(std::move(e));
  }
  return edges;
}

}  // namespace

namespace {

bool any_batched(const variable_list& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return as_batched(t); });
}

// The values are recorded under vmap. Gradients that come in may be batched at further levels, at which nodes then run.
variable_list grad_of_batched(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs, std::optional<bool> retain_graph,
                              bool create_graph, bool allow_unused) {
  const variable_list grads = root_gradients("grad", outputs, grad_outputs, create_graph);
  variable_list from, along, to;
  for (size_t i = 0; i < outputs.size(); i++) {
    from.push_back(physical(outputs[i]));
    along.push_back(without_levels_of(grads[i], outputs[i]));
  }
  for (const Tensor& t : inputs) {
    check_batched_as("grad", outputs, t);
    to.push_back(physical(t));
  }
  variable_list result = grad(from, to, along, retain_graph, create_graph, allow_unused);
  for (size_t i = 0; i < result.size(); i++)
    if (result[i].defined()) result[i] = with_levels_of(result[i], inputs[i]);
  return result;
}

}  // namespace

void backward(const variable_list& tensors, const variable_list& grad_tensors, std::optional<bool> retain_graph, bool create_graph,
              const variable_list& inputs) {
  if (create_graph)
    CRESSET_WARN_ONCE(
        "backward: with create_graph=True a parameter and its gradient hold each other, which leaks memory; use autograd::grad, or reset the gradient");
  const edge_list roots = root_edges("backward", tensors);
  variable_list grads = root_gradients("backward", tensors, grad_tensors, create_graph);
  const edge_list edges = input_edges("backward", inputs, true);
  Engine::get_default_engine().execute(roots, std::move(grads), retain_graph.value_or(create_graph), create_graph, true, edges);
}

variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  CRESSET_CHECK(!inputs.empty(), "grad: `inputs` cannot be empty");
  if (any_batched(outputs) || any_batched(inputs)) return grad_of_batched(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused);
  const edge_list roots = root_edges("grad", outputs);
  variable_list grads = root_gradients("grad", outputs, grad_outputs, create_graph);
  const edge_list edges = input_edges("grad", inputs, false);
  variable_list result = Engine::get_default_engine().execute(roots, std::move(grads), retain_graph.value_or(create_graph), create_graph, false, edges);
  if (!allow_unused)
    for (size_t i = 0; i < result.size(); i++)
      CRESSET_CHECK(result[i].defined(), "grad: input ", i, " was not used in the graph; pass allow_unused=true if that is intended");
  return result;
}

}  // namespace autograd
}  // namespace cresset
