#include "cresset/transform/gradcheck.h"

#include <cmath>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/function.h"
#include "cresset/base/warning.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/conv/mkldnn.h"
#include "cresset/tensor.h"
#include "cresset/transform/vmap.h"

namespace cresset {
namespace autograd {

namespace {

using Numbers = std::vector<double>;

int components(const Tensor& t) { return t.is_complex() ? 2 : 1; }

// Those of a class of Python, which may have no memory of its own.
Numbers values_by_class(const Tensor& t) {
  const Tensor flat = t.reshape({-1});
  Numbers numbers(static_cast<size_t>(flat.numel()));
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = flat.select(0, static_cast<int64_t>(i)).item().to<double>();
  return numbers;
}
// The tensor as numbers one after another, complex ones as two.
Numbers values_of(const Tensor& t) {
  const Tensor dense = t.layout() == Layout::Strided ? t.detach() : t.detach().to_dense();
  const Tensor wide = dense.to(t.is_complex() ? kComplexDouble : kDouble).resolve_conj().resolve_neg().contiguous();
  if (dispatch::is_subclass(wide)) return values_by_class(wide.is_complex() ? view_as_real(wide) : wide);
  const double* p = static_cast<const double*>(wide.data_ptr());
  return Numbers(p, p + wide.numel() * components(t));
}

// The elements in memory, of a sparse tensor its values, as real numbers to write to without moving its version. Of a lazy conjugate the imaginary
// parts are those in memory: the negatives of the tensor's.
Tensor parts_of(const Tensor& t) {
  const Tensor held = t.layout() == Layout::Strided  ? t
                      : t.layout() == Layout::Mkldnn ? opaque_values(t)
                      : t.layout() == Layout::Sparse ? t.detach()._values()
                                                     : t.detach().values();
  const Tensor data = held.variable_data();
  return t.is_complex() ? view_as_real(data.is_conj() ? _conj(data) : data) : data;
}

// For each element that a sparse tensor holds its place in the dense one.
std::vector<int64_t> places_of(const Tensor& t) {
  std::vector<int64_t> places;
  if (t.layout() == Layout::Sparse) {
    int64_t width = 1;
    for (int64_t d = t.sparse_dim(); d < t.dim(); d++) width *= t.size(d);
    const Tensor indices = t.detach()._indices().contiguous();
    const int64_t* p = indices.const_data_ptr<int64_t>();
    for (int64_t k = 0; k < indices.size(1); k++) {
      int64_t first = 0;
      for (int64_t d = 0; d < t.sparse_dim(); d++) first = first * t.size(d) + p[d * indices.size(1) + k];
      for (int64_t i = 0; i < width; i++) places.push_back(first * width + i);
    }
    return places;
  }
  // The elements numbered, so that the dense tensor says where each of them is.
  const bool rows = t.layout() == Layout::SparseCsr || t.layout() == Layout::SparseBsr;
  const Tensor values = t.detach().values();
  const Tensor order = arange(1, values.numel() + 1, TensorOptions(kLong)).view(values.sizes());
  const Tensor dense = sparse_compressed_tensor(rows ? t.crow_indices() : t.ccol_indices(), rows ? t.col_indices() : t.row_indices(), order, t.sizes(),
                                                TensorOptions(kLong).layout(t.layout()))
                           .to_dense()
                           .contiguous();
  places.resize(static_cast<size_t>(values.numel()));
  for (int64_t i = 0; i < dense.numel(); i++)
    if (const int64_t k = dense.const_data_ptr<int64_t>()[i]) places[static_cast<size_t>(k - 1)] = i;
  return places;
}

// A gradient of `x` as numbers, of a sparse `x` those of the elements it holds; zeros for none.
Numbers of_input(const Tensor& grad, const Tensor& x) {
  const int parts = components(x);
  if (!grad.defined()) return Numbers(static_cast<size_t>(parts_of(x).numel()), 0);
  Numbers all = values_of(grad);
  if (x.layout() == Layout::Strided || x.layout() == Layout::Mkldnn) return all;
  Numbers held;
  for (const int64_t place : places_of(x))
    for (int part = 0; part < parts; part++) held.push_back(all[static_cast<size_t>(place * parts + part)]);
  return held;
}

// at(r, c): the derivative of number r of an output with respect to number c of an input.
struct Jacobian {
  Jacobian(size_t r, size_t c) : rows(r), columns(c), numbers(r * c) {}
  double& at(size_t r, size_t c) { return numbers[r * columns + c]; }
  double at(size_t r, size_t c) const { return numbers[r * columns + c]; }
  // A row for each number of the input.
  std::string str() const {
    if (numbers.size() > 64) return cresset::str("(", columns, " x ", rows, ")");
    std::string s = "[";
    for (size_t c = 0; c < columns; c++) {
      s += c ? ", [" : "[";
      for (size_t r = 0; r < rows; r++) s += cresset::str(r ? ", " : "", at(r, c));
      s += "]";
    }
    return s + "]";
  }

