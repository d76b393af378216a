#include "cresset/optim/adam.h"

#include <cmath>

#include "cresset/kernels/optim.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/fused.h"

namespace cresset::optim {

namespace {

template <class Options>
void write_options(const Options& o, serialize::OutputArchive& archive) {
  detail::write(archive, "lr", o.lr());
  detail::write(archive, "beta1", std::get<0>(o.betas()));
  detail::write(archive, "beta2", std::get<1>(o.betas()));
  detail::write(archive, "eps", o.eps());
  detail::write(archive, "weight_decay", o.weight_decay());
  detail::write(archive, "amsgrad", o.amsgrad());
  detail::write_choice(archive, "maximize", o.maximize());
}

template <class Options>
void read_options(Options& o, serialize::InputArchive& archive) {
  detail::read(archive, "lr", o.lr());
  detail::read(archive, "beta1", std::get<0>(o.betas()));
  detail::read(archive, "beta2", std::get<1>(o.betas()));
  detail::read(archive, "eps", o.eps());
  detail::read(archive, "weight_decay", o.weight_decay());
  detail::read(archive, "amsgrad", o.amsgrad());
  detail::read_choice(archive, "maximize", o.maximize());
}

template <class Options>
void check_options(const char* name, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  CRESSET_CHECK_VALUE(o.lr() >= 0, name, ": invalid learning rate ", o.lr());
  CRESSET_CHECK_VALUE(o.eps() >= 0, name, ": invalid epsilon value ", o.eps());
  CRESSET_CHECK_VALUE(beta1 >= 0 && beta1 < 1, name, ": invalid beta parameter at index 0, got ", beta1);
  CRESSET_CHECK_VALUE(beta2 >= 0 && beta2 < 1, name, ": invalid beta parameter at index 1, got ", beta2);
  CRESSET_CHECK_VALUE(o.weight_decay() >= 0, name, ": invalid weight_decay value ", o.weight_decay());
}

template <class Options>
void update(Tensor& p, AdamParamState& state, const Options& o, bool decoupled_decay) {
  const auto [beta1, beta2] = o.betas();
  Tensor grad = o.maximize() ? p.grad().neg() : p.grad();
  if (!state.exp_avg().defined()) {
    state.exp_avg(cresset::zeros_like(p, MemoryFormat::Preserve)).exp_avg_sq(cresset::zeros_like(p, MemoryFormat::Preserve));
    if (o.amsgrad()) state.max_exp_avg_sq(cresset::zeros_like(p, MemoryFormat::Preserve));
  }
  const int64_t step = ++state.step();
  const Tensor max = o.amsgrad() ? state.max_exp_avg_sq() : Tensor();
  if (detail::can_fuse(p, {&grad, &state.exp_avg(), &state.exp_avg_sq(), &max})) {
    kernels::adam_step(p.scalar_type(), detail::elements(p), p.data_ptr(), grad.data_ptr(), state.exp_avg().data_ptr(), state.exp_avg_sq().data_ptr(),
                       detail::pointer(max), {o.lr(), beta1, beta2, o.eps(), o.weight_decay(), step, decoupled_decay, false});
    p.impl()->bump_version();
    return;
  }
  if (o.weight_decay() != 0) {
    if (decoupled_decay) p.mul_(1 - o.lr() * o.weight_decay());
    else grad = grad.add(p, o.weight_decay());
  }
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(step));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(step));
  state.exp_avg().lerp_(grad, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  if (o.amsgrad()) state.max_exp_avg_sq(cresset::maximum(state.max_exp_avg_sq(), state.exp_avg_sq()));
  const Tensor denominator = ((o.amsgrad() ? state.max_exp_avg_sq() : state.exp_avg_sq()).sqrt() / std::sqrt(correction2)).add_(o.eps());
  p.addcdiv_(state.exp_avg(), denominator, -o.lr() / correction1);
}

}  // namespace

void AdamOptions::serialize(serialize::OutputArchive& archive) const { write_options(*this, archive); }
void AdamOptions::serialize(serialize::InputArchive& archive) { read_options(*this, archive); }
void AdamWOptions::serialize(serialize::OutputArchive& archive) const { write_options(*this, archive); }
void AdamWOptions::serialize(serialize::InputArchive& archive) { read_options(*this, archive); }

void AdamParamState::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "step", step());
  detail::write(archive, "exp_avg", exp_avg());
  detail::write(archive, "exp_avg_sq", exp_avg_sq());
  detail::write(archive, "max_exp_avg_sq", max_exp_avg_sq());
}
void AdamParamState::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "step", step());
  detail::read(archive, "exp_avg", exp_avg());
  detail::read(archive, "exp_avg_sq", exp_avg_sq());
  detail::read(archive, "max_exp_avg_sq", max_exp_avg_sq());
}

Adam::Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamOptions>(defaults)) {
  check_options("Adam", defaults);
}
AdamW::AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamWOptions>(defaults)) {
  check_options("AdamW", defaults);
}

std::unique_ptr<OptimizerParamState> Adam::make_state() const { return std::make_unique<AdamParamState>(); }
std::unique_ptr<OptimizerParamState> AdamW::make_state() const { return std::make_unique<AdamWParamState>(); }

Tensor Adam::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (auto& group : param_groups_)
    for (Tensor& p : group.params())
      if (p.grad().defined()) update(p, state_of<AdamParamState>(p), static_cast<const AdamOptions&>(group.options()), false);
  return loss;
}

Tensor AdamW::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (auto& group : param_groups_)
    for (Tensor& p : group.params())
      if (p.grad().defined()) update(p, state_of<AdamWParamState>(p), static_cast<const AdamWOptions&>(group.options()), true);
  return loss;
}

}  // namespace cresset::optim
