#include "cresset/optim/sgd.h"

#include "cresset/kernels/optim.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/fused.h"

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

SGD::SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults)
    : Optimizer(param_groups, std::make_unique<SGDOptions>(defaults)) {
  CRESSET_CHECK_VALUE(defaults.lr() >= 0, "SGD: invalid learning rate ", defaults.lr());
  CRESSET_CHECK_VALUE(defaults.momentum() >= 0, "SGD: invalid momentum value ", defaults.momentum());
  CRESSET_CHECK_VALUE(defaults.weight_decay() >= 0, "SGD: invalid weight_decay value ", defaults.weight_decay());
  CRESSET_CHECK_VALUE(!defaults.nesterov() || (defaults.momentum() > 0 && defaults.dampening() == 0),
                      "SGD: Nesterov momentum requires a momentum and zero dampening, got ", defaults.momentum(), " and ", defaults.dampening());
}

std::unique_ptr<OptimizerParamState> SGD::make_state() const { return std::make_unique<SGDParamState>(); }

namespace {

bool fused_step(Tensor& p, const Tensor& grad, Tensor* buffer, const SGDOptions& o) {
  const bool first = buffer && !buffer->defined();
  if (!detail::can_fuse(p, {&grad}) || (buffer && !detail::can_fuse(p, {buffer}))) return false;
  if (first) *buffer = cresset::empty_like(p, MemoryFormat::Preserve);
  kernels::sgd_step(p.scalar_type(), detail::elements(p), p.data_ptr(), grad.data_ptr(), buffer ? buffer->data_ptr() : nullptr,
                    {o.lr(), o.momentum(), o.dampening(), o.weight_decay(), o.nesterov(), false, first});
  p.impl()->bump_version();
  return true;
}

}  // namespace

Tensor SGD::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    for (Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      Tensor d = o.maximize() ? p.grad().neg() : p.grad();
      Tensor* const momentum_buffer = o.momentum() != 0 ? &state_of<SGDParamState>(p).momentum_buffer() : nullptr;
      if (fused_step(p, d, momentum_buffer, o)) continue;
      if (o.weight_decay() != 0) d = d.add(p, o.weight_decay());
      if (momentum_buffer) {
        Tensor& buffer = *momentum_buffer;
        if (buffer.defined()) buffer.mul_(o.momentum()).add_(d, 1 - o.dampening());
        else buffer = d.detach().clone();
        d = o.nesterov() ? d.add(buffer, o.momentum()) : buffer;
      }
      p.add_(d, -o.lr());
    }
  }
  return loss;
}

}  // namespace cresset::optim