  size_t rows, columns;
  Numbers numbers;
};

using Values = std::vector<Numbers>;

// Calls `run` with each number of `input` moved to both sides: run(c) follows the moves of number c.
void for_each_move(const Tensor& input, double eps, const std::function<Values()>& run, const std::function<void(size_t, const Values&, const Values&)>& use) {
  const Tensor parts = parts_of(input);
  for (int64_t c = 0; c < parts.numel(); c++) {
    int64_t rest = c, offset = parts.storage_offset();
    for (int64_t d = parts.dim() - 1; d >= 0; d--) {
      offset += rest % parts.size(d) * parts.stride(d);
      rest /= parts.size(d);
    }
    const Tensor element = parts.as_strided({}, {}, offset);
    const Scalar before = element.item();
    const auto moved = [&](double step) {
      element.fill_(before.toDouble() + step);
      try {
        const Values values = run();
        element.fill_(before);
        return values;
      } catch (...) {
        element.fill_(before);
        throw;
      }
    };
    const double step = input.is_conj() && c % 2 == 1 ? -eps : eps;
    const Values above = moved(step), below = moved(-step);
    use(static_cast<size_t>(c), above, below);
  }
}

// Passes on what it is given, and no gradient back.
struct Undefined : Function<Undefined> {
  static variable_list forward(AutogradContext*, const variable_list& tensors) {
    variable_list views;
    for (const Tensor& t : tensors) views.push_back(t.view_as(t));
    return views;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return variable_list(grads.size()); }
};

variable_list differentiable(const variable_list& outputs) {
  variable_list chosen;
  for (const Tensor& out : outputs)
    if (out.defined() && out.requires_grad()) chosen.push_back(out);
  return chosen;
}

// One call of gradcheck.
class Check {
 public:
  Check(const CheckedFunction& fn, const variable_list& inputs, const GradcheckOptions& options) : fn_(fn), inputs_(inputs), options_(options) {
    for (size_t i = 0; i < inputs.size(); i++) {
      if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
      places_.push_back(i);
      sources_.push_back(inputs[i]);
    }
  }

  void run() {
    inputs_are_fit();
    const variable_list found = outputs();
    if (found.empty()) return is_constant();
    if (options_.check_forward_ad) forward();
    if (options_.check_batched_forward_grad) batched_forward();
    if (!options_.check_backward_ad) return;
    if (options_.fast_mode) projections(found);
    else jacobians(found);
    if (options_.check_batched_grad) batched();
    proportional();
    if (options_.check_undefined_grad) undefined();
  }

