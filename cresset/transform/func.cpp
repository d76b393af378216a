#include "cresset/transform/func.h"

#include <memory>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/vmap.h"

namespace cresset::func {

namespace {

Tensor zeros_of(const Tensor& t) { return cresset::zeros(t.sizes(), t.options()); }

// Leaves with respect to which a transform differentiates.
struct Watch {
  explicit Watch(const Tensors& primals) : outside(GradMode::is_enabled()) {
    const AutoGradMode record(true);
    for (const Tensor& primal : primals) {
      const Tensor t = batched_at_all_levels(primal);
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
    CRESSET_CHECK(vectors[i].sizes() == like[i].sizes(), op, ": expected entry ", i, " of the ", what, " to have shape ", like[i].sizes(), ", got ",
                  vectors[i].sizes());
}

const Tensor& only(const char* op, const Tensors& results) {
  CRESSET_CHECK(results.size() == 1, op, ": expected a function with one result, got ", results.size());
  return results[0];
}

// All numbers of `t` as unit vectors: (numel, shape of t).
Tensor basis(const Tensor& t) {
  DimVector sizes(t.sizes());
  sizes.insert(sizes.begin(), t.numel());
  return cresset::eye(t.numel(), t.options()).view(sizes);
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
  CRESSET_CHECK(value.dim() == 0, "grad_and_value: expected the function to return a tensor of one number without dimensions, got shape ", value.sizes());
  return {watch.settled(watch.pull(outputs, {Tensor()}, watch.depends_on_others(outputs))), watch.settled(outputs)[0]};
}

Tensors grad(const Function& f, const Tensors& primals) { return grad_and_value(f, primals).gradient; }

ValueAndDerivative linearize(const Function& f, const Tensors& primals) {
  const auto watch = std::make_shared<const Watch>(primals);
  const Tensors outputs = run_recorded(f, watch->leaves);
  // The gradient is linear in what comes in; its own gradient with respect to that is the derivative.
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
            if (!linear.empty()) result = autograd::grad(linear, incoming, along, true, any_requires_grad(along) || watch->depends_on_others(outputs), true);
            for (size_t i = 0; i < result.size(); i++)
              if (!result[i].defined()) result[i] = zeros_of(outputs[i]);
            return watch->settled(std::move(result));
          }};
}

Tensors jacrev(const Function& f, const Tensors& primals, int64_t chunk_size) {
  const ValueAndPullback at = vjp(f, primals);
  const Tensor& out = only("jacrev", at.value);
  VmapOptions options;
  options.chunk_size = chunk_size;
  Tensors blocks;
  if (out.numel() > 0) blocks = vmap(at.pullback, options)({basis(out)});
  for (size_t p = 0; p < primals.size(); p++) {
    const DimVector sizes = joined(out.sizes(), primals[p].sizes());
    if (out.numel() > 0) blocks[p] = blocks[p].reshape(sizes);
    else blocks.push_back(cresset::zeros(sizes, out.options()));
  }
  return blocks;
}

Tensors jacfwd(const Function& f, const Tensors& primals, int64_t chunk_size) {
  Tensors blocks;
  for (size_t p = 0; p < primals.size(); p++) {
    Tensor columns, out;
    if (primals[p].numel() > 0) {
      Tensors tangents;
      for (const Tensor& t : primals) tangents.push_back(zeros_of(t));
      const auto along = [&](const Tensors& direction) {
        tangents[p] = direction[0];
        const ValueAndTangent at = jvp(f, primals, tangents);
        out = only("jacfwd", at.value);
        return at.tangent;
      };
      VmapOptions options;
      options.chunk_size = chunk_size;
      options.out_dims = {-1};
      columns = vmap(along, options)({basis(primals[p])})[0];
    } else {
      out = only("jacfwd", f(primals));
      columns = cresset::zeros(joined(out.sizes(), {0}), out.options());
    }
    blocks.push_back(columns.reshape(joined(out.sizes(), primals[p].sizes())));
  }
  return blocks;
}

std::vector<Tensors> hessian(const Function& f, const Tensors& primals) {
  std::vector<Tensors> rows;
  for (size_t i = 0; i < primals.size(); i++) rows.push_back(jacfwd([&, i](const Tensors& values) { return Tensors{func::grad(f, values)[i]}; }, primals));
  return rows;
}

ValueAndTangent hvp(const Function& f, const Tensors& primals, const Tensors& vectors) {
  check_like("hvp", "vectors", vectors, primals);
  Tensors product = jvp([&](const Tensors& values) { return func::grad(f, values); }, primals, vectors).tangent;
  return {f(primals), std::move(product)};
}

ValueAndTangent vhp(const Function& f, const Tensors& primals, const Tensors& vectors) {
  check_like("vhp", "vectors", vectors, primals);
  Tensors product = vjp([&](const Tensors& values) { return func::grad(f, values); }, primals).pullback(vectors);
  return {f(primals), std::move(product)};
}

}  // namespace cresset::func
