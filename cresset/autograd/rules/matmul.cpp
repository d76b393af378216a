#include "cresset/autograd/rules/rules.h"

namespace cresset::autograd::rules {

Tensor scaled(const Tensor& x, const Scalar& factor) { return factor.equal(1) ? x : x * factor; }

Tensor product_like(const Tensor& a, const Tensor& b, IntArrayRef strides) {
  const bool by_columns = strides.size() == 2 && strides[0] == 1 && strides[1] > 1;
  return by_columns ? b.t().mm(a.t()).t() : a.mm(b);
}

}  // namespace cresset::autograd::rules
