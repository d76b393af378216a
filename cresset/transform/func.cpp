#include "cresset/transform/func.h"

#include <algorithm>
#include <memory>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/saved/unheard.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/func_aux.h"
#include "cresset/transform/vmap.h"

namespace cresset::func {

namespace {

Tensor zeros_of(const Tensor& t) { return cresset::zeros(t.sizes(), t.options()); }

// A tensor without its history, or with it as another object, which is the transform's own affair: listeners do not hear of it.
Tensor quietly(Tensor (*make)(const Tensor&), const Tensor& t) {
  const dispatch::ListenScope quiet(dispatch::ListenPlace::below_autograd, nullptr);
  return make(t);
}

// Leaves with respect to which a transform differentiates.
struct Watch {
  explicit Watch(const Tensors& primals) : outside(GradMode::is_enabled()) {
    const AutoGradMode record(true);
    for (const Tensor& primal : primals) {
      const Tensor t = batched_at_all_levels(primal);
      leaves.push_back(t.requires_grad() ? quietly(cresset::alias, t) : quietly(autograd::without_history, t).requires_grad_());
      if (leaves.back().is_leaf()) own.push_back(leaves.back());
    }
  }
  bool depends_on_others(const Tensors& tensors) const { return outside && autograd::depends_on_others(tensors, own); }

  // Results without the history that only this transform has given them; without any if nothing outside is recorded.
  Tensors settled(Tensors tensors) const { return settled(std::move(tensors), outside); }
  Tensors settled(Tensors tensors, bool recorded) const {
    for (Tensor& t : tensors)
      if (t.requires_grad() && !(recorded && autograd::depends_on_others({t}, own))) t = quietly(autograd::without_history, t);
    return tensors;
  }

  // The gradients of the leaves, zeros where there are none.
  Tensors pull(const Tensors& outputs, const Tensors& vectors, bool retain_graph, bool create_graph) const {
    Tensors from, along;
    for (size_t i = 0; i < outputs.size(); i++)
      if (outputs[i].requires_grad()) {
        from.push_back(outputs[i]);
        along.push_back(vectors[i]);
      }
    Tensors grads(leaves.size());
    const autograd::KeptUnheard kept;
    if (!from.empty()) grads = autograd::grad(from, leaves, along, retain_graph, create_graph, true);
    for (size_t i = 0; i < grads.size(); i++)
      if (!grads[i].defined()) grads[i] = zeros_of(leaves[i]);
    return grads;
  }

  Tensors leaves, own;
  bool outside;
};

Results run_recorded(const AuxFunction& f, const Tensors& arguments) {
  const AutoGradMode record(true);
  const autograd::KeptUnheard kept;
  return f(arguments);
}

bool any_requires_grad(const Tensors& tensors) {
  return GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.requires_grad(); });
}

// `what` are vectors or tangents, `whose` says of which shapes.
void check_like(const char* op, const char* what, const char* whose, const Tensors& vectors, const Tensors& like) {
  CRESSET_CHECK(vectors.size() == like.size(), op, ": expected ", like.size(), " ", what, "s, got ", vectors.size());
  for (size_t i = 0; i < like.size(); i++)
    CRESSET_CHECK(vectors[i].sizes() == like[i].sizes(), op, ": expected ", what, " ", i, " of the ", whose, "'s shape ", like[i].sizes(), ", got ",
                  vectors[i].sizes());
}

template <class T> const T& only(const char* op, const std::vector<T>& results) {
  CRESSET_CHECK(results.size() == 1, op, ": expected a function with one result, got ", results.size());
  return results[0];
}

DimVector joined(IntArrayRef a, IntArrayRef b) {
  DimVector all(a);
  for (const int64_t n : b) all.push_back(n);
  return all;
}

