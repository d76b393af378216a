#pragma once
// Adam for gradients that are sparse: moments and parameters move only where there is a gradient. (Python: torch.optim.SparseAdam.)

#include <tuple>

#include "cresset/optim/elementwise.h"

namespace cresset::optim {

struct CRESSET_API SparseAdamOptions : public OptionsWithRate<SparseAdamOptions> {
  using betas_t = std::tuple<double, double>;
  SparseAdamOptions(double lr = 1e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(betas_t, betas) = betas_t(0.9, 0.999);
  CRESSET_ARG(double, eps) = 1e-8;
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API SparseAdamParamState : public ElementwiseParamState<SparseAdamParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, exp_avg);
  CRESSET_ARG(Tensor, exp_avg_sq);
};
extern template class OptionsWithRate<SparseAdamOptions>;
extern template class ElementwiseParamState<SparseAdamParamState>;

class CRESSET_API SparseAdam : public Optimizer {
 public:
  // Errors: rates and betas out of range, sparse parameters.
  explicit SparseAdam(const std::vector<OptimizerParamGroup>& param_groups, SparseAdamOptions defaults = {});
  explicit SparseAdam(std::vector<Tensor> params, SparseAdamOptions defaults = {})
      : SparseAdam({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  // Errors: a dense gradient; nothing has been moved then.
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace cresset::optim
