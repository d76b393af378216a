#include "cresset/optim/rmsprop.h"

#include "cresset/optim/fields.h"
#include "cresset/optim/step_lists.h"

namespace cresset::optim {

void RMSpropOptions::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "lr", lr());
  detail::write(archive, "alpha", alpha());
  detail::write(archive, "eps", eps());
  detail::write(archive, "weight_decay", weight_decay());
  detail::write(archive, "momentum", momentum());
  detail::write(archive, "centered", centered());
  detail::write_choice(archive, "maximize", maximize());
}
void RMSpropOptions::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "lr", lr());
  detail::read(archive, "alpha", alpha());
  detail::read(archive, "eps", eps());
  detail::read(archive, "weight_decay", weight_decay());
  detail::read(archive, "momentum", momentum());
  detail::read(archive, "centered", centered());
  detail::read_choice(archive, "maximize", maximize());
}

void RMSpropParamState::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "step", step());
  detail::write(archive, "square_avg", square_avg());
  detail::write(archive, "momentum_buffer", momentum_buffer());
  detail::write(archive, "grad_avg", grad_avg());
}
void RMSpropParamState::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "step", step());
  detail::read(archive, "square_avg", square_avg());
  detail::read(archive, "momentum_buffer", momentum_buffer());
  detail::read(archive, "grad_avg", grad_avg());
}

RMSprop::RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults)
    : Optimizer(param_groups, std::make_unique<RMSpropOptions>(defaults)) {
  CRESSET_CHECK_VALUE(defaults.lr() >= 0, "RMSprop: invalid learning rate ", defaults.lr());
  CRESSET_CHECK_VALUE(defaults.eps() >= 0, "RMSprop: invalid epsilon value ", defaults.eps());
  CRESSET_CHECK_VALUE(defaults.momentum() >= 0, "RMSprop: invalid momentum value ", defaults.momentum());
  CRESSET_CHECK_VALUE(defaults.weight_decay() >= 0, "RMSprop: invalid weight_decay value ", defaults.weight_decay());
  CRESSET_CHECK_VALUE(defaults.alpha() >= 0, "RMSprop: invalid alpha value ", defaults.alpha());
}

std::unique_ptr<OptimizerParamState> RMSprop::make_state() const { return std::make_unique<RMSpropParamState>(); }

Tensor RMSprop::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  detail::check_dense(param_groups_, "RMSprop");
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const RMSpropOptions&>(group.options());
    detail::StepLists<RMSpropParamState> l;
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      auto& state = state_of<RMSpropParamState>(p);
      if (!state.square_avg().defined()) {
        state.square_avg(detail::zeros_beside(p));
        if (o.momentum() > 0) state.momentum_buffer(detail::zeros_beside(p));
        if (o.centered()) state.grad_avg(detail::zeros_beside(p));
      }
      state.step()++;
      l.add(p, &state);
    }
    const auto buffers = o.momentum() > 0 ? l.list([](auto& s) { return s.momentum_buffer(); }) : std::vector<Tensor>();
    const auto means = o.centered() ? l.list([](auto& s) { return s.grad_avg(); }) : std::vector<Tensor>();
    cresset::_fused_rmsprop_(l.params, l.grads, l.list([](auto& s) { return s.square_avg(); }), buffers, means, o.lr(), o.alpha(), o.eps(), o.weight_decay(),
                             o.momentum(), o.maximize());
  }
  return loss;
}

}  // namespace cresset::optim
