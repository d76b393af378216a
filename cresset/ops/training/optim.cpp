// Steps of optimizers. Each rule stands once, for numbers and, in differentiable steps, for tensors in their place; four of them
// also as a kernel that passes once over memory, with the same roundings.

#include <algorithm>
#include <cmath>

#include "cresset/core/layers.h"
#include "cresset/dispatch/parts.h"
#include "cresset/kernels/training/optim.h"
#include "cresset/ops/bodies_optim.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/lists.h"

namespace cresset::ops {

namespace {

// ---- numbers that may be tensors without dimensions ---------------------------------------------------------------------

double root(double x) { return std::sqrt(x); }
Tensor root(const Tensor& x) { return x.sqrt(); }
double power(double x, double exponent) { return std::pow(x, exponent); }
Tensor power(const Tensor& x, double exponent) { return x.pow(exponent); }
double value(double x) { return x; }
double value(const Tensor& x) { return x.item<double>(); }

// A rate that a program gave as a number comes as a wrapped one. Rules compute with it in double precision, as Python does with the number; only
// where PyTorch's step takes a state in place of a number, the state's precision is that of the result.
bool is_number(double) { return true; }
bool is_number(const Tensor& rate) { return rate.impl()->is_wrapped_number(); }
double plain(double x) { return x; }
Tensor plain(const Tensor& rate) { return is_number(rate) ? cresset::full({}, rate.item<double>(), kDouble) : rate; }
Tensor power_with_state(const Tensor& rate, const Tensor& count) { return is_number(rate) ? cresset::pow(rate.item(), count) : rate.pow(count); }
double scaled(double state, double x, bool) { return state * x; }
Tensor scaled(const Tensor& state, const Tensor& x, bool number) { return number ? state.mul(x.item()) : state * x; }
// x / y, where x is a number or made of numbers and y of a state. A number over a tensor is a product with its reciprocal.
double over_state(double x, bool, double y) { return x / y; }
Tensor over_state(const Tensor& x, bool number, const Tensor& y) { return number ? y.reciprocal().mul(x.item()) : x / y; }

// Where a dispatch mode hears the parts, rules go by the operators that PyTorch's steps are made of: numbers are tensors without dimensions there.
void scale(const Tensor& t, double by) { dispatch::wants_parts() ? t.mul_(wrapped_scalar_tensor(by)) : t.mul_(by); }
void scale(const Tensor& t, const Tensor& by) { t.mul_(by); }
// The root of a square, over a number, and eps.
Tensor root_over(const Tensor& square, double by, double eps) {
  return dispatch::wants_parts() ? (square.sqrt() / wrapped_scalar_tensor(by)).add_(wrapped_scalar_tensor(eps)) : (square.sqrt() / by).add_(eps);
}

// t += weight * a, a new tensor or in place.
Tensor plus_scaled(const Tensor& t, const Tensor& a, double weight) { return t.add(a, weight); }
// A copy of `a`, which autograd saves, since parameters and buffers are written later.
Tensor plus_scaled(const Tensor& t, const Tensor& a, const Tensor& weight) { return t + a.clone() * weight; }
void add_scaled(const Tensor& t, const Tensor& a, double weight) { t.add_(a, weight); }
void add_scaled(const Tensor& t, const Tensor& a, const Tensor& weight) { t.add_(a * weight); }
// t += weight * a * b
void add_product(const Tensor& t, const Tensor& a, const Tensor& b, double weight) { t.addcmul_(a, b, weight); }
void add_product(const Tensor& t, const Tensor& a, const Tensor& b, const Tensor& weight) { t.add_(a * b * weight); }
// t += weight * a / b
void add_quotient(const Tensor& t, const Tensor& a, const Tensor& b, double weight) { t.addcdiv_(a, b, weight); }
void add_quotient(const Tensor& t, const Tensor& a, const Tensor& b, const Tensor& weight) { t.add_(a / b * weight); }
// t += weight * (end - t)
void approach(const Tensor& t, const Tensor& end, double weight) { t.lerp_(end, weight); }
void approach(const Tensor& t, const Tensor& end, const Tensor& weight) { t.add_((end - t) * weight); }

// ---- parameters ---------------------------------------------------------------------------------------------------------

// Rules see complex parameters as pairs of real numbers.
Tensor real_view(const Tensor& t) { return t.is_complex() ? cresset::view_as_real(t) : t; }
Tensor real_grad(const Tensor& grad, bool maximize) { return real_view(maximize ? grad.neg() : grad); }
// A tensor that autograd saves and that is written afterwards.
Tensor kept(const Tensor& t) { return layer_state().grad_mode ? t.clone() : t; }
Tensor element(TensorList list, size_t i) { return list.empty() ? Tensor() : list[i]; }

double count(const Tensor& step) {
  if (step.lacks_data()) return 1;
  if (dispatch::wants_parts()) return step.item<double>();
  return step.is_cpu() && step.scalar_type() == kFloat ? static_cast<double>(*step.data_ptr<float>()) : step.item<double>();
}

enum class Grads { Dense, DenseOrSparse, Sparse };

// Refuses whatever would fail on the way, so that either all parameters are moved or none. A state that is not kept is an empty
// list.
void check_step(const char* name, TensorList params, TensorList grads, std::initializer_list<TensorList> states, TensorList steps,
                Grads wanted = Grads::Dense) {
  CRESSET_CHECK(grads.size() == params.size(), name, ": expected a gradient for each of ", params.size(), " parameters, got ", grads.size());
  CRESSET_CHECK(steps.empty() || steps.size() == params.size(), name, ": expected a count of steps for each of ", params.size(), " parameters, got ",
                steps.size());
  for (const TensorList state : states)
    CRESSET_CHECK(state.empty() || state.size() == params.size(), name, ": expected a state for each of ", params.size(), " parameters, got ", state.size());
  for (size_t i = 0; i < params.size(); i++) {
    const Tensor &p = params[i], &grad = grads[i];
    const bool dense = grad.layout() == Layout::Strided;
    CRESSET_CHECK(dense || wanted != Grads::Dense, name, ": does not support sparse gradients");
    CRESSET_CHECK(!dense || wanted != Grads::Sparse, name, ": does not support dense gradients");
    CRESSET_CHECK(grad.sizes() == p.sizes(), name, ": gradient ", i, " is ", grad.sizes(), ", expected ", p.sizes());
    CRESSET_CHECK(grad.is_complex() == p.is_complex(), name, ": gradient ", i, " is of ", grad.scalar_type(), ", expected ", p.scalar_type());
    for (const TensorList state : states)
      CRESSET_CHECK(state.empty() || state[i].sizes() == p.sizes(), name, ": state ", i, " is ", element(state, i).sizes(), ", expected ", p.sizes());
  }
}

// Whether gradients scaled for mixed precision make a step: none of them is infinite, and they are unscaled then.
bool unscale(TensorList grads, const std::optional<Tensor>& scale, const std::optional<Tensor>& found_inf) {
  if (found_inf && found_inf->item<double>() != 0) return false;
  if (scale)
    for (const Tensor& grad : grads) grad.div_(*scale);
  return true;
}

// Plain float32 or float64 arrays on the CPU that lie alike in memory: what the kernels take. Undefined tensors are left out.
bool one_pass(const Tensor& param, std::initializer_list<const Tensor*> others) {
  const ScalarType dtype = param.scalar_type();
  if (!param.is_cpu() || param.layout() != Layout::Strided || (dtype != kFloat && dtype != kDouble) || !param.is_non_overlapping_and_dense()) return false;
  for (const Tensor* t : others) {
    if (!t->defined()) continue;
    if (!t->is_cpu() || t->layout() != Layout::Strided || t->scalar_type() != dtype || t->sizes() != param.sizes() || t->strides() != param.strides())
      return false;
  }
  return true;
}
int64_t elements(const Tensor& t) { return t.lacks_data() ? 0 : t.numel(); }
void* pointer(const Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }

// ---- Adam ---------------------------------------------------------------------------------------------------------------

template <class N> struct AdamNumbers {
  N lr, beta1, beta2, weight_decay;
  double eps;
  bool decoupled, maximize;
};

// Weight decay on its way into the gradient, or of the parameter itself.
template <class N> void decay(const Tensor& p, Tensor& grad, const N& lr, const N& weight, bool decoupled) {
  if (value(weight) == 0) return;
  if (decoupled) scale(p, 1 - lr * weight);
  else grad = plus_scaled(grad, p, weight);
}

template <class N> void adam(const Tensor& param, const Tensor& given, const Tensor& first, const Tensor& second, const Tensor& largest, const Tensor& step,
                             const AdamNumbers<N>& o) {
  Tensor p = real_view(param), grad = real_grad(given, o.maximize), mean = real_view(first), square = real_view(second);
  const N beta1 = plain(o.beta1), beta2 = plain(o.beta2);
  decay(p, grad, plain(o.lr), plain(o.weight_decay), o.decoupled);
  approach(mean, grad, 1 - beta1);
  scale(square, beta2);
  add_product(square, grad, grad, 1 - beta2);
  const double steps = std::is_same_v<N, Tensor> ? 0 : count(step);  // read here, where modes hear it
  if (largest.defined() && dispatch::wants_parts()) {
    Tensor most = real_view(largest);
    square = cresset::maximum_out(most, most, square);
  } else if (largest.defined()) {
    const Tensor most = real_view(largest), grown = cresset::maximum(kept(most), square);
    most.copy_(grown);
    square = grown;
  }
  N first_power, second_power;
  if constexpr (std::is_same_v<N, Tensor>) {
    first_power = power_with_state(o.beta1, step);
    second_power = power_with_state(o.beta2, step);
  } else {
    first_power = power(o.beta1, steps);
    second_power = power(o.beta2, steps);
  }
  const N rate = -over_state(plain(o.lr), is_number(o.lr), 1 - first_power), below = root(1 - second_power);
  if constexpr (std::is_same_v<N, Tensor>) p.addcdiv_(mean, square.sqrt() / (below * rate) + rate.reciprocal() * o.eps);
  else p.addcdiv_(mean, root_over(square, below, o.eps), rate);
}

struct AdamLists {
  const char* name;
  TensorList params, grads, first, second, largest, steps;
  bool ready(const std::optional<Tensor>& scale, const std::optional<Tensor>& found_inf) const {
    check_step(name, params, grads, {first, second, largest}, steps);
    return unscale(grads, scale, found_inf);
  }
  template <class N> void each(const AdamNumbers<N>& o) const {
    for (size_t i = 0; i < params.size(); i++) adam(params[i], grads[i], first[i], second[i], element(largest, i), steps[i], o);
  }
  void in_one_pass(const AdamNumbers<double>& o) const {
    for (size_t i = 0; i < params.size(); i++) {
      const Tensor &p = params[i], max = element(largest, i);
      if (!one_pass(p, {&grads[i], &first[i], &second[i], &max})) {
        adam(p, grads[i], first[i], second[i], max, steps[i], o);
        continue;
      }
      kernels::adam_step(p.scalar_type(), elements(p), p.data_ptr(), grads[i].data_ptr(), first[i].data_ptr(), second[i].data_ptr(), pointer(max),
                         {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, static_cast<int64_t>(count(steps[i])), o.decoupled, o.maximize});
      p.impl()->bump_version();
    }
  }
};

// ---- SGD ----------------------------------------------------------------------------------------------------------------

template <class N> struct SgdNumbers {
  N weight_decay, momentum, lr;
  double dampening;
  bool nesterov, maximize, first;
};

template <class N> void sgd(const Tensor& p, const Tensor& given, const Tensor& buffer, const SgdNumbers<N>& o) {
  Tensor grad = o.maximize ? given.neg() : given;
  if (value(o.weight_decay) != 0) grad = plus_scaled(grad, p, o.weight_decay);
  if (buffer.defined()) {
    if (o.first && dispatch::wants_parts()) buffer.set_data(grad.detach().clone());
    else if (o.first) buffer.copy_(grad.detach());
    else {
      scale(buffer, o.momentum);
      buffer.add_(grad, 1 - o.dampening);
    }
    grad = o.nesterov ? plus_scaled(grad, buffer, o.momentum) : buffer;
  }
  add_scaled(p, grad, -o.lr);
}

bool sgd_ready(TensorList params, TensorList grads, TensorList buffers, const std::optional<Tensor>& scale, const std::optional<Tensor>& found_inf) {
  check_step("_fused_sgd_", params, grads, {buffers}, {}, Grads::DenseOrSparse);
  return unscale(grads, scale, found_inf);
}

template <class N> void sgd_each(TensorList params, TensorList grads, TensorList buffers, const SgdNumbers<N>& o) {
  for (size_t i = 0; i < params.size(); i++) sgd(params[i], grads[i], element(buffers, i), o);
}

// ---- RMSprop, Adagrad ---------------------------------------------------------------------------------------------------

template <class N> struct RmspropNumbers {
  N lr, weight_decay, momentum;
  double alpha, eps;
  bool maximize;
};

template <class N>
void rmsprop(const Tensor& param, const Tensor& given, const Tensor& squares, const Tensor& buffers, const Tensor& means, const RmspropNumbers<N>& o) {
  Tensor p = real_view(param), grad = real_grad(given, o.maximize), square = real_view(squares);
  if (value(o.weight_decay) != 0) grad = plus_scaled(grad, p, o.weight_decay);
  square.mul_(o.alpha).addcmul_(grad, grad, 1 - o.alpha);
  if (means.defined()) {
    const Tensor mean = real_view(means);
    mean.lerp_(grad, 1 - o.alpha);
    square = square.addcmul(mean, mean, -1);
  }
  const Tensor scale = square.sqrt().add(o.eps);
  if (!buffers.defined()) return add_quotient(p, grad, scale, -o.lr);
  const Tensor buffer = real_view(buffers);
  buffer.mul_(o.momentum).addcdiv_(grad, scale);
  add_scaled(p, buffer, -o.lr);
}

struct RmspropLists {
  TensorList params, grads, squares, buffers, means;
  void check() const { check_step("_fused_rmsprop_", params, grads, {squares, buffers, means}, {}); }
  template <class N> void each(const RmspropNumbers<N>& o) const {
    check();
    for (size_t i = 0; i < params.size(); i++) rmsprop(params[i], grads[i], squares[i], element(buffers, i), element(means, i), o);
  }
};

template <class N> struct AdagradNumbers {
  N lr, weight_decay;
  double lr_decay, eps;
  bool maximize;
};

// Moves the sum and the parameter only where there is a gradient.
template <class N> void adagrad_sparse(const Tensor& p, const Tensor& given, const Tensor& sum, const N& rate, double eps) {
  const Tensor grad = given.coalesce();
  if (grad._nnz() == 0) return;
  const Tensor values = grad.values();
  const auto stored = [&](const Tensor& v) { return cresset::_sparse_coo_tensor_unsafe(grad.indices(), v, grad.sizes())._coalesced_(true); };
  sum.add_(stored(values * values));
  add_scaled(p, stored(values / (sum.sparse_mask(grad).values().sqrt() + eps)), -rate);
}

template <class N> void adagrad(const Tensor& param, const Tensor& given, const Tensor& sums, double steps, const AdagradNumbers<N>& o) {
  const N rate = o.lr / (1 + (steps - 1) * o.lr_decay);
  if (given.layout() != Layout::Strided) return adagrad_sparse(param, o.maximize ? given.neg() : given, sums, rate, o.eps);
  Tensor p = real_view(param), grad = real_grad(given, o.maximize), sum = real_view(sums);
  if (value(o.weight_decay) != 0) grad = plus_scaled(grad, p, o.weight_decay);
  sum.addcmul_(grad, grad, 1);
  add_quotient(p, grad, sum.sqrt().add(o.eps), -rate);
}

bool adagrad_ready(TensorList params, TensorList grads, TensorList sums, TensorList steps, double weight_decay, const std::optional<Tensor>& scale,
                   const std::optional<Tensor>& found_inf) {
  check_step("_fused_adagrad_", params, grads, {sums}, steps, Grads::DenseOrSparse);
  for (const Tensor& grad : grads)
    CRESSET_CHECK(weight_decay == 0 || grad.layout() == Layout::Strided, "_fused_adagrad_: weight_decay does not go with sparse gradients");
  return unscale(grads, scale, found_inf);
}

template <class N> void adagrad_each(TensorList params, TensorList grads, TensorList sums, TensorList steps, const AdagradNumbers<N>& o) {
  for (size_t i = 0; i < params.size(); i++) adagrad(params[i], grads[i], sums[i], count(steps[i]), o);
}

// ---- Adamax, NAdam, RAdam -----------------------------------------------------------------------------------------------

template <class N> void adamax_each(TensorList params, TensorList grads, TensorList means, TensorList sizes, TensorList steps, const N& lr, const N& beta1,
                                    const N& beta2, double eps, const N& weight_decay, bool maximize) {
  check_step("_fused_adamax_", params, grads, {means, sizes}, steps);
  for (size_t i = 0; i < params.size(); i++) {
    Tensor p = real_view(params[i]), grad = real_grad(grads[i], maximize), mean = real_view(means[i]), size = real_view(sizes[i]);
    if (value(weight_decay) != 0) grad = plus_scaled(grad, p, weight_decay);
    approach(mean, grad, 1 - beta1);
    size.copy_(cresset::maximum(kept(size) * beta2, grad.abs().add(eps)));
    add_quotient(p, mean, size, -(lr / (1 - power(beta1, count(steps[i])))));
  }
}

template <class N> struct BetasNumbers {
  N lr, beta1, beta2, weight_decay;
  double eps;
  bool decoupled, maximize;
};

template <class N> void nadam_each(TensorList params, TensorList grads, TensorList means, TensorList squares, TensorList products, TensorList steps,
                                   double momentum_decay, const BetasNumbers<N>& o) {
  check_step("_fused_nadam_", params, grads, {means, squares}, steps);
  for (size_t i = 0; i < params.size(); i++) {
    Tensor p = real_view(params[i]), grad = real_grad(grads[i], o.maximize), mean = real_view(means[i]), square = real_view(squares[i]);
    const double step = count(steps[i]);
    const bool numbers = is_number(o.lr) && is_number(o.beta1);
    const N lr = plain(o.lr), beta1 = plain(o.beta1), beta2 = plain(o.beta2);
    decay(p, grad, lr, plain(o.weight_decay), o.decoupled);
    const N mu = beta1 * (1.0 - 0.5 * std::pow(0.96, step * momentum_decay)), next = beta1 * (1.0 - 0.5 * std::pow(0.96, (step + 1) * momentum_decay));
    products[i].mul_(mu);
    N product;
    if constexpr (std::is_same_v<N, Tensor>) product = products[i];
    else product = products[i].template item<double>();
    approach(mean, grad, 1 - beta1);
    square.mul_(beta2);
    add_product(square, grad, grad, 1 - beta2);
    const Tensor scale = (square / (1 - power(beta2, step))).sqrt().add(o.eps);
    add_quotient(p, grad, scale, over_state(-lr * (1.0 - mu), numbers, 1.0 - product));
    add_quotient(p, mean, scale, over_state(-lr * next, numbers, 1.0 - scaled(product, next, numbers)));
  }
}

template <class N> void radam_each(TensorList params, TensorList grads, TensorList means, TensorList squares, TensorList steps, const BetasNumbers<N>& o) {
  check_step("_fused_radam_", params, grads, {means, squares}, steps);
  for (size_t i = 0; i < params.size(); i++) {
    Tensor p = real_view(params[i]), grad = real_grad(grads[i], o.maximize), mean = real_view(means[i]), square = real_view(squares[i]);
    const double step = count(steps[i]);
    decay(p, grad, o.lr, o.weight_decay, o.decoupled);
    approach(mean, grad, 1 - o.beta1);
    square.mul_(o.beta2);
    add_product(square, grad, grad, 1 - o.beta2);
    const N rest = power(o.beta2, step), correction = 1 - rest, limit = 2 / (1 - o.beta2) - 1, length = limit - 2 * step * rest / correction;
    Tensor change = mean / (1 - power(o.beta1, step)) * o.lr;
    if (value(length) > 5) {
      const N rectified = root((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
      change = change * (root(correction) / square.sqrt().add(o.eps)) * rectified;
    }
    p.add_(change, -1.0);
  }
}

// ---- Adadelta, ASGD -----------------------------------------------------------------------------------------------------

template <class N> void adadelta_each(TensorList params, TensorList grads, TensorList averages, TensorList deltas, const N& lr, double rho, double eps,
                                      const N& weight_decay, bool maximize) {
  check_step("_fused_adadelta_", params, grads, {averages, deltas}, {});
  for (size_t i = 0; i < params.size(); i++) {
    Tensor p = real_view(params[i]), grad = real_grad(grads[i], maximize), square = real_view(averages[i]), changes = real_view(deltas[i]);
    if (value(weight_decay) != 0) grad = plus_scaled(grad, p, weight_decay);
    square.mul_(rho).addcmul_(grad, grad, 1 - rho);
    const Tensor change = changes.add(eps).sqrt() / square.add(eps).sqrt() * grad;
    changes.mul_(rho).addcmul_(change, change, 1 - rho);
    add_scaled(p, change, -lr);
  }
}

// A number that PyTorch makes a tensor of before it copies it into a state, which may have another dtype after it was loaded.
double in_default_dtype(double number) { return get_default_dtype() == kFloat ? static_cast<float>(number) : number; }

template <class N> void asgd_each(TensorList params, TensorList grads, TensorList averages, TensorList mus, TensorList etas, TensorList steps, const N& lr,
                                  double lambd, double alpha, double t0, const N& weight_decay, bool maximize, bool joint) {
  check_step("_fused_asgd_", params, grads, {averages}, steps);
  for (size_t i = 0; i < params.size(); i++) {
    Tensor p = real_view(params[i]), grad = real_grad(grads[i], maximize), average = real_view(averages[i]);
    const double step = count(steps[i]), mu = mus[i].item<double>();
    if (value(weight_decay) != 0) grad = plus_scaled(grad, p, weight_decay);
    if (is_number(lr)) {
      const double eta = etas[i].item<double>();
      p.mul_(1 - lambd * eta);
      add_scaled(p, grad, -eta);
    } else {
      const Tensor eta = kept(etas[i]);
      p.mul_(1 - lambd * eta);
      add_scaled(p, grad, -eta);
    }
    if (mu != 1) average.add_(p.sub(average).mul(mu));
    else average.copy_(p);
    // In its joint form PyTorch computes the next rate in the precision of the counter, as the rate times the reciprocal of the power.
    const double rate = value(lr);
    if (!is_number(lr)) {
      if constexpr (std::is_same_v<N, Tensor>) etas[i].copy_(lr / (1 + lambd * lr * step).pow(alpha));
    } else if (joint) {
      const Tensor base = 1 + lambd * rate * steps[i], power = base.to(kDouble).pow(alpha).to(base.scalar_type());
      etas[i].copy_(power.reciprocal() * rate);
    } else {
      etas[i].fill_(in_default_dtype(rate / std::pow(1 + lambd * rate * step, alpha)));
    }
    mus[i].fill_(in_default_dtype(1 / std::max(1.0, step - t0)));
  }
}

// ---- Adam for sparse gradients ------------------------------------------------------------------------------------------

template <class N> void sparse_adam_each(TensorList params, TensorList grads, TensorList means, TensorList squares, TensorList steps, const N& lr, double beta1,
                                         double beta2, double eps, bool maximize) {
  check_step("_fused_sparse_adam_", params, grads, {means, squares}, steps, Grads::Sparse);
  for (size_t i = 0; i < params.size(); i++) {
    const Tensor grad = (maximize ? grads[i].neg() : grads[i]).coalesce();
    if (grad._nnz() == 0) continue;
    const Tensor indices = grad.indices(), values = grad.values();
    const auto move = [&](const Tensor& target, const Tensor& change) {
      target.add_(cresset::_sparse_coo_tensor_unsafe(indices, change, grad.sizes())._coalesced_(true));
    };
    const Tensor first = means[i].sparse_mask(grad).values(), second = squares[i].sparse_mask(grad).values();
    const Tensor first_change = (values - first) * (1 - beta1), second_change = (values * values - second) * (1 - beta2);
    move(means[i], first_change);
    move(squares[i], second_change);
    const double step = count(steps[i]);
    // A tensor of a rate is computed with in its own precision.
    const N rate = lr * std::sqrt(1 - std::pow(beta2, step)) / (1 - std::pow(beta1, step));
    move(params[i], (first + first_change) / ((second + second_change).sqrt() + eps) * -rate);
  }
}

double epsilon_of(ScalarType t) {
  switch (t) {
    case kHalf: return 0x1p-10;
    case kBFloat16: return 0x1p-7;
    case kFloat: return std::numeric_limits<float>::epsilon();
    default: return std::numeric_limits<double>::epsilon();
  }
}

// Close to U V^T of the matrix's singular value decomposition, by a quintic Newton-Schulz iteration in bfloat16.
Tensor orthogonalized(const Tensor& matrix, ArrayRef<double> coefficients, int64_t steps, double eps) {
  Tensor x = matrix.to(kBFloat16);
  const bool tall = x.size(0) > x.size(1);
  if (tall) x = x.t();
  x = x / x.norm().clamp(eps);
  for (int64_t i = 0; i < steps; i++) {
    const Tensor gram = x.matmul(x.t());
    x = cresset::addmm(x, cresset::addmm(gram, gram, gram, coefficients[1], coefficients[2]), x, coefficients[0]);
  }
  return tall ? x.t() : x;
}

}  // namespace

using MaybeTensor = const std::optional<Tensor>&;

namespace cpu {

void _fused_adam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps, double lr,
                  double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize, MaybeTensor grad_scale, MaybeTensor found_inf) {
  const AdamLists lists{"_fused_adam_", self, grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : TensorList(), state_steps};
  if (lists.ready(grad_scale, found_inf)) lists.in_one_pass({lr, beta1, beta2, weight_decay, eps, false, maximize});
}

void _fused_adamw_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
                   double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize, MaybeTensor grad_scale,
                   MaybeTensor found_inf) {
  const AdamLists lists{"_fused_adamw_", self, grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : TensorList(), state_steps};
  if (lists.ready(grad_scale, found_inf)) lists.in_one_pass({lr, beta1, beta2, weight_decay, eps, true, maximize});
}

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, double lr, double dampening,
                 bool nesterov, bool maximize, bool is_first_step, MaybeTensor grad_scale, MaybeTensor found_inf) {
  const TensorList buffers = momentum != 0 ? momentum_buffer_list : TensorList();
  if (!sgd_ready(self, grads, buffers, grad_scale, found_inf)) return;
  const SgdNumbers<double> o{weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step};
  for (size_t i = 0; i < self.size(); i++) {
    const Tensor &p = self[i], buffer = element(buffers, i);
    if (!one_pass(p, {&grads[i], &buffer})) {
      sgd(p, grads[i], buffer, o);
      continue;
    }
    kernels::sgd_step(p.scalar_type(), elements(p), p.data_ptr(), grads[i].data_ptr(), pointer(buffer),
                      {lr, momentum, dampening, weight_decay, nesterov, maximize, is_first_step});
    p.impl()->bump_version();
  }
}

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr, double lr_decay, double weight_decay,
                     double eps, bool maximize, MaybeTensor grad_scale, MaybeTensor found_inf) {
  if (!adagrad_ready(self, grads, state_sums, state_steps, weight_decay, grad_scale, found_inf)) return;
  for (size_t i = 0; i < self.size(); i++) {
    const Tensor &p = self[i], &sum = state_sums[i];
    const double step = count(state_steps[i]);
    if (maximize || !one_pass(p, {&grads[i], &sum})) {
      adagrad<double>(p, grads[i], sum, step, {lr, weight_decay, lr_decay, eps, maximize});
      continue;
    }
    kernels::adagrad_step(p.scalar_type(), elements(p), p.data_ptr(), grads[i].data_ptr(), sum.data_ptr(),
                          {lr / (1 + (step - 1) * lr_decay), eps, weight_decay});
    p.impl()->bump_version();
  }
}

