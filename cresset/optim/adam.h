#pragma once
// Adam, and AdamW with its decoupled weight decay.

#include <tuple>

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

struct CRESSET_API AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
  using betas_t = std::tuple<double, double>;
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(betas_t, betas) = betas_t(0.9, 0.999);
  CRESSET_ARG(double, eps) = 1e-8;
  // Added to the gradient.
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(bool, amsgrad) = false;
  CRESSET_ARG(bool, maximize) = false;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { this->lr(lr); }
};

struct CRESSET_API AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
  using betas_t = std::tuple<double, double>;
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(betas_t, betas) = betas_t(0.9, 0.999);
  CRESSET_ARG(double, eps) = 1e-8;
  // Shrinks the parameter itself.
  CRESSET_ARG(double, weight_decay) = 1e-2;
  CRESSET_ARG(bool, amsgrad) = false;
  CRESSET_ARG(bool, maximize) = false;

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { this->lr(lr); }
};

struct CRESSET_API AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, exp_avg);
  CRESSET_ARG(Tensor, exp_avg_sq);
  CRESSET_ARG(Tensor, max_exp_avg_sq) = {};

 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
};
using AdamWParamState = AdamParamState;

class CRESSET_API Adam : public Optimizer {
 public:
  // Errors: negative rates, betas outside [0, 1).
  explicit Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {}) : Adam({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

class CRESSET_API AdamW : public Optimizer {
 public:
  explicit AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults = {});
  explicit AdamW(std::vector<Tensor> params, AdamWOptions defaults = {}) : AdamW({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

}  // namespace cresset::optim
