#include "cresset/optim/sparse_adam.h"

#include <cmath>

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
      CRESSET_CHECK(!p.grad().defined() || p.grad().layout() == Layout::Sparse,
                    "SparseAdam: dense gradients are not supported, please consider Adam instead");
  for (auto& group : param_groups_) {
    const auto& o = static_cast<const SparseAdamOptions&>(group.options());
    const auto [beta1, beta2] = o.betas();
    for (Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      auto& state = state_of<SparseAdamParamState>(p);
      if (!state.exp_avg().defined()) state.exp_avg(detail::zeros_beside(p)).exp_avg_sq(detail::zeros_beside(p));
      state.step()++;
      const Tensor grad = (o.maximize() ? p.grad().neg() : p.grad()).coalesce();
      if (grad._nnz() == 0) continue;
      const Tensor indices = grad.indices(), values = grad.values();
      const auto move = [&](Tensor& target, const Tensor& change) { target.add_(_sparse_coo_tensor_unsafe(indices, change, grad.sizes())._coalesced_(true)); };
      const Tensor first = state.exp_avg().sparse_mask(grad).values(), second = state.exp_avg_sq().sparse_mask(grad).values();
      const Tensor first_change = (values - first) * (1 - beta1), second_change = (values * values - second) * (1 - beta2);
      move(state.exp_avg(), first_change);
      move(state.exp_avg_sq(), second_change);
      const auto steps = static_cast<double>(state.step());
      const double rate = o.lr() * std::sqrt(1 - std::pow(beta2, steps)) / (1 - std::pow(beta1, steps));
      move(p, (first + first_change) / ((second + second_change).sqrt() + o.eps()) * -rate);
    }
  }
  return loss;
}

}  // namespace cresset::optim