void _fused_rmsprop_(TensorList self, TensorList grads, TensorList square_avgs, TensorList momentum_buffers, TensorList grad_avgs, double lr, double alpha,
                     double eps, double weight_decay, double momentum, bool maximize) {
  const RmspropLists lists{self, grads, square_avgs, momentum_buffers, grad_avgs};
  lists.check();
  for (size_t i = 0; i < self.size(); i++) {
    const Tensor &p = self[i], buffer = element(momentum_buffers, i), mean = element(grad_avgs, i);
    if (maximize || !one_pass(p, {&grads[i], &square_avgs[i], &buffer, &mean})) {
      rmsprop<double>(p, grads[i], square_avgs[i], buffer, mean, {lr, weight_decay, momentum, alpha, eps, maximize});
      continue;
    }
    kernels::rmsprop_step(p.scalar_type(), elements(p), p.data_ptr(), grads[i].data_ptr(), square_avgs[i].data_ptr(), pointer(buffer), pointer(mean),
                          {lr, alpha, eps, weight_decay, momentum});
    p.impl()->bump_version();
  }
}

}  // namespace cpu

namespace composite {

void _fused_adam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps, double lr,
                  double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize, MaybeTensor grad_scale, MaybeTensor found_inf) {
  const AdamLists lists{"_fused_adam_", self, grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : TensorList(), state_steps};
  if (lists.ready(grad_scale, found_inf)) lists.each<double>({lr, beta1, beta2, weight_decay, eps, false, maximize});
}

