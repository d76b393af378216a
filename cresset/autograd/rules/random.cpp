// Gradients of samples with respect to the parameters of their distributions.

#include "cresset/autograd/rules/rules.h"

namespace cresset::autograd::rules {

// Poisson numbers do not move with their rate.
Tensor sample_distribution_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t distribution) {
  CRESSET_CHECK(distribution != 1, "derivative for binomial is not implemented");
  return distribution == 2 ? grad * cresset::_standard_gamma_grad(self, result) : cresset::zeros_like(grad);
}

Tensor sample_slope_backward() {
  CRESSET_CHECK(false, "second derivatives of samples are not implemented");
  return {};
}

}  // namespace cresset::autograd::rules
