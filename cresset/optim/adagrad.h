#pragma once
// Adagrad: steps divided by the root of the sum of all squared gradients.

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

struct CRESSET_API AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(double, lr_decay) = 0;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(double, initial_accumulator_value) = 0;
  CRESSET_ARG(double, eps) = 1e-10;
  CRESSET_ARG(bool, maximize) = false;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { this->lr(lr); }
};

struct CRESSET_API AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  CRESSET_ARG(Tensor, sum);
  CRESSET_ARG(int64_t, step) = 0;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
};

class CRESSET_API Adagrad : public Optimizer {
 public:
  // Gradients may be sparse, with weight_decay 0. Errors: negative rates.
  explicit Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults = {});
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {}) : Adagrad({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;

 private:
  // The state of a parameter, whose sums begin with the options' value.
  CRESSET_LOCAL AdagradParamState& begin(const Tensor& p, const AdagradOptions& options);
};

}  // namespace cresset::optim