void _fused_adam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
                  const Tensor& lr, const Tensor& beta1, const Tensor& beta2, const Tensor& weight_decay, double eps, bool amsgrad, bool maximize,
                  MaybeTensor grad_scale, MaybeTensor found_inf) {
  const AdamLists lists{"_fused_adam_", self, grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : TensorList(), state_steps};
  if (lists.ready(grad_scale, found_inf)) lists.each<Tensor>({lr, beta1, beta2, weight_decay, eps, false, maximize});
}

void _fused_adamw_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
                   double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize, MaybeTensor grad_scale,
                   MaybeTensor found_inf) {
  const AdamLists lists{"_fused_adamw_", self, grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : TensorList(), state_steps};
  if (lists.ready(grad_scale, found_inf)) lists.each<double>({lr, beta1, beta2, weight_decay, eps, true, maximize});
}

void _fused_adamw_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
                   const Tensor& lr, const Tensor& beta1, const Tensor& beta2, const Tensor& weight_decay, double eps, bool amsgrad, bool maximize,
                   MaybeTensor grad_scale, MaybeTensor found_inf) {
  const AdamLists lists{"_fused_adamw_", self, grads, exp_avgs, exp_avg_sqs, amsgrad ? max_exp_avg_sqs : TensorList(), state_steps};
  if (lists.ready(grad_scale, found_inf)) lists.each<Tensor>({lr, beta1, beta2, weight_decay, eps, true, maximize});
}

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, double lr, double dampening,
                 bool nesterov, bool maximize, bool is_first_step, MaybeTensor grad_scale, MaybeTensor found_inf) {
  const TensorList buffers = value(momentum) != 0 ? momentum_buffer_list : TensorList();
  if (sgd_ready(self, grads, buffers, grad_scale, found_inf))
    sgd_each<double>(self, grads, buffers, {weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step});
}

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list, const Tensor& weight_decay, const Tensor& momentum, const Tensor& lr,
                 double dampening, bool nesterov, bool maximize, bool is_first_step, MaybeTensor grad_scale, MaybeTensor found_inf) {
  const TensorList buffers = value(momentum) != 0 ? momentum_buffer_list : TensorList();
  if (sgd_ready(self, grads, buffers, grad_scale, found_inf))
    sgd_each<Tensor>(self, grads, buffers, {plain(weight_decay), plain(momentum), plain(lr), dampening, nesterov, maximize, is_first_step});
}

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr, double lr_decay, double weight_decay,
                     double eps, bool maximize, MaybeTensor grad_scale, MaybeTensor found_inf) {
  if (adagrad_ready(self, grads, state_sums, state_steps, value(weight_decay), grad_scale, found_inf))
    adagrad_each<double>(self, grads, state_sums, state_steps, {lr, weight_decay, lr_decay, eps, maximize});
}

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, const Tensor& lr, double lr_decay,
                     const Tensor& weight_decay, double eps, bool maximize, MaybeTensor grad_scale, MaybeTensor found_inf) {
  if (adagrad_ready(self, grads, state_sums, state_steps, value(weight_decay), grad_scale, found_inf))
    adagrad_each<Tensor>(self, grads, state_sums, state_steps, {plain(lr), plain(weight_decay), lr_decay, eps, maximize});
}

