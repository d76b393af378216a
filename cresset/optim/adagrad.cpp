#include "cresset/optim/adagrad.h"

#include "cresset/kernels/optim.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/fused.h"

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
}

std::unique_ptr<OptimizerParamState> Adagrad::make_state() const { return std::make_unique<AdagradParamState>(); }

namespace {

// Moves the sum and the parameter only where there is a gradient.
void update_sparse(Tensor& p, const Tensor& given, Tensor& sum, double rate, double eps) {
  const Tensor grad = given.coalesce();
  if (grad._nnz() == 0) return;
  const Tensor values = grad.values();
  const auto stored = [&](const Tensor& v) { return _sparse_coo_tensor_unsafe(grad.indices(), v, grad.sizes())._coalesced_(true); };
  sum.add_(stored(values * values));
  p.add_(stored(values / (sum.sparse_mask(grad).values().sqrt() + eps)), -rate);
}

}  // namespace

Tensor Adagrad::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (const auto& group : param_groups_)
    for (const Tensor& p : group.params())
      CRESSET_CHECK(!p.grad().defined() || p.grad().layout() == Layout::Strided || static_cast<const AdagradOptions&>(group.options()).weight_decay() == 0,
                    "Adagrad: weight_decay does not go with sparse gradients");
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const AdagradOptions&>(group.options());
    for (Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      Tensor grad = o.maximize() ? p.grad().neg() : p.grad();
      auto& state = state_of<AdagradParamState>(p);
      if (!state.sum().defined()) state.sum(cresset::full_like(p, o.initial_accumulator_value(), {}, MemoryFormat::Preserve));
      state.step()++;
      const double rate = o.lr() / (1 + static_cast<double>(state.step() - 1) * o.lr_decay());
      if (grad.layout() != Layout::Strided) {
        update_sparse(p, grad, state.sum(), rate, o.eps());
        continue;
      }
      if (detail::can_fuse(p, {&grad, &state.sum()})) {
        kernels::adagrad_step(p.scalar_type(), detail::elements(p), p.data_ptr(), grad.data_ptr(), state.sum().data_ptr(), {rate, o.eps(), o.weight_decay()});
        p.impl()->bump_version();
        continue;
      }
      if (o.weight_decay() != 0) grad = grad.add(p, o.weight_decay());
      state.sum().addcmul_(grad, grad, 1.0);
      p.addcdiv_(grad, state.sum().sqrt().add_(o.eps()), -rate);
    }
  }
  return loss;
}

}  // namespace cresset::optim