// Forward mode runs within it, also where it is turned off around it.
class ForwardMode {
 public:
  ForwardMode() { autograd::set_forward_mode_enabled(true); }
  ~ForwardMode() { autograd::set_forward_mode_enabled(before_); }
  ForwardMode(const ForwardMode&) = delete;
  ForwardMode& operator=(const ForwardMode&) = delete;

 private:
  const bool before_ = autograd::is_forward_mode_enabled();
};

}  // namespace

// ---- with aux --------------------------------------------------------------------------------------------------------------

Tangents jvp(const AuxFunction& f, const Tensors& primals, const Tensors& tangents, bool strict) {
  check_like("jvp", "tangent", "primal", tangents, primals);
  const ForwardMode enabled;
  const autograd::DualLevel level;
  Tensors duals;
  for (size_t i = 0; i < primals.size(); i++) duals.push_back(autograd::make_dual(primals[i], tangents[i], level.number()));
  Tangents found;
  Results results = f(duals);
  for (const Tensor& out : results.values) {
    autograd::UnpackedDual dual = autograd::unpack_dual(out, level.number());
    CRESSET_CHECK(!strict || dual.tangent.defined(), "jvp: the output is independent of the inputs, which strict=True does not allow");
    found.tangent.push_back(dual.tangent.defined() ? dual.tangent : zeros_of(dual.primal));
    found.results.values.push_back(std::move(dual.primal));
  }
  for (const Tensor& t : results.aux) found.results.aux.push_back(autograd::unpack_dual(t, level.number()).primal);
  return found;
}

Pullback vjp(const AuxFunction& f, const Tensors& primals) {
  const auto watch = std::make_shared<const Watch>(primals);
  const Results results = run_recorded(f, watch->leaves);
  const Tensors& outputs = results.values;
  const auto pull = [watch, outputs](const Tensors& vectors, bool retain_graph, std::optional<bool> create_graph) {
    check_like("vjp", "vector", "output", vectors, outputs);
    // Whether the product is recorded is decided where it is asked for, not where the function ran.
    const bool recorded = GradMode::is_enabled();
    const bool create = create_graph ? *create_graph : any_requires_grad(vectors) || (recorded && autograd::depends_on_others(outputs, watch->own));
    return watch->settled(watch->pull(outputs, vectors, retain_graph, create), recorded);
  };
  return {{watch->settled(outputs), watch->settled(results.aux)}, pull};
}

Gradient grad_and_value(const AuxFunction& f, const Tensors& primals) {
  const Watch watch(primals);
  const Results results = run_recorded(f, watch.leaves);
  const Tensor& value = only("grad_and_value", results.values);
  CRESSET_CHECK(value.dim() == 0, "grad_and_value: expected the function to return a scalar tensor, got one with ", value.dim(),
                " dims; use vjp or jacrev for other shapes");
  Tensors gradient = watch.settled(watch.pull(results.values, {Tensor()}, true, watch.depends_on_others(results.values)));
  return {std::move(gradient), {watch.settled(results.values), watch.settled(results.aux)}};
}

namespace {

// Unit vectors `start` to `stop` of all numbers of `tensors` in order: for each tensor its part of them, the vectors first.
Tensors bases(const Tensors& tensors, int64_t start, int64_t stop) {
  Tensors parts;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    const TensorOptions longs = TensorOptions(kLong).device(t.device());
    const Tensor rows = cresset::arange(start - at, stop - at, longs).unsqueeze(1);
    parts.push_back((rows == cresset::arange(t.numel(), longs)).to(t.scalar_type()).view(joined({stop - start}, t.sizes())));
    at += t.numel();
  }
  return parts;
}

