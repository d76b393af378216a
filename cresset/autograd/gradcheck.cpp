#include "cresset/autograd/gradcheck.h"

#include <cmath>

#include "cresset/autograd/autograd.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

namespace {

// Thrown on a mismatch and turned into `false` if that is what the caller wants.
class Mismatch : public Error {
 public:
  using Error::Error;
};

bool is_checked(const Tensor& t) { return t.defined() && t.requires_grad(); }

// The tensor as numbers one after another, complex ones as two.
std::vector<double> values_of(const Tensor& t) {
  const Tensor dense = t.detach().to(t.is_complex() ? kComplexDouble : kDouble).resolve_conj().contiguous();
  const double* p = static_cast<const double*>(dense.data_ptr());
  return std::vector<double>(p, p + dense.numel() * (t.is_complex() ? 2 : 1));
}

int64_t count_of(const Tensor& t) { return t.numel() * (t.is_complex() ? 2 : 1); }

// Where number k of `values_of(t)` lives.
double* place_of(const Tensor& t, int64_t k) {
  const int parts = t.is_complex() ? 2 : 1;
  int64_t rest = k / parts, at = 0;
  for (int64_t d = t.dim() - 1; d >= 0; d--) {
    at += rest % t.size(d) * t.stride(d);
    rest /= t.size(d);
  }
  return static_cast<double*>(t.data_ptr()) + at * parts + k % parts;
}

void check_inputs(const variable_list& inputs) {
  bool any = false;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Tensor& t = inputs[i];
    if (!is_checked(t)) continue;
    any = true;
    CRESSET_CHECK_VALUE(t.scalar_type() == kDouble || t.scalar_type() == kComplexDouble, "gradcheck: input ", i, " has dtype ", t.scalar_type(),
                        ", expected float64 or complex128, as finite differences need the precision");
    CRESSET_CHECK_VALUE(t.is_cpu(), "gradcheck: input ", i, " is on ", t.device(), ", expected cpu");
    for (int64_t d = 0; d < t.dim(); d++)
      CRESSET_CHECK(t.size(d) <= 1 || t.stride(d) != 0, "gradcheck: input ", i, " has a dimension with stride 0, so that its elements share memory");
  }
  CRESSET_CHECK_VALUE(any, "gradcheck: expected at least one input to require grad, got none");
}

// jacobian[row of output][column of input], rows and columns being real numbers.
struct Jacobian {
  Jacobian(int64_t r, int64_t c) : rows(r), columns(c), at(static_cast<size_t>(r * c)) {}
  double& operator()(int64_t r, int64_t c) { return at[static_cast<size_t>(r * columns + c)]; }
  double operator()(int64_t r, int64_t c) const { return at[static_cast<size_t>(r * columns + c)]; }
  std::string str() const {
    if (rows * columns > 64) return "(" + std::to_string(rows) + " x " + std::to_string(columns) + ")";
    std::string s = "[";
    for (int64_t r = 0; r < rows; r++) {
      s += r ? ", [" : "[";
      for (int64_t c = 0; c < columns; c++) s += cresset::str(c ? ", " : "", (*this)(r, c));
      s += "]";
    }
    return s + "]";
  }

  int64_t rows, columns;
  std::vector<double> at;
};

// One Jacobian for each output.
std::vector<Jacobian> numerical_jacobians(const CheckedFunction& fn, const variable_list& inputs, const Tensor& input, const variable_list& outputs,
                                          double eps) {
  std::vector<Jacobian> result;
  for (const Tensor& out : outputs) result.emplace_back(out.defined() ? count_of(out) : 0, count_of(input));
  auto run = [&] {
    std::vector<std::vector<double>> values;
    for (const Tensor& out : fn(inputs)) values.push_back(out.defined() ? values_of(out) : std::vector<double>());
    return values;
  };
  for (int64_t c = 0; c < count_of(input); c++) {
    double* place = place_of(input, c);
    const double original = *place;
    *place = original + eps;
    const auto above = run();
    *place = original - eps;
    const auto below = run();
    *place = original;
    for (size_t k = 0; k < outputs.size(); k++)
      for (int64_t r = 0; r < result[k].rows; r++) result[k](r, c) = (above[k][static_cast<size_t>(r)] - below[k][static_cast<size_t>(r)]) / (2 * eps);
  }
  return result;
}

// One Jacobian for each checked input.
std::vector<Jacobian> analytical_jacobians(const Tensor& output, const variable_list& checked) {
  std::vector<Jacobian> result;
  for (const Tensor& in : checked) result.emplace_back(count_of(output), count_of(in));
  for (int64_t r = 0; r < count_of(output); r++) {
    const Tensor direction = cresset::zeros(output.sizes(), output.options());
    *place_of(direction, r) = 1;
    const variable_list grads = grad({output}, checked, {direction}, true, false, true);
    for (size_t i = 0; i < checked.size(); i++) {
      if (!grads[i].defined()) continue;
      const Tensor& g = grads[i];
      if (g.scalar_type() != checked[i].scalar_type() || g.sizes() != checked[i].sizes())
        throw Mismatch(str("gradcheck: the gradient for an input is ", g, ", expected one like ", checked[i]));
      const std::vector<double> row = values_of(g);
      for (int64_t c = 0; c < result[i].columns; c++) result[i](r, c) = row[static_cast<size_t>(c)];
    }
  }
  return result;
}