 private:
  void inputs_are_fit() const {
    CRESSET_CHECK_VALUE(!places_.empty(), "gradcheck: expected an input with requires_grad=True, got none");
    for (size_t s = 0; s < sources_.size(); s++) {
      const Tensor& x = sources_[s];
      if (x.scalar_type() != kDouble && x.scalar_type() != kComplexDouble)
        warn(str("gradcheck: input ", places_[s], " requires gradient and is not of double precision, got ", x.scalar_type(), "; the check will likely fail"));
      for (int64_t d = 0; x.layout() == Layout::Strided && d < x.dim(); d++)
        CRESSET_CHECK(x.size(d) <= 1 || x.stride(d) != 0, "gradcheck: input ", places_[s],
                      " has a dimension with stride 0, expected elements that do not share memory");
      x.retain_grad();
    }
  }

  variable_list outputs() const {
    variable_list found = differentiable(fn_(inputs_));
    for (const Tensor& out : found)
      CRESSET_CHECK_VALUE(out.layout() == Layout::Strided || out.layout() == Layout::Mkldnn,
                          "gradcheck: a sparse output has to be made dense by to_dense(masked_grad=...) in the function, got ", out.layout());
    return found;
  }

  // The outputs that require grad, or all where none does.
  Values values() const {
    const variable_list all = fn_(inputs_), chosen = differentiable(all);
    Values numbers;
    for (const Tensor& out : chosen.empty() ? all : chosen)
      if (out.defined()) numbers.push_back(values_of(out));
    return numbers;
  }

  // For each output its Jacobian with respect to `x`.
  std::vector<Jacobian> numerical(const Tensor& x) const {
    std::vector<Jacobian> found;
    const size_t columns = static_cast<size_t>(parts_of(x).numel());
    const auto use = [&](size_t c, const Values& above, const Values& below) {
      for (size_t o = 0; o < above.size(); o++) {
        if (found.size() <= o) found.emplace_back(above[o].size(), columns);
        for (size_t r = 0; r < found[o].rows; r++) found[o].at(r, c) = (above[o].at(r) - below.at(o).at(r)) / (2 * options_.eps);
      }
    };
    for_each_move(
        x, options_.eps, [&] { return values(); }, use);
    if (columns == 0)
      for (const Numbers& out : values()) found.emplace_back(out.size(), 0);
    return found;
  }

  void is_constant() const {
    for (size_t s = 0; s < sources_.size(); s++)
      for (const Jacobian& jacobian : numerical(sources_[s]))
        for (const double slope : jacobian.numbers)
          if (std::fabs(slope) > options_.atol)
            throw GradcheckError(str("gradcheck: no output requires grad, but by finite differences one depends on input ", places_[s]));
  }

  variable_list vjp(const Tensor& output, const Tensor& cotangent, bool check_dtypes) const {
    variable_list grads = grad({output}, sources_, {cotangent}, true, false, true);
    for (size_t s = 0; s < grads.size(); s++) {
      const Tensor &g = grads[s], &x = sources_[s];
      if (g.defined() && (g.sizes() != x.sizes() || (check_dtypes && g.scalar_type() != x.scalar_type())))
        throw GradcheckError(str("gradcheck: the gradient of input ", places_[s], " has shape ", g.sizes(), " and dtype ", g.scalar_type(), ", expected ",
                                 x.sizes(), ", ", x.scalar_type()));
    }
    return grads;
  }

  // For each input the Jacobian of one output.
  std::vector<Jacobian> analytical(const Tensor& output, bool check_dtypes) const {
    const int units = components(output);
    const size_t rows = static_cast<size_t>(output.numel() * units);
    std::vector<Jacobian> found;
    for (const Tensor& x : sources_) found.emplace_back(rows, static_cast<size_t>(parts_of(x).numel()));
    for (size_t r = 0; r < rows; r++) {
      const Tensor cotangent = zeros(output.sizes(), TensorOptions(output.scalar_type()));
      const Tensor parts = output.is_complex() ? view_as_real(cotangent) : cotangent;
      parts.view({-1}).select(0, static_cast<int64_t>(r)).fill_(1);
      const variable_list grads = vjp(output, cotangent, check_dtypes);
      for (size_t s = 0; s < grads.size(); s++) {
        const Numbers row = of_input(grads[s], sources_[s]);
        for (size_t c = 0; c < row.size(); c++) found[s].at(r, c) = row[c];
      }
    }
    return found;
  }

