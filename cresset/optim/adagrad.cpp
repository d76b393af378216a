#include "cresset/optim/adagrad.h"

#include "cresset/optim/fields.h"
#include "cresset/optim/step_lists.h"

namespace cresset::optim {

void AdagradOptions::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "lr", lr());
  detail::write(archive, "lr_decay", lr_decay());
  detail::write(archive, "weight_decay", weight_decay());
  detail::write(archive, "initial_accumulator_value", initial_accumulator_value());
  detail::write(archive, "eps", eps());
  detail::write_choice(archive, "maximize", maximize());
}
void AdagradOptions::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "lr", lr());
  detail::read(archive, "lr_decay", lr_decay());
  detail::read(archive, "weight_decay", weight_decay());
  detail::read(archive, "initial_accumulator_value", initial_accumulator_value());
  detail::read(archive, "eps", eps());
  detail::read_choice(archive, "maximize", maximize());
}

void AdagradParamState::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "step", step());
  detail::write(archive, "sum", sum());
}
void AdagradParamState::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "step", step());
  detail::read(archive, "sum", sum());
}

Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdagradOptions>(defaults)) {
  CRESSET_CHECK_VALUE(defaults.lr() >= 0, "Adagrad: invalid learning rate ", defaults.lr());
  CRESSET_CHECK_VALUE(defaults.lr_decay() >= 0, "Adagrad: invalid lr_decay value ", defaults.lr_decay());
  CRESSET_CHECK_VALUE(defaults.weight_decay() >= 0, "Adagrad: invalid weight_decay value ", defaults.weight_decay());
  CRESSET_CHECK_VALUE(defaults.initial_accumulator_value() >= 0, "Adagrad: invalid initial_accumulator_value ", defaults.initial_accumulator_value());
  CRESSET_CHECK_VALUE(defaults.eps() >= 0, "Adagrad: invalid epsilon value ", defaults.eps());
  for (const auto& group : param_groups_)
    for (const Tensor& p : group.params()) begin(p, static_cast<const AdagradOptions&>(group.options()));
}

AdagradParamState& Adagrad::begin(const Tensor& p, const AdagradOptions& options) {
  auto& state = state_of<AdagradParamState>(p);
  if (!state.sum().defined()) {
    NoGradGuard guard;
    state.sum(detail::zeros_beside(p));
    (p.is_complex() ? cresset::view_as_real(state.sum()) : state.sum()).fill_(options.initial_accumulator_value());
  }
  return state;
}

std::unique_ptr<OptimizerParamState> Adagrad::make_state() const { return std::make_unique<AdagradParamState>(); }

Tensor Adagrad::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (const auto& group : param_groups_)
    for (const Tensor& p : group.params())
      CRESSET_CHECK(!p.grad().defined() || p.grad().layout() == Layout::Strided || static_cast<const AdagradOptions&>(group.options()).weight_decay() == 0,
                    "Adagrad: weight_decay does not go with sparse gradients");
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const AdagradOptions&>(group.options());
    detail::StepLists<AdagradParamState> l;
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      auto& state = begin(p, o);
      state.step()++;
      l.add(p, &state);
    }
    cresset::_fused_adagrad_(l.params, l.grads, l.list([](auto& s) { return s.sum(); }), l.steps(), o.lr(), o.lr_decay(), o.weight_decay(), o.eps(),
                             o.maximize());
  }
  return loss;
}

}  // namespace cresset::optim