void _fused_rmsprop_(TensorList self, TensorList grads, TensorList square_avgs, TensorList momentum_buffers, TensorList grad_avgs, double lr, double alpha,
                     double eps, double weight_decay, double momentum, bool maximize) {
  RmspropLists{self, grads, square_avgs, momentum_buffers, grad_avgs}.each<double>({lr, weight_decay, momentum, alpha, eps, maximize});
}

void _fused_rmsprop_(TensorList self, TensorList grads, TensorList square_avgs, TensorList momentum_buffers, TensorList grad_avgs, const Tensor& lr,
                     double alpha, double eps, const Tensor& weight_decay, const Tensor& momentum, bool maximize) {
  RmspropLists{self, grads, square_avgs, momentum_buffers, grad_avgs}.each<Tensor>({plain(lr), plain(weight_decay), plain(momentum), alpha, eps, maximize});
}

void _fused_adamax_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_infs, TensorList state_steps, double lr, double beta1, double beta2,
                    double eps, double weight_decay, bool maximize) {
  adamax_each<double>(self, grads, exp_avgs, exp_infs, state_steps, lr, beta1, beta2, eps, weight_decay, maximize);
}

void _fused_adamax_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_infs, TensorList state_steps, const Tensor& lr, const Tensor& beta1,
                    const Tensor& beta2, double eps, const Tensor& weight_decay, bool maximize) {
  adamax_each<Tensor>(self, grads, exp_avgs, exp_infs, state_steps, plain(lr), plain(beta1), plain(beta2), eps, plain(weight_decay), maximize);
}

