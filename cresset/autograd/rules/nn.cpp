#include "cresset/autograd/rules/rules.h"

namespace cresset::autograd::rules {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  // dx = y (g - sum(g y)); differentiated by y.
  const IntArrayRef d(dim);
  return grad * grad_output - grad_output * (grad * output).sum(d, true) - grad * (grad_output * output).sum(d, true);
}

Tensor sum_to_channels(const Tensor& grad) {
  DimVector dims{0};
  for (int64_t d = 2; d < grad.dim(); d++) dims.push_back(d);
  return grad.sum(dims);
}

}  // namespace cresset::autograd::rules