void compare(const Jacobian& analytical, const Jacobian& numerical, size_t output, size_t input, const GradcheckOptions& options) {
  for (int64_t r = 0; r < numerical.rows; r++)
    for (int64_t c = 0; c < numerical.columns; c++) {
      const double a = analytical(r, c), n = numerical(r, c);
      // Written so that NaN fails, unless both are NaN or the same infinity.
      if (std::fabs(a - n) <= options.atol + options.rtol * std::fabs(n) || a == n || (std::isnan(a) && std::isnan(n))) continue;
      throw Mismatch(str("gradcheck: the Jacobian of output ", output, " with respect to input ", input, " is wrong at [", r, ", ", c, "]: analytical ", a,
                         ", numerical ", n, "\nanalytical: ", analytical.str(), "\nnumerical: ", numerical.str()));
    }
}

void check_deterministic(const Jacobian& first, const Jacobian& second, size_t output, size_t input, const GradcheckOptions& options) {
  for (size_t k = 0; k < first.at.size(); k++)
    if (std::fabs(first.at[k] - second.at[k]) > options.nondeterministic_tol)
      throw Mismatch(str("gradcheck: two backward passes of output ", output, " with respect to input ", input, " differ by ",
                         std::fabs(first.at[k] - second.at[k]), ", nondeterministic_tol is ", options.nondeterministic_tol));
}

void run_gradcheck(const CheckedFunction& fn, const variable_list& inputs, const GradcheckOptions& options) {
  check_inputs(inputs);
  AutoGradMode record(true);
  const variable_list outputs = fn(inputs);
  variable_list checked;
  std::vector<size_t> positions;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!is_checked(inputs[i])) continue;
    checked.push_back(inputs[i]);
    positions.push_back(i);
  }
  std::vector<std::vector<Jacobian>> numerical;
  for (const Tensor& in : checked) numerical.push_back(numerical_jacobians(fn, inputs, in, outputs, options.eps));
  bool any = false;
  for (size_t k = 0; k < outputs.size(); k++) {
    const Tensor& out = outputs[k];
    if (!out.defined() || !is_differentiable_type(out.scalar_type())) continue;
    if (!out.requires_grad()) {
      for (size_t i = 0; i < checked.size(); i++) compare(Jacobian(count_of(out), count_of(checked[i])), numerical[i][k], k, positions[i], options);
      continue;
    }
    any = true;
    const auto analytical = analytical_jacobians(out, checked);
    const auto again = analytical_jacobians(out, checked);
    for (size_t i = 0; i < checked.size(); i++) {
      compare(analytical[i], numerical[i][k], k, positions[i], options);
      check_deterministic(analytical[i], again[i], k, positions[i], options);
    }
  }
  if (!any) {
    for (const Tensor& out : outputs)
      if (out.defined() && is_differentiable_type(out.scalar_type())) return;
    throw Mismatch("gradcheck: no output is differentiable");
  }
}

// Numbers without a pattern that leave the generators alone.
Tensor made_up_like(const Tensor& t, uint32_t seed) {
  Tensor out = cresset::zeros(t.sizes(), t.options());
  uint32_t state = seed;
  for (int64_t k = 0; k < count_of(out); k++) {
    state = state * 1664525u + 1013904223u;
    *place_of(out, k) = static_cast<double>(state >> 8) / (1 << 23) - 1.0;
  }
  return out;
}

}  // namespace

bool gradcheck(const CheckedFunction& fn, const variable_list& inputs, const GradcheckOptions& options) {
  if (options.raise_exception) {
    run_gradcheck(fn, inputs, options);
    return true;
  }
  try {
    run_gradcheck(fn, inputs, options);
  } catch (const Error&) { return false; }
  return true;
}

bool gradgradcheck(const CheckedFunction& fn, const variable_list& inputs, const variable_list& grad_outputs, const GradcheckOptions& options) {
  AutoGradMode record(true);
  check_inputs(inputs);
  variable_list weights = grad_outputs;
  if (weights.empty()) {
    uint32_t seed = 1;
    for (const Tensor& out : fn(inputs))
      if (out.defined() && out.requires_grad()) weights.push_back(made_up_like(out, seed++).requires_grad_());
  }
  const size_t count = inputs.size();
  auto gradients = [&fn, count](const variable_list& all) {
    const variable_list arguments(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    const variable_list given(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
    variable_list outputs, checked, defined;
    for (const Tensor& out : fn(arguments))
      if (out.defined() && out.requires_grad()) outputs.push_back(out);
    for (const Tensor& in : arguments)
      if (is_checked(in)) checked.push_back(in);
    for (const Tensor& g : grad(outputs, checked, given, true, true, true))
      if (g.defined()) defined.push_back(g);
    return defined;
  };
  variable_list all = inputs;
  all.insert(all.end(), weights.begin(), weights.end());
  return gradcheck(gradients, all, options);
}

}  // namespace autograd
}  // namespace cresset