void _fused_nadam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList mu_products, TensorList state_steps, double lr,
                   double beta1, double beta2, double eps, double weight_decay, double momentum_decay, bool decoupled, bool maximize) {
  nadam_each<double>(self, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, momentum_decay, {lr, beta1, beta2, weight_decay, eps, decoupled, maximize});
}

void _fused_nadam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList mu_products, TensorList state_steps,
                   const Tensor& lr, const Tensor& beta1, const Tensor& beta2, double eps, const Tensor& weight_decay, double momentum_decay, bool decoupled,
                   bool maximize) {
  nadam_each<Tensor>(self, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, momentum_decay, {lr, beta1, beta2, weight_decay, eps, decoupled, maximize});
}

void _fused_radam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList state_steps, double lr, double beta1,
                   double beta2, double eps, double weight_decay, bool decoupled, bool maximize) {
  radam_each<double>(self, grads, exp_avgs, exp_avg_sqs, state_steps, {lr, beta1, beta2, weight_decay, eps, decoupled, maximize});
}

void _fused_radam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList state_steps, const Tensor& lr,
                   const Tensor& beta1, const Tensor& beta2, double eps, const Tensor& weight_decay, bool decoupled, bool maximize) {
  radam_each<Tensor>(self, grads, exp_avgs, exp_avg_sqs, state_steps, {plain(lr), plain(beta1), plain(beta2), plain(weight_decay), eps, decoupled, maximize});
}