// `f` of every unit vector of `tensors`, whose parts it takes: for each of its results the results, stacked.
Tensors pushed(const Function& f, const Tensors& tensors, const JacobianOptions& options) {
  int64_t count = 0;
  for (const Tensor& t : tensors) count += t.numel();
  const int64_t step = options.chunk_size ? options.chunk_size : count;
  VmapOptions batch;
  batch.randomness = options.randomness;
  // Of one at a time the function itself: what cannot run on a batch runs there.
  const Function of_one = [&f](const Tensors& rows) {
    Tensors row;
    for (const Tensor& t : rows) row.push_back(t[0]);
    Tensors results = f(row);
    for (Tensor& t : results) t = t.unsqueeze(0);
    return results;
  };
  const Function of_batch = options.chunk_size == 1 ? of_one : vmap(f, batch);
  Tensors whole;
  std::vector<Tensors> chunks;
  for (int64_t at = 0; at < count; at += step) {
    Tensors rows = of_batch(bases(tensors, at, std::min(at + step, count)));
    if (!options.preallocate) {
      chunks.resize(rows.size());
      for (size_t i = 0; i < rows.size(); i++) chunks[i].push_back(std::move(rows[i]));
      continue;
    }
    for (size_t i = 0; i < rows.size(); i++) {
      if (at == 0) whole.push_back(rows[i].new_zeros(joined({count}, rows[i].sizes().slice(1))));
      whole[i].narrow(0, at, rows[i].size(0)).copy_(rows[i]);
    }
  }
  for (const Tensors& parts : chunks) whole.push_back(parts.size() > 1 ? cresset::cat(parts) : parts[0]);
  return whole;
}

bool has_numbers(const Tensors& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.numel() > 0; });
}

void check_real(const char* op, const Tensors& tensors, const char* kind) {
  for (size_t i = 0; i < tensors.size(); i++)
    CRESSET_CHECK(!tensors[i].is_complex(), op, ": expected all ", kind, "s to be real, got a complex tensor as ", kind, " ", i,
                  "; use view_as_real() and view_as_complex()");
}

}  // namespace

Jacobians jacrev(const AuxFunction& f, const Tensors& primals, const JacobianOptions& options) {
  CRESSET_CHECK_VALUE(options.chunk_size >= 0, "jacrev: chunk_size must be positive, got ", options.chunk_size);
  check_real("jacrev", primals, "input");
  const Pullback at = vjp(f, primals);
  const Tensors& outputs = at.results.values;
  check_real("jacrev", outputs, "output");
  const auto pull = [&](const Tensors& vectors) { return at.pull(vectors, true, std::nullopt); };
  const Tensors rows = has_numbers(outputs) ? pushed(pull, outputs, options) : Tensors();
  Jacobians found{{}, at.results.aux};
  int64_t first = 0;
  for (const Tensor& out : outputs) {
    Tensors blocks;
    for (size_t p = 0; p < primals.size(); p++) {
      const DimVector sizes = joined(out.sizes(), primals[p].sizes());
      blocks.push_back(out.numel() > 0 ? rows[p].narrow(0, first, out.numel()).reshape(sizes) : primals[p].new_zeros(sizes));
    }
    found.blocks.push_back(std::move(blocks));
    first += out.numel();
  }
  return found;
}

Jacobians jacfwd(const AuxFunction& f, const Tensors& primals, const JacobianOptions& options) {
  check_real("jacfwd", primals, "input");
  Tensors outputs, columns, aux;
  const auto along = [&](const Tensors& directions) {
    Tangents at = jvp(f, primals, directions, false);
    outputs = std::move(at.results.values);
    check_real("jacfwd", outputs, "output");
    at.tangent.insert(at.tangent.end(), at.results.aux.begin(), at.results.aux.end());
    return at.tangent;
  };
  if (has_numbers(primals)) {
    columns = pushed(along, primals, options);
    for (size_t i = outputs.size(); i < columns.size(); i++) aux.push_back(columns[i][0]);
  } else {
    Results results = f(primals);
    outputs = std::move(results.values);
    aux = std::move(results.aux);
  }
  Jacobians found{{}, std::move(aux)};
  for (size_t o = 0; o < outputs.size(); o++) {
    const DimVector shape(columns.empty() ? outputs[o].sizes() : columns[o].sizes().slice(1));
    Tensors blocks;
    int64_t first = 0;
    for (const Tensor& primal : primals) {
      const int64_t n = primal.numel();
      const Tensor part = n > 0 ? columns[o].narrow(0, first, n).movedim(0, -1) : outputs[o].new_zeros(joined(shape, {0}));
      blocks.push_back(part.reshape(joined(shape, primal.sizes())));
      first += n;
    }
    found.blocks.push_back(std::move(blocks));
  }
  return found;
}

