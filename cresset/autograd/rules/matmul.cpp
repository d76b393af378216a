#include "cresset/autograd/rules/rules.h"

namespace cresset::autograd::rules {

Tensor scaled(const Tensor& x, const Scalar& factor) { return factor.is(1) ? x : x * factor; }

namespace {

bool by_columns(IntArrayRef strides) { return strides.size() == 2 && strides[0] == 1 && strides[1] > 1; }

}  // namespace

Tensor mm_left_backward(const Tensor& grad, const Tensor& right, IntArrayRef strides) {
  return by_columns(strides) ? right.conj().mm(grad.t()).t() : grad.mm(right.t().conj());
}
Tensor mm_right_backward(const Tensor& grad, const Tensor& left, IntArrayRef strides) {
  return by_columns(strides) ? grad.t().mm(left.conj()).t() : left.t().conj().mm(grad);
}

}  // namespace cresset::autograd::rules