void _fused_adadelta_(TensorList self, TensorList grads, TensorList square_avgs, TensorList acc_deltas, double lr, double rho, double eps, double weight_decay,
                      bool maximize) {
  adadelta_each<double>(self, grads, square_avgs, acc_deltas, lr, rho, eps, weight_decay, maximize);
}

void _fused_adadelta_(TensorList self, TensorList grads, TensorList square_avgs, TensorList acc_deltas, const Tensor& lr, double rho, double eps,
                      const Tensor& weight_decay, bool maximize) {
  adadelta_each<Tensor>(self, grads, square_avgs, acc_deltas, plain(lr), rho, eps, plain(weight_decay), maximize);
}

void _fused_asgd_(TensorList self, TensorList grads, TensorList axs, TensorList mus, TensorList etas, TensorList state_steps, double lr, double lambd,
                  double alpha, double t0, double weight_decay, bool maximize, bool joint) {
  asgd_each<double>(self, grads, axs, mus, etas, state_steps, lr, lambd, alpha, t0, weight_decay, maximize, joint);
}

void _fused_asgd_(TensorList self, TensorList grads, TensorList axs, TensorList mus, TensorList etas, TensorList state_steps, const Tensor& lr, double lambd,
                  double alpha, double t0, const Tensor& weight_decay, bool maximize, bool joint) {
  asgd_each<Tensor>(self, grads, axs, mus, etas, state_steps, lr, lambd, alpha, t0, plain(weight_decay), maximize, joint);
}

