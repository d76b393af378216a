#include "cresset/optim/rmsprop.h"

#include "cresset/kernels/optim.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/fused.h"

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
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const RMSpropOptions&>(group.options());
    for (Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      Tensor grad = o.maximize() ? p.grad().neg() : p.grad();
      auto& state = state_of<RMSpropParamState>(p);
      if (!state.square_avg().defined()) {
        state.square_avg(cresset::zeros_like(p, MemoryFormat::Preserve));
        if (o.momentum() > 0) state.momentum_buffer(cresset::zeros_like(p, MemoryFormat::Preserve));
        if (o.centered()) state.grad_avg(cresset::zeros_like(p, MemoryFormat::Preserve));
      }
      state.step()++;
      const Tensor buffer = o.momentum() > 0 ? state.momentum_buffer() : Tensor(), mean = o.centered() ? state.grad_avg() : Tensor();
      if (detail::can_fuse(p, {&grad, &state.square_avg(), &buffer, &mean})) {
        kernels::rmsprop_step(p.scalar_type(), detail::elements(p), p.data_ptr(), grad.data_ptr(), state.square_avg().data_ptr(), detail::pointer(buffer),
                              detail::pointer(mean), {o.lr(), o.alpha(), o.eps(), o.weight_decay(), o.momentum()});
        p.impl()->bump_version();
        continue;
      }
      if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
      state.square_avg().mul_(o.alpha()).addcmul_(grad, grad, 1 - o.alpha());
      Tensor average;
      if (o.centered()) {
        state.grad_avg().lerp_(grad, 1 - o.alpha());
        average = state.square_avg().addcmul(state.grad_avg(), state.grad_avg(), -1).sqrt_().add_(o.eps());
      } else {
        average = state.square_avg().sqrt().add_(o.eps());
      }
      if (o.momentum() > 0) {
        state.momentum_buffer().mul_(o.momentum()).addcdiv_(grad, average);
        p.add_(state.momentum_buffer(), -o.lr());
      } else {
        p.addcdiv_(grad, average, -o.lr());
      }
    }
  }
  return loss;
}

}  // namespace cresset::optim