  void check_reentrant(const Numbers& first, const Numbers& second) const {
    for (size_t k = 0; k < first.size(); k++)
      if (std::fabs(first[k] - second[k]) > options_.nondeterministic_tol)
        throw GradcheckError(str("gradcheck: backward is not reentrant: two passes with the same input gave gradients that differ by more than ",
                                 options_.nondeterministic_tol));
  }

  // Whether an analytical derivative is near enough; NaN never is, the same infinity is.
  bool is_near(double a, double n) const { return a == n || std::fabs(a - n) <= options_.atol + options_.rtol * std::fabs(n); }

  void jacobians(const variable_list& found) const {
    std::vector<std::vector<Jacobian>> by_differences;
    for (const Tensor& x : sources_) by_differences.push_back(numerical(x));
    for (size_t o = 0; o < found.size(); o++) {
      const std::vector<Jacobian> by_backward = analytical(found[o], options_.check_grad_dtypes), again = analytical(found[o], false);
      for (size_t s = 0; s < sources_.size(); s++) check_reentrant(by_backward[s].numbers, again[s].numbers);
      for (size_t s = 0; s < sources_.size(); s++) compare(by_backward[s], by_differences[s].at(o), o, places_[s]);
    }
  }

  void compare(const Jacobian& a, const Jacobian& n, size_t output, size_t input) const {
    for (size_t r = 0; r < a.rows; r++)
      for (size_t c = 0; c < a.columns; c++)
        if (!is_near(a.at(r, c), n.at(r, c)))
          throw GradcheckError(str("gradcheck: Jacobian mismatch for output ", output, " with respect to input ", input, ", at [", c, ", ", r, "] numerical ",
                                   n.at(r, c), ", analytical ", a.at(r, c), "\nnumerical:\n", n.str(), "\nanalytical:\n", a.str(), "\n"));
  }

  // v @ Jacobian @ u for random u and v, of each pair.
  void projections(const variable_list& found) const {
    std::vector<Numbers> directions;
    std::vector<Values> slopes;
    for (const Tensor& x : sources_) {
      const Tensor parts = parts_of(x);
      Tensor u = rand({parts.numel()}, TensorOptions(kDouble)) + 0.1;
      if (u.numel() > 0) u = u / u.norm();
      directions.push_back(values_of(u));
      const Tensor kept = parts.clone(), step = (u * options_.eps).to(parts.scalar_type()).view(parts.sizes());
      if (x.is_conj()) step.select(-1, 1).neg_();
      const auto moved = [&](double sign) {
        parts.add_(step, sign);
        try {
          const Values numbers = values();
          parts.copy_(kept);
          return numbers;
        } catch (...) {
          parts.copy_(kept);
          throw;
        }
      };
      slopes.push_back(moved(1));
      const Values below = moved(-1);
      for (size_t o = 0; o < below.size(); o++)
        for (size_t r = 0; r < below[o].size(); r++) slopes.back()[o][r] = (slopes.back()[o][r] - below[o][r]) / (2 * options_.eps);
    }
    for (size_t o = 0; o < found.size(); o++) {
      const Tensor v = randn(found[o].sizes(), TensorOptions(found[o].scalar_type()));
      const variable_list grads = vjp(found[o], v, options_.check_grad_dtypes), again = vjp(found[o], v, false);
      const Numbers weights = values_of(v);
      for (size_t s = 0; s < sources_.size(); s++) {
        const Numbers g = of_input(grads[s], sources_[s]);
        check_reentrant(g, of_input(again[s], sources_[s]));
        compare_projected(g, directions[s], slopes[s].at(o), weights, o, places_[s]);
      }
    }
  }