void _fused_sparse_adam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList state_steps, double lr, double beta1,
                         double beta2, double eps, bool maximize) {
  sparse_adam_each<double>(self, grads, exp_avgs, exp_avg_sqs, state_steps, lr, beta1, beta2, eps, maximize);
}

void _fused_sparse_adam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                         double beta2, double eps, bool maximize) {
  sparse_adam_each<Tensor>(self, grads, exp_avgs, exp_avg_sqs, state_steps, plain(lr), beta1, beta2, eps, maximize);
}

void _fused_rprop_(TensorList self, TensorList grads, TensorList prevs, TensorList step_sizes, double etaminus, double etaplus, double step_size_min,
                   double step_size_max, bool maximize) {
  check_step("_fused_rprop_", self, grads, {prevs, step_sizes}, {});
  for (size_t i = 0; i < self.size(); i++) {
    const Tensor p = real_view(self[i]), grad = real_grad(grads[i], maximize), before = real_view(prevs[i]), sizes = real_view(step_sizes[i]);
    const Tensor agreement = grad.mul(kept(before)).sign();
    const Tensor factor = cresset::ones_like(sizes).masked_fill_(agreement > 0, etaplus).masked_fill_(agreement < 0, etaminus);
    sizes.mul_(factor).clamp_(step_size_min, step_size_max);
    const Tensor turned = cresset::where(agreement < 0, cresset::zeros_like(grad), grad);
    p.addcmul_(turned.sign(), sizes, -1);
    before.copy_(turned);
  }
}

