#include "cresset/transform/func.h"

#include <memory>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/forward_mode.h"
#include "cresset/ops/functions.h"

namespace cresset::func {

namespace {

Tensor zeros_of(const Tensor& t) { return cresset::zeros(t.sizes(), t.options()); }

// Leaves that a transform differentiates by.
struct Watch {
  explicit Watch(const Tensors& primals) : outside(GradMode::is_enabled()) {
    const AutoGradMode record(true);
    for (const Tensor& t : primals) {
      leaves.push_back(t.requires_grad() ? cresset::alias(t) : autograd::without_history(t).requires_grad_());
      if (leaves.back().is_leaf()) own.push_back(leaves.back());
    }
  }
  bool depends_on_others(const Tensors& tensors) const { return outside && autograd::depends_on_others(tensors, own); }

  // Results without the history that only this transform has given them.
  Tensors settled(Tensors tensors) const {
    for (Tensor& t : tensors)
      if (t.requires_grad() && !depends_on_others({t})) t = autograd::without_history(t);
    return tensors;
  }

  // The gradients of the leaves, zeros where there are none.
  Tensors pull(const Tensors& outputs, const Tensors& vectors, bool create_graph) const {
    Tensors from, along;
    for (size_t i = 0; i < outputs.size(); i++)
      if (outputs[i].requires_grad()) {
        from.push_back(outputs[i]);
        along.push_back(vectors[i]);
      }
    Tensors grads(leaves.size());
    if (!from.empty()) grads = autograd::grad(from, leaves, along, true, create_graph, true);
    for (size_t i = 0; i < grads.size(); i++)
      if (!grads[i].defined()) grads[i] = zeros_of(leaves[i]);
    return grads;
  }

  Tensors leaves, own;
  bool outside;
};

Tensors run_recorded(const Function& f, const Tensors& arguments) {
  const AutoGradMode record(true);
  return f(arguments);
}

bool any_requires_grad(const Tensors& tensors) {
  return GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.requires_grad(); });
}

void check_like(const char* op, const char* what, const Tensors& vectors, const Tensors& like) {
  CRESSET_CHECK(vectors.size() == like.size(), op, ": expected ", like.size(), " ", what, ", got ", vectors.size());
  for (size_t i = 0; i < like.size(); i++)
    CRESSET_CHECK(vectors[i].sizes() == like[i].sizes(), op, ": expected entry ", i, " of the ", what, " to have shape ",
                  like[i].sizes(), ", got ", vectors[i].sizes());
}

const Tensor& only(const char* op, const Tensors& results) {
  CRESSET_CHECK(results.size() == 1, op, ": expected a function with one result, got ", results.size());
  return results[0];
}

// Zeros like `t` with a one at the flat position `i`.
Tensor basis(const Tensor& t, int64_t i) {
  Tensor flat = cresset::zeros({t.numel()}, t.options());
  flat.narrow(0, i, 1).fill_(1);
  return flat.view(t.sizes());
}

DimVector joined(IntArrayRef a, IntArrayRef b) {
  DimVector all(a);
  for (const int64_t n : b) all.push_back(n);
  return all;
}

}  // namespace

ValueAndTangent jvp(const Function& f, const Tensors& primals, const Tensors& tangents) {
  check_like("jvp", "tangents", tangents, primals);
  const autograd::DualLevel level;
  Tensors duals;
  for (size_t i = 0; i < primals.size(); i++) duals.push_back(autograd::make_dual(primals[i], tangents[i], level.number()));
  ValueAndTangent result;
  for (const Tensor& out : f(duals)) {
    autograd::UnpackedDual dual = autograd::unpack_dual(out, level.number());
    result.tangent.push_back(dual.tangent.defined() ? dual.tangent : zeros_of(dual.primal));
    result.value.push_back(std::move(dual.primal));
  }
  return result;
}

ValueAndPullback vjp(const Function& f, const Tensors& primals) {
  const auto watch = std::make_shared<const Watch>(primals);
  const Tensors outputs = run_recorded(f, watch->leaves);
  return {watch->settled(outputs), [watch, outputs](const Tensors& vectors) {
            check_like("vjp", "vectors", vectors, outputs);
            return watch->settled(watch->pull(outputs, vectors, any_requires_grad(vectors) || watch->depends_on_others(outputs)));
          }};
}

