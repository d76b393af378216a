#pragma once
// RMSprop: steps divided by a running root mean square of the gradients.

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

struct CRESSET_API RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(double, alpha) = 0.99;
  CRESSET_ARG(double, eps) = 1e-8;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(double, momentum) = 0;
  // Divides by the running standard deviation instead.
  CRESSET_ARG(bool, centered) = false;
  CRESSET_ARG(bool, maximize) = false;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { this->lr(lr); }
};

struct CRESSET_API RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, square_avg);
  CRESSET_ARG(Tensor, momentum_buffer) = {};
  CRESSET_ARG(Tensor, grad_avg) = {};

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
};

class CRESSET_API RMSprop : public Optimizer {
 public:
  // Errors: negative rates.
  explicit RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults = {});
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions defaults = {}) : RMSprop({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace cresset::optim