void _fused_adafactor_(TensorList self, TensorList grads, TensorList row_vars, TensorList col_vars, TensorList variances, TensorList state_steps, double lr,
                       double beta2_decay, std::optional<double> eps1, double eps2, double d, double weight_decay, bool maximize) {
  check_step("_fused_adafactor_", self, grads, {variances}, state_steps);
  for (size_t i = 0; i < self.size(); i++) {
    const Tensor &p = self[i], grad = maximize ? grads[i].neg() : grads[i];
    const double steps = count(state_steps[i]), numel = static_cast<double>(p.numel());
    const double guard = eps1 ? *eps1 : epsilon_of(p.scalar_type());
    const double weight = std::pow(steps, beta2_decay);  // of the new squares
    const double rate = std::max(eps2, p.norm(2).item<double>() / std::pow(numel, 0.5)) * std::min(lr, std::pow(steps, -0.5));
    if (weight_decay != 0) p.mul_(1 - lr * weight_decay);
    const Tensor squares = grad.square();
    Tensor average;
    if (variances.empty()) {
      const Tensor &rows = row_vars[i], &columns = col_vars[i];
      rows.lerp_(squares.mean(-1, true), weight);
      columns.lerp_(squares.mean(-2, true), weight);
      average = cresset::matmul(rows, columns) / rows.mean(-2, true).clamp_(guard);
    } else {
      average = variances[i].lerp_(squares, weight);
    }
    const Tensor change = grad / average.clamp(guard * guard).sqrt_();
    const double excess = std::max(1.0, change.norm(2).item<double>() / (std::pow(numel, 0.5) * d));
    p.add_(change, -rate / excess);
  }
}

void _fused_muon_(TensorList self, TensorList grads, TensorList momentum_buffers, double lr, double weight_decay, double momentum, bool nesterov,
                  ArrayRef<double> ns_coefficients, double eps, int64_t ns_steps, std::string_view adjust_lr_fn, bool maximize) {
  CRESSET_CHECK_VALUE(ns_coefficients.size() == 3, "_fused_muon_: ns_coefficients: expected 3 numbers, got ", ns_coefficients.size());
  check_step("_fused_muon_", self, grads, {momentum_buffers}, {});
  for (size_t i = 0; i < self.size(); i++) {
    const Tensor &p = self[i], grad = maximize ? grads[i].neg() : grads[i];
    const Tensor average = momentum_buffers[i].lerp_(grad, 1 - momentum);
    const Tensor change = nesterov ? grad.lerp(average, momentum) : average;
    const double rows = static_cast<double>(p.size(0)), columns = static_cast<double>(p.size(1));
    const double scale = adjust_lr_fn == "match_rms_adamw" ? 0.2 * std::pow(std::max(rows, columns), 0.5) : std::pow(std::max(1.0, rows / columns), 0.5);
    p.mul_(1 - lr * weight_decay);
    p.add_(orthogonalized(change, ns_coefficients, ns_steps, eps).to(p.scalar_type()), -lr * scale);
  }
}

}  // namespace composite

}  // namespace cresset::ops
