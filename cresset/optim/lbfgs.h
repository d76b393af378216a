#pragma once
// L-BFGS: quasi-Newton steps over all parameters of one group together; step() needs a closure.

#include <optional>
#include <string>
#include <vector>

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

struct CRESSET_API LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(int64_t, max_iter) = 20;
  // Absent: max_iter * 5 / 4.
  CRESSET_ARG(std::optional<int64_t>, max_eval) = std::nullopt;
  CRESSET_ARG(double, tolerance_grad) = 1e-7;
  CRESSET_ARG(double, tolerance_change) = 1e-9;
  CRESSET_ARG(int64_t, history_size) = 100;
  // "strong_wolfe", or absent for steps of fixed length.
  CRESSET_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { this->lr(lr); }
};

class CRESSET_API LBFGS : public Optimizer {
 public:
  // Errors: more than one group.
  explicit LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions defaults = {}) : LBFGS({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  // Errors: no closure; an unknown line search.
  Tensor step(LossClosure closure) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace cresset::optim
