#include "cresset/transform/functional.h"

#include "cresset/autograd/autograd.h"
#include "cresset/tensor.h"
#include "cresset/transform/func_aux.h"

namespace cresset {
namespace autograd {
namespace functional {

namespace {

Tensor detached(const Tensor& t) { return t.requires_grad() ? t.detach() : t; }

// Inputs with respect to which is differentiated: their own history goes on where a graph is created.
variable_list fresh(const variable_list& inputs, bool create_graph, bool requires_grad = true) {
  variable_list own;
  for (const Tensor& t : inputs) own.push_back(create_graph && t.requires_grad() ? t.view_as(t) : t.detach().requires_grad_(requires_grad));
  return own;
}

variable_list called(const char* op, const Function& f, const variable_list& inputs, bool strict) {
  variable_list outputs = f(inputs);
  for (size_t i = 0; i < outputs.size(); i++)
    CRESSET_CHECK(!strict || outputs[i].requires_grad(), op, ": output ", i, " of the function is independent of the inputs, which strict mode does not allow");
  return outputs;
}

// `v`, or ones for one tensor of one element.
variable_list vector_of(const char* op, const std::optional<variable_list>& v, const variable_list& like, bool create_graph, const char* reason) {
  if (!v) {
    CRESSET_CHECK(like.size() == 1 && like[0].numel() == 1, op, ": v can be left out only for ", reason);
    return {ones_like(like[0].detach())};
  }
  CRESSET_CHECK(v->size() == like.size(), op, ": v has ", v->size(), " entries, expected ", like.size(), " as the values it multiplies");
  for (size_t i = 0; i < like.size(); i++)
    CRESSET_CHECK((*v)[i].sizes() == like[i].sizes(), op, ": entry ", i, " of v has shape ", (*v)[i].sizes(), ", expected ", like[i].sizes());
  return fresh(*v, create_graph, false);
}
constexpr const char *kOneOutput = "a function with one output of one element", *kOneInput = "a function with one input of one element";

// Gradients, undefined where there are none: outputs without history are left out.
variable_list grads_of(const variable_list& outputs, const variable_list& inputs, const variable_list& weights, bool create_graph) {
  variable_list from, along;
  for (size_t i = 0; i < outputs.size(); i++) {
    if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
    from.push_back(outputs[i]);
    along.push_back(weights[i]);
  }
  return from.empty() ? variable_list(inputs.size()) : grad(from, inputs, along, true, create_graph, true);
}

// Zeros where nothing arrived, which strict mode does not allow.
variable_list filled(const char* op, variable_list grads, const variable_list& inputs, Options options) {
  for (size_t i = 0; i < grads.size(); i++) {
    CRESSET_CHECK(!options.strict || grads[i].defined(), op, ": the output of the function is independent of input ", i, ", which strict mode does not allow");
    if (!grads[i].defined()) grads[i] = zeros_like(inputs[i].detach());
    else
      CRESSET_CHECK(!options.strict || !options.create_graph || grads[i].requires_grad(), op, ": the derivative by input ", i,
                    " is independent of the inputs, which strict mode with create_graph does not allow");
  }
  return grads;
}

variable_list finished(variable_list values, Options options) {
  if (!options.create_graph)
    for (Tensor& v : values) v = detached(v);
  return values;
}

// The Jacobian of `outputs` by `inputs` times `v`: the derivative of a vjp by the vector it takes, of which it is linear.
variable_list double_vjp(const char* op, const variable_list& outputs, const variable_list& inputs, const variable_list& v, Options options) {
  variable_list vectors;
  for (const Tensor& out : outputs) vectors.push_back(zeros_like(out.detach()).requires_grad_());
  const variable_list grads = filled(op, grads_of(outputs, inputs, vectors, true), inputs, {false, options.strict});
  return filled(op, grads_of(grads, vectors, v, options.create_graph), outputs, options);
}

void check_number(const char* op, const variable_list& outputs) {
  CRESSET_CHECK(outputs.size() == 1 && outputs[0].numel() == 1, op, ": expected the function to return one tensor of one element, got ", outputs.size(),
                " of shape ", outputs.empty() ? IntArrayRef() : outputs[0].sizes());
}

// The blocks of output `number`, a row for each of its elements.
variable_list rows_of(const Tensor& out, size_t number, const variable_list& inputs, Options options) {
  std::vector<variable_list> rows(inputs.size());
  const Tensor flat = out.reshape({-1});
  for (int64_t k = 0; k < out.numel(); k++) {
    const Tensor element = flat[k];
    const variable_list grads = grads_of({element}, inputs, {ones_like(element.detach())}, options.create_graph);
    for (size_t i = 0; i < inputs.size(); i++) {
      CRESSET_CHECK(!options.strict || grads[i].defined(), "jacobian: output ", number,
                    " of the function is independent of an input, which strict mode does not allow");
      CRESSET_CHECK(!options.strict || !options.create_graph || grads[i].requires_grad(),
                    "jacobian: the Jacobian is independent of an input, which strict mode with create_graph does not allow");
      rows[i].push_back(grads[i].defined() ? grads[i] : zeros_like(inputs[i].detach()));
    }
  }
  variable_list blocks;
  for (size_t i = 0; i < inputs.size(); i++) {
    DimVector sizes(out.sizes());
    for (const int64_t n : inputs[i].sizes()) sizes.push_back(n);
    blocks.push_back(rows[i].empty() ? inputs[i].detach().new_zeros(sizes) : stack(rows[i]).reshape(sizes));
  }
  return blocks;
}

// The blocks of all outputs: a row for each of their elements, all of them as one batch.
std::vector<variable_list> all_rows(const variable_list& outputs, const variable_list& inputs, Options options) {
  std::vector<variable_list> blocks;
  int64_t count = 0, first = 0;
  for (const Tensor& out : outputs) count += out.numel();
  variable_list units, rows;
  for (const Tensor& out : outputs) {
    DimVector sizes(out.sizes());
    sizes.insert(sizes.begin(), count);
    const Tensor unit = zeros({count, out.numel()}, out.detach().options());
    unit.narrow(0, first, out.numel()).diagonal().fill_(1);
    units.push_back(unit.view(sizes));
    first += out.numel();
  }
  if (count > 0)
    rows = func::vmap([&](const variable_list& v) { return filled("jacobian", grads_of(outputs, inputs, v, options.create_graph), inputs, options); })(units);
  first = 0;
  for (const Tensor& out : outputs) {
    blocks.emplace_back();
    for (size_t i = 0; i < inputs.size(); i++) {
      DimVector sizes(out.sizes());
      for (const int64_t n : inputs[i].sizes()) sizes.push_back(n);
      blocks.back().push_back(out.numel() > 0 ? rows[i].narrow(0, first, out.numel()).reshape(sizes) : inputs[i].detach().new_zeros(sizes));
    }
    first += out.numel();
  }
  return blocks;
}

// f(inputs) and its gradient, which can be differentiated again.
std::pair<variable_list, variable_list> number_and_gradient(const char* op, const Function& f, const variable_list& inputs, bool strict) {
  variable_list outputs = called(op, f, inputs, strict);
  check_number(op, outputs);
  variable_list gradient = filled(op, grads_of(outputs, inputs, {ones_like(outputs[0].detach())}, true), inputs, {true, strict});
  return {std::move(outputs), std::move(gradient)};
}

}  // namespace

OutputsAndProducts vjp(const Function& f, const variable_list& given, const std::optional<variable_list>& v, Options options) {
  const AutoGradMode record(true);
  const variable_list inputs = fresh(given, options.create_graph), outputs = called("vjp", f, inputs, options.strict);
  const variable_list weights = vector_of("vjp", v, outputs, options.create_graph, kOneOutput);
  variable_list products = filled("vjp", grads_of(outputs, inputs, weights, options.create_graph), inputs, options);
  return {finished(outputs, options), finished(std::move(products), options)};
}

OutputsAndProducts jvp(const Function& f, const variable_list& given, const std::optional<variable_list>& v, Options options) {
  const AutoGradMode record(true);
  const variable_list inputs = fresh(given, options.create_graph), along = vector_of("jvp", v, inputs, options.create_graph, kOneInput);
  const variable_list outputs = called("jvp", f, inputs, options.strict);
  variable_list products = double_vjp("jvp", outputs, inputs, along, options);
  return {finished(outputs, options), finished(std::move(products), options)};
}

OutputsAndProducts vhp(const Function& f, const variable_list& given, const std::optional<variable_list>& v, Options options) {
  const AutoGradMode record(true);
  const variable_list inputs = fresh(given, options.create_graph), along = vector_of("vhp", v, inputs, options.create_graph, kOneInput);
  const auto [outputs, gradient] = number_and_gradient("vhp", f, inputs, options.strict);
  variable_list products = filled("vhp", grads_of(gradient, inputs, along, options.create_graph), inputs, options);
  return {finished(outputs, options), finished(std::move(products), options)};
}

OutputsAndProducts hvp(const Function& f, const variable_list& given, const std::optional<variable_list>& v, Options options) {
  const AutoGradMode record(true);
  const variable_list inputs = fresh(given, options.create_graph), along = vector_of("hvp", v, inputs, options.create_graph, kOneInput);
  const auto [outputs, gradient] = number_and_gradient("hvp", f, inputs, options.strict);
  variable_list products = double_vjp("hvp", gradient, inputs, along, options);
  return {finished(outputs, options), finished(std::move(products), options)};
}

std::vector<variable_list> jacobian(const Function& f, const variable_list& given, Options options, bool vectorize, bool forward) {
  CRESSET_CHECK(!vectorize || !options.strict, "jacobian: strict=True and vectorize=True do not combine");
  CRESSET_CHECK_NOT_IMPLEMENTED(!forward || !options.create_graph, "jacobian: create_graph=True is not supported with strategy='forward-mode'");
  CRESSET_CHECK_NOT_IMPLEMENTED(!forward || vectorize, "jacobian: strategy='forward-mode' needs vectorize=True");
  const AutoGradMode record(true);
  std::vector<variable_list> blocks;
  if (forward) {
    variable_list inputs;
    for (const Tensor& t : given) inputs.push_back(t.detach());
    blocks = func::jacfwd(func::AuxFunction([&f](const variable_list& values) { return func::Results{f(values), {}}; }), inputs).blocks;
  } else {
    const variable_list inputs = fresh(given, options.create_graph), outputs = called("jacobian", f, inputs, options.strict);
    if (vectorize) blocks = all_rows(outputs, inputs, options);
    else
      for (size_t i = 0; i < outputs.size(); i++) blocks.push_back(rows_of(outputs[i], i, inputs, options));
  }
  for (variable_list& row : blocks) row = finished(std::move(row), options);
  return blocks;
}

std::vector<variable_list> hessian(const Function& f, const variable_list& inputs, Options options, bool vectorize, bool forward) {
  const auto one_number = [&](const variable_list& values) {
    const variable_list outputs = called("hessian", f, values, options.strict);
    check_number("hessian", outputs);
    return variable_list{outputs[0].squeeze()};
  };
  const auto gradient = [&](const variable_list& values) {
    if (forward)
      for (const Tensor& t : values)
        if (t.is_leaf()) t.requires_grad_();
    return jacobian(one_number, values, {true, options.strict})[0];
  };
  return jacobian(gradient, inputs, options, vectorize, forward);
}

}  // namespace functional
}  // namespace autograd
}  // namespace cresset
