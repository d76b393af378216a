#include "cresset/optim/sparse_adam.h"

#include "cresset/optim/elementwise_frame.h"

namespace cresset::optim {

template <class F> static void fields(SparseAdamOptions& o, F&& f) {
  f("lr", o.lr());
  f("beta1", std::get<0>(o.betas()));
  f("beta2", std::get<1>(o.betas()));
  f("eps", o.eps());
  f("maximize", o.maximize());
}
template <class F> static void fields(SparseAdamParamState& s, F&& f) {
  f("step", s.step());
  f("exp_avg", s.exp_avg());
  f("exp_avg_sq", s.exp_avg_sq());
}
template class OptionsWithRate<SparseAdamOptions>;
template class ElementwiseParamState<SparseAdamParamState>;

SparseAdam::SparseAdam(const std::vector<OptimizerParamGroup>& param_groups, SparseAdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<SparseAdamOptions>(defaults)) {
  CRESSET_CHECK_VALUE(defaults.lr() > 0, "SparseAdam: invalid learning rate: ", defaults.lr());
  CRESSET_CHECK_VALUE(defaults.eps() > 0, "SparseAdam: invalid epsilon value: ", defaults.eps());
  detail::check_betas("SparseAdam", defaults.betas());
  for (const auto& group : param_groups_)
    for (const Tensor& p : group.params()) CRESSET_CHECK_VALUE(p.layout() == Layout::Strided, "SparseAdam: parameters must be dense");
}

std::unique_ptr<OptimizerParamState> SparseAdam::make_state() const { return std::make_unique<SparseAdamParamState>(); }

Tensor SparseAdam::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  for (const auto& group : param_groups_)
    for (const Tensor& p : group.params())
      CRESSET_CHECK(!p.grad().defined() || p.grad().layout() == Layout::Sparse, "SparseAdam: dense gradients are not supported, please consider Adam instead");
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const SparseAdamOptions&>(group.options());
    const auto [beta1, beta2] = o.betas();
    detail::StepLists<SparseAdamParamState> l;
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      auto& state = state_of<SparseAdamParamState>(p);
      if (!state.exp_avg().defined()) state.exp_avg(detail::zeros_beside(p)).exp_avg_sq(detail::zeros_beside(p));
      state.step()++;
      l.add(p, &state);
    }
    cresset::_fused_sparse_adam_(l.params, l.grads, l.list([](auto& s) { return s.exp_avg(); }), l.list([](auto& s) { return s.exp_avg_sq(); }), l.steps(),
                                 o.lr(), beta1, beta2, o.eps(), o.maximize());
  }
  return loss;
}

}  // namespace cresset::optim