  void compare_projected(const Numbers& grad, const Numbers& u, const Numbers& slopes, const Numbers& v, size_t output, size_t input) const {
    double a = 0, n = 0, u_sum = 0, v_sum = 0;
    for (size_t c = 0; c < u.size(); c++) {
      a += grad[c] * u[c];
      u_sum += std::fabs(u[c]);
    }
    for (size_t r = 0; r < v.size(); r++) {
      n += slopes[r] * v[r];
      v_sum += std::fabs(v[r]);
    }
    if (!(std::fabs(a - n) <= options_.atol * std::max(1.0, u_sum * v_sum) + options_.rtol * std::fabs(n)))
      throw GradcheckError(str("gradcheck: Jacobian mismatch for output ", output, " with respect to input ", input, " along random directions, numerical ", n,
                               ", analytical ", a, "; fast_mode=False shows the whole matrices"));
  }

  // The derivatives along random directions, of all outputs at once.
  void forward() const {
    variable_list directions;
    for (const Tensor& x : sources_) directions.push_back(randn(x.sizes(), TensorOptions(x.scalar_type())));
    const auto listed = [](variable_list list) {
      list.erase(std::remove_if(list.begin(), list.end(), [](const Tensor& t) { return !t.defined(); }), list.end());
      return list;
    };
    const auto at = [&](double step) {
      variable_list moved = inputs_;
      for (size_t s = 0; s < sources_.size(); s++) moved[places_[s]] = (sources_[s].detach() + directions[s] * step).requires_grad_();
      return listed(fn_(moved));
    };
    const variable_list above = at(options_.eps), below = at(-options_.eps);
    variable_list tangents;
    {
      const DualLevel level;
      variable_list duals = inputs_;
      for (size_t s = 0; s < sources_.size(); s++) duals[places_[s]] = make_dual(sources_[s].detach(), directions[s], level.number());
      for (const Tensor& out : listed(fn_(duals))) tangents.push_back(unpack_dual(out, level.number()).tangent);
    }
    for (size_t o = 0; o < tangents.size(); o++) {
      if (!above.at(o).requires_grad()) continue;
      Jacobian n(values_of(above[o]).size(), 1), a = n;
      const Numbers high = values_of(above[o]), low = values_of(below.at(o));
      if (tangents[o].defined()) a.numbers = values_of(tangents[o]);
      bool same = true;
      for (size_t r = 0; r < n.rows; r++) {
        n.at(r, 0) = (high[r] - low[r]) / (2 * options_.eps);
        same = same && is_near(a.at(r, 0), n.at(r, 0));
      }
      if (!same)
        throw GradcheckError(
            str("gradcheck: forward mode mismatch for output ", o, " along a random direction,\nnumerical:\n", n.str(), "\nanalytical:\n", a.str(), "\n"));
    }
  }

  // The tangents of all outputs along a direction of one input, zeros where there are none.
  variable_list tangents(size_t source, const Tensor& direction) const {
    const DualLevel level;
    variable_list at = inputs_, found;
    // In a batch of directions every input is one of the batch, so that the function may change it in place.
    for (size_t s = 0; s < sources_.size(); s++) at[places_[s]] = batched_as(sources_[s].detach(), direction);
    at[places_[source]] = make_dual(at[places_[source]], direction, level.number());
    for (const Tensor& out : fn_(at)) {
      if (!out.defined()) continue;
      const UnpackedDual dual = unpack_dual(out, level.number());
      found.push_back(dual.tangent.defined() ? dual.tangent : zeros_like(dual.primal));
    }
    return found;
  }

  void batched_forward() const {
    for (size_t s = 0; s < sources_.size(); s++) {
      DimVector sizes(sources_[s].sizes());
      sizes.insert(sizes.begin(), 2);
      const Tensor directions = randn(sizes, TensorOptions(sources_[s].scalar_type()));
      const variable_list first = tangents(s, directions[0]), second = tangents(s, directions[1]);
      const variable_list batch = func::vmap([&](const variable_list& d) { return tangents(s, d[0]); })({directions});
      for (size_t o = 0; o < batch.size(); o++)
        if (!allclose(batch[o], stack({first[o], second[o]})))
          throw GradcheckError(
              str("gradcheck: the batched derivative in forward mode of output ", o, " by input ", places_[s], " is not that of single passes"));
    }
  }

