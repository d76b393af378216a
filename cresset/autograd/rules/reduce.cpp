#include <cmath>

#include "cresset/autograd/rules/rules.h"
#include "cresset/core/layers.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::autograd::rules {

using ops::wrap_dim;

namespace {

uint64_t mask_of(OptionalIntArrayRef dim, int64_t n) {
  if (!dim || dim.value().empty()) return (uint64_t{1} << n) - 1;
  return ops::dim_mask(dim.value(), n);
}

// Puts reduced dimensions back as size 1.
Tensor restore(const Tensor& t, int64_t n, OptionalIntArrayRef dim, bool keepdim) {
  if (keepdim || n == 0 || t.dim() == n) return t;
  const uint64_t mask = mask_of(dim, n);
  Tensor r = t;
  for (int64_t d = 0; d < n; d++)
    if (mask >> d & 1) r = r.unsqueeze(d);
  return r;
}

int64_t reduced_count(IntArrayRef sizes, OptionalIntArrayRef dim) {
  const uint64_t mask = mask_of(dim, static_cast<int64_t>(sizes.size()));
  int64_t count = 1;
  for (size_t d = 0; d < sizes.size(); d++)
    if (mask >> d & 1) count *= sizes[d];
  return count;
}

// The product of all other elements along dim: cumulative products from both ends, exact with zeros.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  DimVector edge(x.sizes());
  edge[dim] = 1;
  const Tensor one = cresset::ones(edge, x.options());
  const Tensor before = cresset::cat({one, x.narrow(dim, 0, n - 1)}, dim).cumprod(dim);
  const Tensor after = cresset::cat({one, x.narrow(dim, 1, n - 1).flip(IntArrayRef(dim))}, dim).cumprod(dim).flip(IntArrayRef(dim));
  return before * after;
}

}  // namespace

Tensor sum_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim) {
  if (grad.dim() == 0) return grad.expand(sizes);
  return restore(grad, static_cast<int64_t>(sizes.size()), dim, keepdim).expand(sizes);
}

Tensor nansum_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return sum_backward(grad, self.sizes(), dim, keepdim) * self.isnan().logical_not();
}

Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim) {
  return sum_backward(grad, sizes, dim, keepdim) / reduced_count(sizes, dim);
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor&) {
  if (self.numel() == 0) return self * grad;
  return grad * product_of_others(self.reshape({-1}), 0).view(self.sizes()).conj();
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return prod_backward(grad, self, result);
  const int64_t d = wrap_dim(dim, self.dim());
  if (self.numel() == 0) return self * restore(grad, self.dim(), d, keepdim);
  const Tensor g = restore(grad, self.dim(), d, keepdim);
  if (!keepdim && CRESSET_UNLIKELY(dispatch::is_listening())) result.unsqueeze(d);  // a step that PyTorch's programs see here
  return g * product_of_others(self, d).conj();
}

Tensor amax_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim) {
  if (self.dim() == 0) return grad;
  DimVector sizes(self.sizes());
  const uint64_t reduced = mask_of(dim, self.dim());
  for (int64_t d = 0; d < self.dim(); d++)
    if (reduced >> d & 1) sizes[static_cast<size_t>(d)] = 1;
  const Tensor mask = (keepdim ? result : result.view(sizes)) == self, g = keepdim ? grad : grad.view(sizes);
  return g / mask.sum(dim, true) * mask;
}

Tensor equals_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return grad;
  const Tensor mask = (self == result).logical_or(self.isnan().logical_and(result.isnan()));
  return grad / mask.sum() * mask;
}

Tensor select_value_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes, bool keepdim) {
  if (sizes.empty()) return grad.clone();
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  const Tensor g = keepdim ? grad : grad.unsqueeze(d), at = keepdim ? indices : indices.unsqueeze(d);
  return g.new_zeros(sizes).scatter(d, at, g);
}

Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim) {
  const double divisor = static_cast<double>(reduced_count(self.sizes(), dim)) - (correction ? correction->to<double>() : 1.0);
  if (!dim && divisor <= 0) {
    // Infinite whichever way the elements move, or not a number where they are all the same: not a function of them.
    const Tensor x = self.detach();
    return grad * full_like(x, HUGE_VAL).masked_fill(x == x.mean(), NAN);
  }
  const double factor = 2.0 / std::max(divisor, 0.0);
  if (grad.dim() == 0) return grad * factor * (self - self.mean());
  const Tensor g = restore(grad, self.dim(), dim, keepdim), centred = self - self.mean(dim, true);
  return g * factor * centred;
}

