// Gradients of special functions.

#include "cresset/autograd/rules/rules.h"

namespace cresset::autograd::rules {

// I1 / x goes to 1/2 at 0.
Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor zero = self == 0, x = self.masked_fill(zero, 1);
  return grad * cresset::where(zero, cresset::full_like(self, 0.5), cresset::i0(x) - result / x);
}
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor zero = self == 0, x = self.masked_fill(zero, 1);
  return grad * cresset::where(zero, cresset::full_like(self, 0.5), cresset::special_i0e(x) - result * (x.sgn() + x.reciprocal()));
}
Tensor xlog1py_self_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor slope = other.log1p();
  return grad * cresset::where((self == 0).logical_and(other <= -1), cresset::zeros_like(slope), slope);
}
Tensor xlog1py_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other) { return grad * self / (other + 1); }
Tensor zeta_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other) { return -(grad * self * cresset::special_zeta(self + 1, other)); }

}  // namespace cresset::autograd::rules