  void batched() const {
    const variable_list found = outputs();
    for (size_t o = 0; o < found.size(); o++) {
      DimVector sizes(found[o].sizes());
      sizes.insert(sizes.begin(), 2);
      const Tensor cotangents = randn(sizes, TensorOptions(found[o].scalar_type()));
      const auto dense = [&](variable_list grads) {
        for (size_t s = 0; s < grads.size(); s++)
          if (!grads[s].defined()) grads[s] = zeros_like(sources_[s].detach());
        return grads;
      };
      const variable_list first = dense(vjp(found[o], cotangents[0], false)), second = dense(vjp(found[o], cotangents[1], false));
      const variable_list batch = or_problem("gradcheck: backward cannot run on a batch of gradients, as vmap calls it", [&] {
        return func::vmap([&](const variable_list& c) { return dense(grad({found[o]}, sources_, c, true, false, true)); })({cotangents});
      });
      for (size_t s = 0; s < batch.size(); s++)
        if (!allclose(batch[s], stack({first[s], second[s]})))
          throw GradcheckError(str("gradcheck: the batched gradient of output ", o, " by input ", places_[s], " is not that of single passes"));
    }
  }

  // Runs `run`, in which an error is a problem of the function that is checked.
  static variable_list or_problem(const char* problem, const std::function<variable_list()>& run) {
    try {
      return run();
    } catch (const Error& error) { throw GradcheckError(str(problem, ": ", error.what())); } catch (...) {
      throw GradcheckError(problem);
    }
  }

  // Gradients are laid out like their inputs, and are zeros where those of the outputs are.
  void proportional() const {
    const variable_list found = outputs();
    variable_list cotangents;
    for (const Tensor& out : found) cotangents.push_back(zeros_like(out.detach()));
    const variable_list grads = grad(found, sources_, cotangents, true, false, true);
    for (size_t s = 0; s < grads.size(); s++) {
      const Tensor &g = grads[s], &x = sources_[s];
      if (!g.defined()) continue;
      if (g.layout() != Layout::Strided && g.layout() != x.layout())
        throw GradcheckError(str("gradcheck: the gradient of input ", places_[s], " has layout ", g.layout(), ", expected ", x.layout()));
      if (g.layout() == Layout::Sparse && (g.sparse_dim() != x.sparse_dim() || g.dense_dim() != x.dense_dim()))
        throw GradcheckError(str("gradcheck: the gradient of input ", places_[s], " has ", g.sparse_dim(), " sparse and ", g.dense_dim(),
                                 " dense dimensions, expected ", x.sparse_dim(), " and ", x.dense_dim()));
      for (const double number : values_of(g))
        if (number != 0)
          throw GradcheckError("gradcheck: backward is not multiplied by the gradients of outputs: they are zeros, and a gradient of an input is not");
    }
  }

  // Backward gets no gradient for all, then for each of the outputs.
  void undefined() const {
    const size_t count = outputs().size();
    for (size_t k = 0; k <= (count > 1 ? count : 0); k++) {
      variable_list found = outputs(), hidden, cotangents;
      if (k == 0) found = Undefined::apply(found);
      else found[k - 1] = Undefined::apply(variable_list{found[k - 1]})[0];
      for (const Tensor& out : found) cotangents.push_back(zeros_like(out.detach()));
      const variable_list grads =
          or_problem("gradcheck: expected the backward function to handle undefined output gradients; take care of None with set_materialize_grads(False)",
                     [&] { return grad(found, sources_, cotangents, std::nullopt, false, true); });
      for (const Tensor& g : grads)
        if (g.defined())
          for (const double number : values_of(g))
            if (number != 0) throw GradcheckError("gradcheck: expected all input gradients to be undefined or zero when all output gradients are");
    }
  }

