#pragma once
// Optimizers that treat every parameter by itself, by one formula in tensor operations: Adamax, NAdam, RAdam, Adadelta, Rprop, ASGD.
// Their options, defaults and numbers are those of PyTorch's Python optimizers; complex parameters count as pairs of real numbers.

#include <utility>

#include "cresset/optim/optimizer.h"

namespace cresset::optim {

template <class Derived> class CRESSET_API OptionsWithRate : public OptimizerCloneableOptions<Derived> {
 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
  double get_lr() const override { return static_cast<const Derived&>(*this).lr(); }
  void set_lr(double lr) override { static_cast<Derived&>(*this).lr(lr); }
};

template <class Derived> class CRESSET_API ElementwiseParamState : public OptimizerCloneableParamState<Derived> {
 public:
  void serialize(serialize::InputArchive& archive) override;
  void serialize(serialize::OutputArchive& archive) const override;
};

// The frame of a step: for each parameter with a gradient `start` makes a state where there is none, and `update` moves it.
template <class Options, class ParamState> class CRESSET_API ElementwiseOptimizer : public Optimizer {
 public:
  // Errors: ValueError for options out of range, and for parameters that the method cannot move.
  explicit ElementwiseOptimizer(const std::vector<OptimizerParamGroup>& param_groups, Options defaults = {});
  explicit ElementwiseOptimizer(std::vector<Tensor> params, Options defaults = {})
      : ElementwiseOptimizer({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
  // Errors: a sparse gradient; nothing has been moved then.
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
};

struct CRESSET_API AdamaxOptions : public OptionsWithRate<AdamaxOptions> {
  using betas_t = std::tuple<double, double>;
  AdamaxOptions(double lr = 2e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(betas_t, betas) = betas_t(0.9, 0.999);
  CRESSET_ARG(double, eps) = 1e-8;
  CRESSET_ARG(double, weight_decay) = 0;
  // Follows the gradient upwards.
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API AdamaxParamState : public ElementwiseParamState<AdamaxParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, exp_avg);
  CRESSET_ARG(Tensor, exp_inf);
};
extern template class OptionsWithRate<AdamaxOptions>;
extern template class ElementwiseParamState<AdamaxParamState>;
extern template class ElementwiseOptimizer<AdamaxOptions, AdamaxParamState>;
using Adamax = ElementwiseOptimizer<AdamaxOptions, AdamaxParamState>;

struct CRESSET_API NAdamOptions : public OptionsWithRate<NAdamOptions> {
  using betas_t = std::tuple<double, double>;
  NAdamOptions(double lr = 2e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(betas_t, betas) = betas_t(0.9, 0.999);
  CRESSET_ARG(double, eps) = 1e-8;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(double, momentum_decay) = 4e-3;
  // Shrinks the parameter itself instead of adding to the gradient.
  CRESSET_ARG(bool, decoupled_weight_decay) = false;
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API NAdamParamState : public ElementwiseParamState<NAdamParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(double, mu_product) = 1;  // of single precision
  CRESSET_ARG(Tensor, exp_avg);
  CRESSET_ARG(Tensor, exp_avg_sq);
};
extern template class OptionsWithRate<NAdamOptions>;
extern template class ElementwiseParamState<NAdamParamState>;
extern template class ElementwiseOptimizer<NAdamOptions, NAdamParamState>;
using NAdam = ElementwiseOptimizer<NAdamOptions, NAdamParamState>;

struct CRESSET_API RAdamOptions : public OptionsWithRate<RAdamOptions> {
  using betas_t = std::tuple<double, double>;
  RAdamOptions(double lr = 1e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(betas_t, betas) = betas_t(0.9, 0.999);
  CRESSET_ARG(double, eps) = 1e-8;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(bool, decoupled_weight_decay) = false;
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API RAdamParamState : public ElementwiseParamState<RAdamParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, exp_avg);
  CRESSET_ARG(Tensor, exp_avg_sq);
};
extern template class OptionsWithRate<RAdamOptions>;
extern template class ElementwiseParamState<RAdamParamState>;
extern template class ElementwiseOptimizer<RAdamOptions, RAdamParamState>;
using RAdam = ElementwiseOptimizer<RAdamOptions, RAdamParamState>;

struct CRESSET_API AdadeltaOptions : public OptionsWithRate<AdadeltaOptions> {
  AdadeltaOptions(double lr = 1.0) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(double, rho) = 0.9;
  CRESSET_ARG(double, eps) = 1e-6;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API AdadeltaParamState : public ElementwiseParamState<AdadeltaParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, square_avg);
  CRESSET_ARG(Tensor, acc_delta);
};
extern template class OptionsWithRate<AdadeltaOptions>;
extern template class ElementwiseParamState<AdadeltaParamState>;
extern template class ElementwiseOptimizer<AdadeltaOptions, AdadeltaParamState>;
using Adadelta = ElementwiseOptimizer<AdadeltaOptions, AdadeltaParamState>;

struct CRESSET_API RpropOptions : public OptionsWithRate<RpropOptions> {
  using pair_t = std::tuple<double, double>;
  RpropOptions(double lr = 1e-2) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  // By how much steps shrink where the gradient's sign has changed, and grow where it has not.
  CRESSET_ARG(pair_t, etas) = pair_t(0.5, 1.2);
  CRESSET_ARG(pair_t, step_sizes) = pair_t(1e-6, 50);
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API RpropParamState : public ElementwiseParamState<RpropParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, prev);
  CRESSET_ARG(Tensor, step_size);
};
extern template class OptionsWithRate<RpropOptions>;
extern template class ElementwiseParamState<RpropParamState>;
extern template class ElementwiseOptimizer<RpropOptions, RpropParamState>;
using Rprop = ElementwiseOptimizer<RpropOptions, RpropParamState>;

struct CRESSET_API ASGDOptions : public OptionsWithRate<ASGDOptions> {
  ASGDOptions(double lr = 1e-2) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(double, lambd) = 1e-4;
  CRESSET_ARG(double, alpha) = 0.75;
  // The step at which averaging starts.
  CRESSET_ARG(double, t0) = 1e6;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API ASGDParamState : public ElementwiseParamState<ASGDParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(double, eta) = 0;  // eta and mu are of single precision
  CRESSET_ARG(double, mu) = 1;
  CRESSET_ARG(Tensor, ax);
};
extern template class OptionsWithRate<ASGDOptions>;
extern template class ElementwiseParamState<ASGDParamState>;
extern template class ElementwiseOptimizer<ASGDOptions, ASGDParamState>;
using ASGD = ElementwiseOptimizer<ASGDOptions, ASGDParamState>;

}  // namespace cresset::optim