// ---- without ---------------------------------------------------------------------------------------------------------------

namespace {

AuxFunction plain(const Function& f) {
  return [f](const Tensors& arguments) { return Results{f(arguments), {}}; };
}

}  // namespace

ValueAndTangent jvp(const Function& f, const Tensors& primals, const Tensors& tangents) {
  Tangents at = jvp(plain(f), primals, tangents, false);
  return {std::move(at.results.values), std::move(at.tangent)};
}

ValueAndPullback vjp(const Function& f, const Tensors& primals) {
  Pullback at = vjp(plain(f), primals);
  return {std::move(at.results.values), [pull = std::move(at.pull)](const Tensors& vectors) { return pull(vectors, true, std::nullopt); }};
}

GradientAndValue grad_and_value(const Function& f, const Tensors& primals) {
  Gradient at = grad_and_value(plain(f), primals);
  return {std::move(at.gradient), at.results.values[0]};
}

Tensors grad(const Function& f, const Tensors& primals) { return grad_and_value(f, primals).gradient; }

ValueAndDerivative linearize(const Function& f, const Tensors& primals) {
  const auto watch = std::make_shared<const Watch>(primals);
  const Tensors outputs = run_recorded(plain(f), watch->leaves).values;
  // The gradient is linear in what comes in; its own gradient with respect to that is the derivative.
  Tensors incoming, gradients;
  {
    const AutoGradMode record(true);
    for (const Tensor& out : outputs) incoming.push_back(zeros_of(out).requires_grad_());
    gradients = watch->pull(outputs, incoming, true, true);
  }
  return {watch->settled(outputs), [watch, outputs, incoming, gradients](const Tensors& tangents) {
            check_like("linearize", "tangent", "primal", tangents, watch->leaves);
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

namespace {

JacobianOptions in_chunks(int64_t chunk_size) {
  JacobianOptions options;
  options.chunk_size = chunk_size;
  return options;
}

}  // namespace

Tensors jacrev(const Function& f, const Tensors& primals, int64_t chunk_size) {
  return only("jacrev", jacrev(plain(f), primals, in_chunks(chunk_size)).blocks);
}

Tensors jacfwd(const Function& f, const Tensors& primals, int64_t chunk_size) {
  return only("jacfwd", jacfwd(plain(f), primals, in_chunks(chunk_size)).blocks);
}

std::vector<Tensors> hessian(const Function& f, const Tensors& primals) {
  std::vector<Tensors> rows;
  for (size_t i = 0; i < primals.size(); i++) rows.push_back(jacfwd([&, i](const Tensors& values) { return Tensors{func::grad(f, values)[i]}; }, primals));
  return rows;
}

ValueAndTangent hvp(const Function& f, const Tensors& primals, const Tensors& vectors) {
  check_like("hvp", "vector", "primal", vectors, primals);
  Tensors product = jvp([&](const Tensors& values) { return func::grad(f, values); }, primals, vectors).tangent;
  return {f(primals), std::move(product)};
}

ValueAndTangent vhp(const Function& f, const Tensors& primals, const Tensors& vectors) {
  check_like("vhp", "vector", "primal", vectors, primals);
  Tensors product = vjp([&](const Tensors& values) { return func::grad(f, values); }, primals).pullback(vectors);
  return {f(primals), std::move(product)};
}

}  // namespace cresset::func
