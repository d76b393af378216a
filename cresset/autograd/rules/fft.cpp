// Gradients of Fourier transforms. The transform is linear and its matrix symmetric, so that the conjugate Wirtinger derivative applies
// the conjugate matrix: the transform of the other direction with the same factor. Of real sides only what is real, or half, counts.

#include "cresset/autograd/rules/rules.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::autograd::rules {

Tensor fft_c2c_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, bool forward) {
  return cresset::_fft_c2c(grad, dim, normalization, !forward);
}

Tensor fft_r2c_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef dim, int64_t normalization, bool onesided) {
  const int64_t n = static_cast<int64_t>(sizes.size()), last = ops::wrap_dim(dim.back(), n);
  const int64_t missing = onesided ? sizes[static_cast<size_t>(last)] - grad.size(last) : 0;
  Tensor whole = grad;
  if (missing > 0) {
    whole = grad.new_zeros(sizes);
    whole.slice(last, 0, grad.size(last)).copy_(grad);
  }
  return cresset::real(cresset::_fft_c2c(whole, dim, normalization, false));
}

// Elements that stand for their mirror images too count twice.
Tensor fft_c2r_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization) {
  const Tensor half = cresset::_fft_r2c(grad, dim, normalization, true);
  const int64_t last = ops::wrap_dim(dim.back(), grad.dim()), doubled = grad.size(last) - half.size(last);
  if (doubled <= 0) return half;
  Tensor weights = cresset::ones({half.size(last)}, grad.options());
  weights.narrow(0, 1, doubled).fill_(2);
  DimVector shape(static_cast<size_t>(grad.dim()), 1);
  shape[static_cast<size_t>(last)] = half.size(last);
  return half * weights.view(shape);
}

}  // namespace cresset::autograd::rules
