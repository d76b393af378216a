#include "cresset/optim/adam.h"

#include "cresset/optim/fields.h"
#include "cresset/optim/step_lists.h"

namespace cresset::optim {

namespace {

template <class Options> void write_options(const Options& o, serialize::OutputArchive& archive) {
  detail::write(archive, "lr", o.lr());
  detail::write(archive, "beta1", std::get<0>(o.betas()));
  detail::write(archive, "beta2", std::get<1>(o.betas()));
  detail::write(archive, "eps", o.eps());
  detail::write(archive, "weight_decay", o.weight_decay());
  detail::write(archive, "amsgrad", o.amsgrad());
  detail::write_choice(archive, "maximize", o.maximize());
}

template <class Options> void read_options(Options& o, serialize::InputArchive& archive) {
  detail::read(archive, "lr", o.lr());
  detail::read(archive, "beta1", std::get<0>(o.betas()));
  detail::read(archive, "beta2", std::get<1>(o.betas()));
  detail::read(archive, "eps", o.eps());
  detail::read(archive, "weight_decay", o.weight_decay());
  detail::read(archive, "amsgrad", o.amsgrad());
  detail::read_choice(archive, "maximize", o.maximize());
}

template <class Options> void check_options(const char* name, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  CRESSET_CHECK_VALUE(o.lr() >= 0, name, ": invalid learning rate ", o.lr());
  CRESSET_CHECK_VALUE(o.eps() >= 0, name, ": invalid epsilon value ", o.eps());
  CRESSET_CHECK_VALUE(beta1 >= 0 && beta1 < 1, name, ": invalid beta parameter at index 0, got ", beta1);
  CRESSET_CHECK_VALUE(beta2 >= 0 && beta2 < 1, name, ": invalid beta parameter at index 1, got ", beta2);
  CRESSET_CHECK_VALUE(o.weight_decay() >= 0, name, ": invalid weight_decay value ", o.weight_decay());
}

// One call of `rule` for each group.
template <class Options, class StateOf, class Rule> void step_groups(std::vector<OptimizerParamGroup>& groups, StateOf state_of, Rule rule) {
  for (auto& group : groups) {
    const auto& o = static_cast<const Options&>(group.options());
    detail::StepLists<AdamParamState> l;
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      AdamParamState& state = state_of(p);
      if (!state.exp_avg().defined()) {
        state.exp_avg(detail::zeros_beside(p)).exp_avg_sq(detail::zeros_beside(p));
        if (o.amsgrad()) state.max_exp_avg_sq(detail::zeros_beside(p));
      }
      state.step()++;
      l.add(p, &state);
    }
    const auto [beta1, beta2] = o.betas();
    const auto largest = o.amsgrad() ? l.list([](auto& s) { return s.max_exp_avg_sq(); }) : std::vector<Tensor>();
    rule(l.params, l.grads, l.list([](auto& s) { return s.exp_avg(); }), l.list([](auto& s) { return s.exp_avg_sq(); }), largest, l.steps(), o.lr(), beta1,
         beta2, o.weight_decay(), o.eps(), o.amsgrad(), o.maximize());
  }
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

Adam::Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults) : Optimizer(param_groups, std::make_unique<AdamOptions>(defaults)) {
  check_options("Adam", defaults);
}
AdamW::AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults) : Optimizer(param_groups, std::make_unique<AdamWOptions>(defaults)) {
  check_options("AdamW", defaults);
}

std::unique_ptr<OptimizerParamState> Adam::make_state() const { return std::make_unique<AdamParamState>(); }
std::unique_ptr<OptimizerParamState> AdamW::make_state() const { return std::make_unique<AdamWParamState>(); }

Tensor Adam::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  detail::check_dense(param_groups_, "Adam");
  step_groups<AdamOptions>(
      param_groups_, [&](const Tensor& p) -> AdamParamState& { return state_of<AdamParamState>(p); },
      [](const auto&... given) { cresset::_fused_adam_(given...); });
  return loss;
}

Tensor AdamW::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  detail::check_dense(param_groups_, "AdamW");
  step_groups<AdamWOptions>(
      param_groups_, [&](const Tensor& p) -> AdamWParamState& { return state_of<AdamWParamState>(p); },
      [](const auto&... given) { cresset::_fused_adamw_(given...); });
  return loss;
}

}  // namespace cresset::optim