  const CheckedFunction& fn_;
  const variable_list& inputs_;
  const GradcheckOptions& options_;
  std::vector<size_t> places_;
  variable_list sources_;
};

// Numbers without a pattern that leave the generators alone.
Tensor made_up_like(const Tensor& t, uint32_t seed, bool gaps) {
  const Tensor flat = empty({t.numel() * components(t)}, TensorOptions(kDouble));
  uint32_t state = seed;
  for (int64_t k = 0; k < flat.numel(); k++) {
    state = state * 1664525u + 1013904223u;
    flat.mutable_data_ptr<double>()[k] = static_cast<double>(state >> 8) / (1 << 23) - 1.0;
  }
  const Tensor value = (t.is_complex() ? view_as_complex(flat.view({-1, 2})) : flat).to(t.scalar_type()).view(t.sizes());
  return gaps ? stack({value, value}, -1).select(-1, 0) : value;
}

}  // namespace

bool gradcheck(const CheckedFunction& fn, const variable_list& inputs, const GradcheckOptions& options) {
  CRESSET_CHECK_VALUE(options.check_forward_ad || options.check_backward_ad, "gradcheck: expected check_forward_ad or check_backward_ad, got neither");
  CRESSET_CHECK_VALUE(!options.check_batched_grad || options.check_backward_ad, "gradcheck: check_batched_grad needs check_backward_ad");
  CRESSET_CHECK_VALUE(!options.check_batched_forward_grad || options.check_forward_ad, "gradcheck: check_batched_forward_grad needs check_forward_ad");
  const AutoGradMode record(true);
  try {
    Check(fn, inputs, options).run();
  } catch (const GradcheckError&) {
    if (options.raise_exception) throw;
    return false;
  }
  return true;
}

bool gradgradcheck(const CheckedFunction& fn, const variable_list& inputs, const variable_list& grad_outputs, const GradcheckOptions& options) {
  const AutoGradMode record(true);
  variable_list weights = grad_outputs;
  if (weights.empty()) {
    uint32_t seed = 1;
    for (const Tensor& out : differentiable(fn(inputs))) weights.push_back(made_up_like(out, seed++, options.gen_non_contig_grad_outputs).requires_grad_());
  }
  const auto gradients = [&fn, &inputs](const variable_list& all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(inputs.size());
    variable_list arguments(all.begin(), middle), checked, defined;
    const variable_list given(middle, all.end());
    for (size_t i = 0; i < inputs.size(); i++) {
      Tensor& x = arguments[i];
      // Dual tensors come without requires_grad.
      if (x.defined() && !x.requires_grad() && inputs[i].requires_grad() && (x.is_floating_point() || x.is_complex())) x = without_history(x).requires_grad_();
      if (x.defined() && x.requires_grad()) checked.push_back(x);
    }
    for (const Tensor& g : grad(differentiable(fn(arguments)), checked, given, std::nullopt, true, true))
      if (g.defined()) defined.push_back(g);
    return defined;
  };
  variable_list all = inputs;
  all.insert(all.end(), weights.begin(), weights.end());
  return gradcheck(gradients, all, options);
}

variable_list numerical_jacobian(const std::function<variable_list()>& fn, const Tensor& input, double eps) {
  const auto run = [&] {
    Values numbers;
    for (const Tensor& out : fn()) numbers.push_back(values_of(out));
    return numbers;
  };
  variable_list found;
  const int64_t columns = parts_of(input).numel();
  for (const Numbers& out : run()) found.push_back(zeros({static_cast<int64_t>(out.size()), columns}, TensorOptions(kDouble)));
  for_each_move(input, eps, run, [&](size_t c, const Values& above, const Values& below) {
    for (size_t o = 0; o < found.size(); o++)
      for (size_t r = 0; r < above[o].size(); r++)
        found[o].mutable_data_ptr<double>()[r * static_cast<size_t>(columns) + c] = (above[o][r] - below[o][r]) / (2 * eps);
  });
  return found;
}

}  // namespace autograd
}  // namespace cresset
