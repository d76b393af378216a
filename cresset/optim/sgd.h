#pragma once
// Stochastic gradient descent, with momentum (Nesterov's too).

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

struct CRESSET_API SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(double, momentum) = 0;
  CRESSET_ARG(double, dampening) = 0;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(bool, nesterov) = false;
  CRESSET_ARG(bool, maximize) = false;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { this->lr(lr); }
};

struct CRESSET_API SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  CRESSET_ARG(Tensor, momentum_buffer);

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
};

class CRESSET_API SGD : public Optimizer {
 public:
  // Errors: negative rates; Nesterov without momentum or with dampening.
  explicit SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults);
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults) : SGD({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace cresset::optim
