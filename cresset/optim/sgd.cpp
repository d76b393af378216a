#include "cresset/optim/sgd.h"

#include "cresset/optim/fields.h"
#include "cresset/optim/step_lists.h"

namespace cresset::optim {

void SGDOptions::serialize(serialize::OutputArchive& archive) const {
  detail::write(archive, "lr", lr());
  detail::write(archive, "momentum", momentum());
  detail::write(archive, "dampening", dampening());
  detail::write(archive, "weight_decay", weight_decay());
  detail::write(archive, "nesterov", nesterov());
  detail::write_choice(archive, "maximize", maximize());
}
void SGDOptions::serialize(serialize::InputArchive& archive) {
  detail::read(archive, "lr", lr());
  detail::read(archive, "momentum", momentum());
  detail::read(archive, "dampening", dampening());
  detail::read(archive, "weight_decay", weight_decay());
  detail::read(archive, "nesterov", nesterov());
  detail::read_choice(archive, "maximize", maximize());
}

void SGDParamState::serialize(serialize::OutputArchive& archive) const { detail::write(archive, "momentum_buffer", momentum_buffer()); }
void SGDParamState::serialize(serialize::InputArchive& archive) { detail::read(archive, "momentum_buffer", momentum_buffer()); }

SGD::SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults) : Optimizer(param_groups, std::make_unique<SGDOptions>(defaults)) {
  CRESSET_CHECK_VALUE(defaults.lr() >= 0, "SGD: invalid learning rate ", defaults.lr());
  CRESSET_CHECK_VALUE(defaults.momentum() >= 0, "SGD: invalid momentum value ", defaults.momentum());
  CRESSET_CHECK_VALUE(defaults.weight_decay() >= 0, "SGD: invalid weight_decay value ", defaults.weight_decay());
  CRESSET_CHECK_VALUE(!defaults.nesterov() || (defaults.momentum() > 0 && defaults.dampening() == 0),
                      "SGD: SGD: nesterov=True needs a momentum, and dampening of 0, got ", defaults.momentum(), " and ", defaults.dampening());
}

std::unique_ptr<OptimizerParamState> SGD::make_state() const { return std::make_unique<SGDParamState>(); }

Tensor SGD::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    detail::StepLists<SGDParamState> plain, begun, fresh;
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      if (o.momentum() == 0) {
        plain.add(p, nullptr);
        continue;
      }
      auto& state = state_of<SGDParamState>(p);
      (state.momentum_buffer().defined() ? begun : fresh).add(p, &state);
      if (state.momentum_buffer().defined()) continue;
      const bool sparse = p.grad().layout() != Layout::Strided && o.weight_decay() == 0;
      state.momentum_buffer(sparse ? p.grad().detach().clone() : detail::zeros_beside(p));
    }
    for (const auto* l : {&plain, &begun, &fresh}) {
      const auto buffers = l == &plain ? std::vector<Tensor>() : l->list([](auto& s) { return s.momentum_buffer(); });
      cresset::_fused_sgd_(l->params, l->grads, buffers, o.weight_decay(), o.momentum(), o.lr(), o.dampening(), o.nesterov(), o.maximize(), l == &fresh);
    }
  }
  return loss;
}

}  // namespace cresset::optim
