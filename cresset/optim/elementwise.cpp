#include "cresset/optim/elementwise.h"

#include <algorithm>
#include <cmath>

#include "cresset/optim/elementwise_frame.h"

namespace cresset::optim {

using detail::check_betas;
using detail::check_not_negative;
using detail::real_view;
using detail::zeros_beside;

using Params = std::vector<Tensor>;

// ---- Adamax -------------------------------------------------------------------------------------------------------------

template <class F> static void fields(AdamaxOptions& o, F&& f) {
  f("lr", o.lr());
  f("beta1", std::get<0>(o.betas()));
  f("beta2", std::get<1>(o.betas()));
  f("eps", o.eps());
  f("weight_decay", o.weight_decay());
  f("maximize", o.maximize());
}
template <class F> static void fields(AdamaxParamState& s, F&& f) {
  f("step", s.step());
  f("exp_avg", s.exp_avg());
  f("exp_inf", s.exp_inf());
}
static void check(const AdamaxOptions& o, const Params&) {
  check_not_negative("Adamax", "learning rate", o.lr());
  check_not_negative("Adamax", "epsilon value", o.eps());
  check_betas("Adamax", o.betas());
  check_not_negative("Adamax", "weight_decay value", o.weight_decay());
}
static void start(const Tensor& p, AdamaxParamState& s, const AdamaxOptions&) { s.exp_avg(zeros_beside(p)).exp_inf(zeros_beside(p)); }
static void update(Tensor& p, Tensor grad, AdamaxParamState& s, const AdamaxOptions& o) {
  const auto [beta1, beta2] = o.betas();
  if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
  Tensor mean = real_view(s.exp_avg()), size = real_view(s.exp_inf());
  mean.lerp_(grad, 1 - beta1);
  size.copy_(cresset::maximum(size * beta2, grad.abs().add(o.eps())));
  p.addcdiv_(mean, size, -(o.lr() / (1 - std::pow(beta1, static_cast<double>(s.step())))));
}

// ---- NAdam and RAdam ----------------------------------------------------------------------------------------------------

template <class F> static void fields(NAdamOptions& o, F&& f) {
  f("lr", o.lr());
  f("beta1", std::get<0>(o.betas()));
  f("beta2", std::get<1>(o.betas()));
  f("eps", o.eps());
  f("weight_decay", o.weight_decay());
  f("momentum_decay", o.momentum_decay());
  f("decoupled_weight_decay", o.decoupled_weight_decay());
  f("maximize", o.maximize());
}
template <class F> static void fields(NAdamParamState& s, F&& f) {
  f("step", s.step());
  f("mu_product", s.mu_product());
  f("exp_avg", s.exp_avg());
  f("exp_avg_sq", s.exp_avg_sq());
}
static void check(const NAdamOptions& o, const Params&) {
  check_not_negative("NAdam", "learning rate", o.lr());
  check_not_negative("NAdam", "epsilon value", o.eps());
  check_betas("NAdam", o.betas());
  check_not_negative("NAdam", "weight_decay value", o.weight_decay());
  check_not_negative("NAdam", "momentum_decay value", o.momentum_decay());
}

template <class F> static void fields(RAdamOptions& o, F&& f) {
  f("lr", o.lr());
  f("beta1", std::get<0>(o.betas()));
  f("beta2", std::get<1>(o.betas()));
  f("eps", o.eps());
  f("weight_decay", o.weight_decay());
  f("decoupled_weight_decay", o.decoupled_weight_decay());
  f("maximize", o.maximize());
}
template <class F> static void fields(RAdamParamState& s, F&& f) {
  f("step", s.step());
  f("exp_avg", s.exp_avg());
  f("exp_avg_sq", s.exp_avg_sq());
}
static void check(const RAdamOptions& o, const Params&) {
  check_not_negative("RAdam", "learning rate", o.lr());
  check_not_negative("RAdam", "epsilon value", o.eps());
  check_betas("RAdam", o.betas());
  check_not_negative("RAdam", "weight_decay value", o.weight_decay());
}

template <class Options> static void decay(Tensor& p, Tensor& grad, const Options& o) {
  if (o.weight_decay() == 0) return;
  if (o.decoupled_weight_decay()) p.mul_(1 - o.lr() * o.weight_decay());
  else grad = grad.add(p, o.weight_decay());
}
template <class State> static void start(const Tensor& p, State& s, const NAdamOptions&) { s.exp_avg(zeros_beside(p)).exp_avg_sq(zeros_beside(p)); }
template <class State> static void start(const Tensor& p, State& s, const RAdamOptions&) { s.exp_avg(zeros_beside(p)).exp_avg_sq(zeros_beside(p)); }

static void update(Tensor& p, Tensor grad, NAdamParamState& s, const NAdamOptions& o) {
  const auto [beta1, beta2] = o.betas();
  const double steps = static_cast<double>(s.step()), lr = o.lr();
  decay(p, grad, o);
  const double mu = beta1 * (1.0 - 0.5 * std::pow(0.96, steps * o.momentum_decay()));
  const double mu_next = beta1 * (1.0 - 0.5 * std::pow(0.96, (steps + 1) * o.momentum_decay()));
  s.mu_product(static_cast<float>(s.mu_product()) * static_cast<float>(mu));
  const double product = s.mu_product();
  Tensor mean = real_view(s.exp_avg()), square = real_view(s.exp_avg_sq());
  mean.lerp_(grad, 1 - beta1);
  square.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  const Tensor scale = (square / (1 - std::pow(beta2, steps))).sqrt().add(o.eps());
  p.addcdiv_(grad, scale, -lr * (1.0 - mu) / (1.0 - product));
  p.addcdiv_(mean, scale, -lr * mu_next / (1.0 - product * mu_next));
}

static void update(Tensor& p, Tensor grad, RAdamParamState& s, const RAdamOptions& o) {
  const auto [beta1, beta2] = o.betas();
  const double steps = static_cast<double>(s.step());
  decay(p, grad, o);
  Tensor mean = real_view(s.exp_avg()), square = real_view(s.exp_avg_sq());
  mean.lerp_(grad, 1 - beta1);
  square.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  const double power = std::pow(beta2, steps), correction = 1 - power, limit = 2 / (1 - beta2) - 1;
  const double length = limit - 2 * steps * power / correction;
  Tensor change = mean / (1 - std::pow(beta1, steps)) * o.lr();
  if (length > 5.0) {
    const double rectified = std::pow((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length), 0.5);
    change = change * (std::pow(correction, 0.5) / square.sqrt().add(o.eps())) * rectified;
  }
  p.add_(change, -1.0);
}

// ---- Adadelta -----------------------------------------------------------------------------------------------------------

template <class F> static void fields(AdadeltaOptions& o, F&& f) {
  f("lr", o.lr());
  f("rho", o.rho());
  f("eps", o.eps());
  f("weight_decay", o.weight_decay());
  f("maximize", o.maximize());
}
template <class F> static void fields(AdadeltaParamState& s, F&& f) {
  f("step", s.step());
  f("square_avg", s.square_avg());
  f("acc_delta", s.acc_delta());
}
static void check(const AdadeltaOptions& o, const Params&) {
  check_not_negative("Adadelta", "learning rate", o.lr());
  CRESSET_CHECK_VALUE(o.rho() >= 0 && o.rho() <= 1, "Adadelta: invalid rho value ", o.rho());
  check_not_negative("Adadelta", "epsilon value", o.eps());
  check_not_negative("Adadelta", "weight_decay value", o.weight_decay());
}
static void start(const Tensor& p, AdadeltaParamState& s, const AdadeltaOptions&) { s.square_avg(zeros_beside(p)).acc_delta(zeros_beside(p)); }
static void update(Tensor& p, Tensor grad, AdadeltaParamState& s, const AdadeltaOptions& o) {
  if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
  Tensor square = real_view(s.square_avg()), changes = real_view(s.acc_delta());
  square.mul_(o.rho()).addcmul_(grad, grad, 1 - o.rho());
  const Tensor change = changes.add(o.eps()).sqrt() / square.add(o.eps()).sqrt() * grad;
  changes.mul_(o.rho()).addcmul_(change, change, 1 - o.rho());
  p.add_(change, -o.lr());
}

// ---- Rprop --------------------------------------------------------------------------------------------------------------

template <class F> static void fields(RpropOptions& o, F&& f) {
  f("lr", o.lr());
  f("eta_minus", std::get<0>(o.etas()));
  f("eta_plus", std::get<1>(o.etas()));
  f("step_size_min", std::get<0>(o.step_sizes()));
  f("step_size_max", std::get<1>(o.step_sizes()));
  f("maximize", o.maximize());
}
template <class F> static void fields(RpropParamState& s, F&& f) {
  f("step", s.step());
  f("prev", s.prev());
  f("step_size", s.step_size());
}
static void check(const RpropOptions& o, const Params&) {
  const auto [shrink, grow] = o.etas();
  check_not_negative("Rprop", "learning rate", o.lr());
  CRESSET_CHECK_VALUE(shrink > 0 && shrink < 1 && grow > 1, "Rprop: invalid eta values ", shrink, ", ", grow);
}
static void start(const Tensor& p, RpropParamState& s, const RpropOptions& o) {
  s.prev(zeros_beside(p)).step_size(zeros_beside(p));
  real_view(s.step_size()).fill_(o.lr());
}
static void update(Tensor& p, Tensor grad, RpropParamState& s, const RpropOptions& o) {
  const auto [shrink, grow] = o.etas();
  Tensor sizes = real_view(s.step_size()), before = real_view(s.prev());
  const Tensor agreement = grad.mul(before).sign();
  Tensor factor = cresset::ones_like(sizes);
  factor.masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink);
  sizes.mul_(factor).clamp_(std::get<0>(o.step_sizes()), std::get<1>(o.step_sizes()));
  grad = cresset::where(agreement < 0, cresset::zeros_like(grad), grad);
  p.addcmul_(grad.sign(), sizes, -1);
  before.copy_(grad);
}

