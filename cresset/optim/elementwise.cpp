#include "cresset/optim/elementwise.h"

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
static void move(const detail::StepLists<AdamaxParamState>& l, const AdamaxOptions& o) {
  const auto [beta1, beta2] = o.betas();
  cresset::_fused_adamax_(l.params, l.grads, l.list([](auto& s) { return s.exp_avg(); }), l.list([](auto& s) { return s.exp_inf(); }), l.steps(), o.lr(), beta1,
                          beta2, o.eps(), o.weight_decay(), o.maximize());
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

template <class State> static void start(const Tensor& p, State& s, const NAdamOptions&) { s.exp_avg(zeros_beside(p)).exp_avg_sq(zeros_beside(p)); }
template <class State> static void start(const Tensor& p, State& s, const RAdamOptions&) { s.exp_avg(zeros_beside(p)).exp_avg_sq(zeros_beside(p)); }

static void move(const detail::StepLists<NAdamParamState>& l, const NAdamOptions& o) {
  const auto [beta1, beta2] = o.betas();
  const auto products = l.list([](auto& s) { return cresset::full({}, s.mu_product(), kFloat); });
  cresset::_fused_nadam_(l.params, l.grads, l.list([](auto& s) { return s.exp_avg(); }), l.list([](auto& s) { return s.exp_avg_sq(); }), products, l.steps(),
                         o.lr(), beta1, beta2, o.eps(), o.weight_decay(), o.momentum_decay(), o.decoupled_weight_decay(), o.maximize());
  for (size_t i = 0; i < products.size(); i++) l.states[i]->mu_product(products[i].item<double>());
}

static void move(const detail::StepLists<RAdamParamState>& l, const RAdamOptions& o) {
  const auto [beta1, beta2] = o.betas();
  cresset::_fused_radam_(l.params, l.grads, l.list([](auto& s) { return s.exp_avg(); }), l.list([](auto& s) { return s.exp_avg_sq(); }), l.steps(), o.lr(),
                         beta1, beta2, o.eps(), o.weight_decay(), o.decoupled_weight_decay(), o.maximize());
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
static void move(const detail::StepLists<AdadeltaParamState>& l, const AdadeltaOptions& o) {
  cresset::_fused_adadelta_(l.params, l.grads, l.list([](auto& s) { return s.square_avg(); }), l.list([](auto& s) { return s.acc_delta(); }), o.lr(), o.rho(),
                            o.eps(), o.weight_decay(), o.maximize());
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
static void move(const detail::StepLists<RpropParamState>& l, const RpropOptions& o) {
  const auto [shrink, grow] = o.etas();
  const auto [smallest, largest] = o.step_sizes();
  cresset::_fused_rprop_(l.params, l.grads, l.list([](auto& s) { return s.prev(); }), l.list([](auto& s) { return s.step_size(); }), shrink, grow, smallest,
                         largest, o.maximize());
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
static void move(const detail::StepLists<ASGDParamState>& l, const ASGDOptions& o) {
  const auto mus = l.list([](auto& s) { return cresset::full({}, s.mu(), kFloat); });
  const auto etas = l.list([](auto& s) { return cresset::full({}, s.eta(), kFloat); });
  cresset::_fused_asgd_(l.params, l.grads, l.list([](auto& s) { return s.ax(); }), mus, etas, l.steps(), o.lr(), o.lambd(), o.alpha(), o.t0(), o.weight_decay(),
                        o.maximize(), false);
  for (size_t i = 0; i < mus.size(); i++) l.states[i]->mu(mus[i].item<double>()).eta(etas[i].item<double>());
}

CRESSET_ELEMENTWISE_OPTIMIZER(Adamax)
CRESSET_ELEMENTWISE_OPTIMIZER(NAdam)
CRESSET_ELEMENTWISE_OPTIMIZER(RAdam)
CRESSET_ELEMENTWISE_OPTIMIZER(Adadelta)
CRESSET_ELEMENTWISE_OPTIMIZER(Rprop)
CRESSET_ELEMENTWISE_OPTIMIZER(ASGD)

}  // namespace cresset::optim
