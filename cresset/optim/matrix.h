#pragma once
// Optimizers that treat a matrix as such: Adafactor, whose squares are a row's and a column's means, and Muon, whose steps are orthogonal.

#include <array>
#include <string>

#include "cresset/optim/elementwise.h"

namespace cresset::optim {

struct CRESSET_API AdafactorOptions : public OptionsWithRate<AdafactorOptions> {
  AdafactorOptions(double lr = 1e-2) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  // The power of the step by which the weight of new squares falls.
  CRESSET_ARG(double, beta2_decay) = -0.8;
  // Guards of the squares (negative: the dtype's epsilon) and of the parameter's size.
  CRESSET_ARG(double, eps1) = -1;
  CRESSET_ARG(double, eps2) = 1e-3;
  // The root mean square from which updates are scaled down.
  CRESSET_ARG(double, d) = 1.0;
  CRESSET_ARG(double, weight_decay) = 0;
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API AdafactorParamState : public ElementwiseParamState<AdafactorParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, row_var);
  CRESSET_ARG(Tensor, col_var);
  CRESSET_ARG(Tensor, variance);
};
extern template class OptionsWithRate<AdafactorOptions>;
extern template class ElementwiseParamState<AdafactorParamState>;
extern template class ElementwiseOptimizer<AdafactorOptions, AdafactorParamState>;
using Adafactor = ElementwiseOptimizer<AdafactorOptions, AdafactorParamState>;

struct CRESSET_API MuonOptions : public OptionsWithRate<MuonOptions> {
  using coefficients_t = std::array<double, 3>;
  MuonOptions(double lr = 1e-3) : lr_(lr) {}
  CRESSET_ARG(double, lr);
  CRESSET_ARG(double, weight_decay) = 0.1;
  CRESSET_ARG(double, momentum) = 0.95;
  CRESSET_ARG(bool, nesterov) = true;
  // Of the iteration's x, x^3 and x^5.
  CRESSET_ARG(coefficients_t, ns_coefficients) = coefficients_t{3.4445, -4.775, 2.0315};
  CRESSET_ARG(double, eps) = 1e-7;
  CRESSET_ARG(int64_t, ns_steps) = 5;
  // "original" or "match_rms_adamw".
  CRESSET_ARG(std::string, adjust_lr_fn) = "original";
  CRESSET_ARG(bool, maximize) = false;
};
struct CRESSET_API MuonParamState : public ElementwiseParamState<MuonParamState> {
  CRESSET_ARG(int64_t, step) = 0;
  CRESSET_ARG(Tensor, momentum_buffer);
};
extern template class OptionsWithRate<MuonOptions>;
extern template class ElementwiseParamState<MuonParamState>;
extern template class ElementwiseOptimizer<MuonOptions, MuonParamState>;
using Muon = ElementwiseOptimizer<MuonOptions, MuonParamState>;

}  // namespace cresset::optim