Tensor std_backward(const Tensor& result, const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
                    bool keepdim) {
  return var_backward((grad / (result * 2)).masked_fill_(result == 0, 0), self, dim, correction, keepdim);
}

Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
                         bool keepdim) {
  Tensor grad;
  if (grad_var.defined()) grad = var_backward(grad_var, self, dim, correction, keepdim);
  if (!grad_mean.defined()) return grad;
  const Tensor mean = mean_backward(grad_mean, self.sizes(), dim, keepdim);
  return grad.defined() ? grad + mean : mean;
}

Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim, const Tensor& result) {
  const double p = ord.to<double>();
  if (p == 0) return cresset::zeros_like(self);
  // A single number stretches as it is.
  const bool single = result.dim() == 0;
  const Tensor g = single ? grad : restore(grad, self.dim(), dim, keepdim);
  if (p == 1) return self.sgn() * g;
  const Tensor n = single ? result : restore(result, self.dim(), dim, keepdim);
  if (p == 2) return g * (self / n).masked_fill_(n == 0, 0);
  if (std::isinf(p)) {
    const Tensor mask = self.abs() == n;
    return self.sgn() * (g * mask / mask.sum(dim ? dim.value() : IntArrayRef(), true));
  }
  const Tensor magnitude = self.abs();
  // d|x|_p / dx = sgn(x) (|x| / |x|_p)^(p-1); below p = 2 the power has a pole at 0, where the subgradient 0 is taken.
  // From p = 3 on the second derivative is 0 there as well.
  const Tensor ratio = (magnitude / (p >= 3 ? n.masked_fill(n == 0, 1) : n)).pow(p - 1);
  return g * self.sgn() * ratio.masked_fill((n == 0).logical_or(magnitude == 0), 0);
}

Tensor cumsum_backward(const Tensor& grad, int64_t dim) {
  if (grad.numel() <= 1 || grad.dim() == 0) return grad;
  return grad.flip(IntArrayRef(dim)).cumsum(dim).flip(IntArrayRef(dim));
}

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result) {
  if (self.numel() <= 1 || self.dim() == 0) return grad;
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  if (!layer_state().grad_mode) {
    // dx_k = sum_{j >= k} grad_j * result_j / x_k as far as the first zero, which takes the products with a one in its place; beyond it
    // there is nothing.
    auto sum_of_rest = [&](const Tensor& x) { return x.flip(IntArrayRef(d)).cumsum(d).flip(IntArrayRef(d)); };
    const Tensor zero = self == 0, zeros = zero.cumsum(d), first = zero.logical_and(zeros == 1);
    const Tensor before = sum_of_rest(grad * result.conj()) / self.conj(), at = sum_of_rest(grad * self.masked_fill(first, 1).cumprod(d).conj());
    return cresset::where(zeros == 0, before, cresset::where(first, at, 0));
  }
  // dx_k = sum_{j >= k} grad_j * prod_{i <= j, i != k} x_i; the products are built with x_k replaced by 1, so zeros do no harm.
  std::vector<Tensor> columns;
  for (int64_t k = 0; k < n; k++) {
    DimVector edge(self.sizes());
    edge[d] = 1;
    std::vector<Tensor> parts;
    if (k > 0) parts.push_back(self.narrow(d, 0, k));
    parts.push_back(cresset::ones(edge, self.options()));
    if (k + 1 < n) parts.push_back(self.narrow(d, k + 1, n - k - 1));
    const Tensor products = cresset::cat(parts, d).cumprod(d).narrow(d, k, n - k);
    columns.push_back((grad.narrow(d, k, n - k) * products.conj()).sum(IntArrayRef(d), true));
  }
  return cresset::cat(columns, d);
}

Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (grad.dim() == 0 || grad.numel() == 0) return grad;
  auto reversed = [&](const Tensor& x) { return x.flip(IntArrayRef(dim)).logcumsumexp(dim).flip(IntArrayRef(dim)); };
  if (self.is_complex()) {
    // In the logarithm, where the exponential of a large result is finite.
    const Tensor low = cresset::full_like(grad, grad.scalar_type() == kComplexDouble ? -1e300 : -1e37);
    return (reversed(cresset::where(grad != 0, grad.log(), low) - result.conj()) + self.conj()).exp();
  }
  // Positive and negative parts apart, each in the logarithm.
  // The logarithm of an empty part is far down but finite: it must not meet the -inf of another.
  const ScalarType t = grad.scalar_type();
  const Tensor low = cresset::full_like(grad, t == kDouble ? -1e300 : t == kHalf ? -8e3 : -1e37);
  const Tensor positive = cresset::where(grad > 0, grad.abs().log(), low), negative = cresset::where(grad < 0, grad.abs().log(), low);
  return (reversed(positive - result) + self).exp() - (reversed(negative - result) + self).exp();
}

Tensor cummaxmin_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& indices, int64_t dim) {
  const Tensor zeros = cresset::zeros(sizes, grad.options());
  return sizes.empty() ? zeros + grad : zeros.scatter_add(dim, indices, grad);
}

}  // namespace cresset::autograd::rules