GradientAndValue grad_and_value(const Function& f, const Tensors& primals) {
  const Watch watch(primals);
  const Tensors outputs = run_recorded(f, watch.leaves);
  const Tensor& value = only("grad_and_value", outputs);
  CRESSET_CHECK(value.dim() == 0,
                "grad_and_value: expected the function to return a tensor of one number without dimensions, got shape ",
                value.sizes());
  return {watch.settled(watch.pull(outputs, {Tensor()}, watch.depends_on_others(outputs))), watch.settled(outputs)[0]};
}

Tensors grad(const Function& f, const Tensors& primals) { return grad_and_value(f, primals).gradient; }

ValueAndDerivative linearize(const Function& f, const Tensors& primals) {
  const auto watch = std::make_shared<const Watch>(primals);
  const Tensors outputs = run_recorded(f, watch->leaves);
  // The gradient is linear in what comes in; its own gradient by that is the derivative.
  Tensors incoming, gradients;
  {
    const AutoGradMode record(true);
    for (const Tensor& out : outputs) incoming.push_back(zeros_of(out).requires_grad_());
    gradients = watch->pull(outputs, incoming, true);
  }
  return {watch->settled(outputs), [watch, outputs, incoming, gradients](const Tensors& tangents) {
            check_like("linearize", "tangents", tangents, watch->leaves);
            Tensors linear, along, result(outputs.size());
            for (size_t i = 0; i < gradients.size(); i++)
              if (gradients[i].requires_grad()) {
                linear.push_back(gradients[i]);
                along.push_back(tangents[i]);
              }
            if (!linear.empty())
              result = autograd::grad(linear, incoming, along, true, any_requires_grad(along) || watch->depends_on_others(outputs),
                                      true);
            for (size_t i = 0; i < result.size(); i++)
              if (!result[i].defined()) result[i] = zeros_of(outputs[i]);
            return watch->settled(std::move(result));
          }};
}

Tensors jacrev(const Function& f, const Tensors& primals) {
  const ValueAndPullback at = vjp(f, primals);
  const Tensor& out = only("jacrev", at.value);
  std::vector<Tensors> rows(primals.size());
  for (int64_t i = 0; i < out.numel(); i++) {
    const Tensors row = at.pullback({basis(out, i)});
    for (size_t p = 0; p < row.size(); p++) rows[p].push_back(row[p]);
  }
  Tensors blocks;
  for (size_t p = 0; p < primals.size(); p++) {
    const DimVector sizes = joined(out.sizes(), primals[p].sizes());
    blocks.push_back(rows[p].empty() ? cresset::zeros(sizes, out.options()) : cresset::stack(rows[p]).reshape(sizes));
  }
  return blocks;
}

Tensors jacfwd(const Function& f, const Tensors& primals) {
  Tensors blocks(primals.size());
  for (size_t p = 0; p < primals.size(); p++) {
    Tensors columns, tangents;
    for (const Tensor& t : primals) tangents.push_back(zeros_of(t));
    Tensor out;
    for (int64_t i = 0; i < primals[p].numel(); i++) {
      tangents[p] = basis(primals[p], i);
      const ValueAndTangent at = jvp(f, primals, tangents);
      out = only("jacfwd", at.value);
      columns.push_back(at.tangent[0]);
    }
    if (!out.defined()) out = only("jacfwd", f(primals));
    const DimVector sizes = joined(out.sizes(), primals[p].sizes());
    blocks[p] = columns.empty() ? cresset::zeros(sizes, out.options()) : cresset::stack(columns, -1).reshape(sizes);
  }
  return blocks;
}

std::vector<Tensors> hessian(const Function& f, const Tensors& primals) {
  std::vector<Tensors> rows;
  for (size_t i = 0; i < primals.size(); i++)
    rows.push_back(jacfwd([&, i](const Tensors& values) { return Tensors{func::grad(f, values)[i]}; }, primals));
  return rows;
}

}  // namespace cresset::func