// ---- ASGD ---------------------------------------------------------------------------------------------------------------

template <class F> static void fields(ASGDOptions& o, F&& f) {
  f("lr", o.lr());
  f("lambd", o.lambd());
  f("alpha", o.alpha());
  f("t0", o.t0());
  f("weight_decay", o.weight_decay());
  f("maximize", o.maximize());
}
template <class F> static void fields(ASGDParamState& s, F&& f) {
  f("step", s.step());
  f("eta", s.eta());
  f("mu", s.mu());
  f("ax", s.ax());
}
static void check(const ASGDOptions& o, const Params&) {
  check_not_negative("ASGD", "learning rate", o.lr());
  check_not_negative("ASGD", "weight_decay value", o.weight_decay());
}
static void start(const Tensor& p, ASGDParamState& s, const ASGDOptions& o) { s.eta(static_cast<float>(o.lr())).ax(zeros_beside(p)); }
static void update(Tensor& p, Tensor grad, ASGDParamState& s, const ASGDOptions& o) {
  const double eta = s.eta(), steps = static_cast<double>(s.step());
  Tensor average = real_view(s.ax());
  if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
  p.mul_(1 - o.lambd() * eta);
  p.add_(grad, -eta);
  if (s.mu() != 1) average.add_(p.sub(average).mul(s.mu()));
  else average.copy_(p);
  s.eta(static_cast<float>(o.lr() / std::pow(1 + o.lambd() * o.lr() * steps, o.alpha())));
  s.mu(static_cast<float>(1 / std::max(1.0, steps - o.t0())));
}

CRESSET_ELEMENTWISE_OPTIMIZER(Adamax)
CRESSET_ELEMENTWISE_OPTIMIZER(NAdam)
CRESSET_ELEMENTWISE_OPTIMIZER(RAdam)
CRESSET_ELEMENTWISE_OPTIMIZER(Adadelta)
CRESSET_ELEMENTWISE_OPTIMIZER(Rprop)
CRESSET_ELEMENTWISE_OPTIMIZER(ASGD)

}  // namespace cresset::optim
