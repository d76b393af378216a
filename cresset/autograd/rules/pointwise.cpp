#include <cmath>

#include "cresset/autograd/rules/rules.h"

namespace cresset::autograd::rules {

namespace {

Tensor zeros_where(const Tensor& condition, const Tensor& value) { return value.masked_fill(condition, 0); }

}  // namespace

Scalar one_minus(const Scalar& weight) {
  if (weight.isComplex()) return complex<double>(1.0) - weight.toComplexDouble();
  return 1.0 - weight.as<double>();
}

Tensor div_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other) { return -grad * ((self / other) / other).conj(); }

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (exponent.is(0)) return cresset::zeros_like(self);
  if (exponent.is(2)) return grad * (exponent * self).conj();
  if (exponent.isComplex()) return grad * (exponent * self.pow(Scalar(exponent.to<complex<double>>() - complex<double>(1)))).conj();
  if (exponent.isIntegral(true)) return grad * (exponent * self.pow(Scalar(exponent.to<int64_t>() - 1))).conj();
  return grad * (exponent * self.pow(Scalar(exponent.to<double>() - 1))).conj();
}

Tensor pow_self_backward(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  return zeros_where(exponent == 0, grad * (exponent * self.pow(exponent - 1)).conj());
}

Tensor pow_exponent_backward(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
  // 0 to a non-negative power is constant in the exponent.
  Tensor constant = self == 0;
  constant = exponent.is_complex() ? constant.logical_and(cresset::real(exponent) >= 0) : constant.logical_and(exponent >= 0);
  // A negative base has a logarithm beside a complex exponent.
  const Tensor base = exponent.is_complex() && !self.is_complex() ? self.to(exponent.scalar_type()) : self;
  return zeros_where(constant, grad * (result * base.log()).conj());
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return cresset::zeros_like(self);
  const Tensor parts = cresset::view_as_real(self), x = parts.select(-1, 0), y = parts.select(-1, 1);
  const Tensor square = x * x + y * y, zero = square == 0;
  const Tensor gx = zeros_where(zero, -grad * y / square), gy = zeros_where(zero, grad * x / square);
  return cresset::view_as_complex(cresset::stack({gx, gy}, -1));
}

Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& sgn) {
  if (!self.is_complex()) return cresset::zeros_like(grad);
  const Tensor magnitude = self.abs();
  const Tensor g = (grad / magnitude - cresset::real(grad / sgn) * sgn / magnitude);
  return zeros_where(magnitude == 0, g);
}

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) { return grad * zeros_where(self == 0, result / self); }

Tensor xlogy_self_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return grad * zeros_where((self == 0).logical_and(other <= 0), other.log());
}

Tensor extreme_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor half = grad / 2;
  return cresset::where(self == other, half, grad);
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  const Tensor zero = cresset::scalar_tensor(0.0, grad.options());
  if (min && max) {
    Tensor inside = self >= *min;
    return cresset::where(inside.logical_and_(self <= *max), grad, zero);
  }
  if (min) return cresset::where(self >= *min, grad, zero);
  return max ? cresset::where(self <= *max, grad, zero) : grad;
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  Tensor g = grad;
  if (min && min->defined()) g = cresset::where(self >= *min, g, 0);
  if (max && max->defined()) g = cresset::where(self <= *max, g, 0);
  return g;
}

// A lower bound counts where it was applied and the upper one did not override it.
Tensor clamp_min_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  if (!min || !min->defined()) return {};
  Tensor active = self < *min;
  if (max && max->defined()) active = active.logical_and(*min < *max);
  return zeros_where(active.logical_not(), grad);
}

Tensor clamp_max_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  if (!max || !max->defined()) return {};
  Tensor active = self > *max;
  if (min && min->defined()) active = active.logical_or(*max < *min);
  return zeros_where(active.logical_not(), grad);
}

Tensor elu_double_backward(const Tensor& grad, const Tensor& grad_output, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, bool is_result,
                           const Tensor& x) {
  const double a = alpha.to<double>(), s = scale.to<double>(), i = input_scale.to<double>();
  // By the result y the slope is i (y + a s): its derivative is i. By the input it is s a i exp(i x): once more times i.
  const Tensor slope = is_result ? grad * grad_output * i : grad * grad_output * ((x * i).exp() * (s * a * i * i));
  return cresset::where(x < 0, slope, 0);
}

Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  const Tensor g = grad * grad_output;
  if (approximate == "none") {
    // x Phi(x) has the second derivative (2 - x^2) phi(x).
    const double kNorm = 1 / std::sqrt(2 * M_PI);
    return g * (2 - self.square()) * (self.square() * -0.5).exp() * kNorm;
  }
  const double k = std::sqrt(2 / M_PI), c = 0.044715;
  const Tensor inner = (self + self.pow(3) * c) * k, d1 = (self.square() * (3 * c) + 1) * k, d2 = self * (6 * c * k);
  const Tensor t = inner.tanh(), sech = 1 - t.square();
  return g * (sech * d1 + self * 0.5 * (sech * d2 - 2 * t * sech * d1.square()));
}

Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  const Tensor s = self.sigmoid(), d = s * (1 - s);
  return grad * grad_output * (d * (2 + self * (1 - 2 * s)));
}

Tensor mish_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  // y = x t with t = tanh(softplus(x)): y'' = 2 t' + x t''.
  const Tensor t = cresset::softplus(self).tanh(), s = self.sigmoid(), sech = 1 - t.square();
  const Tensor t1 = sech * s, t2 = sech * s * (1 - s) - 2 * t * sech * s.square();
  return grad * grad_output * (2 * t1 + self * t2);
}

Tensor softplus_double_backward(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  const double b = beta.to<double>();
  const Tensor s = (self * b).sigmoid();
  return zeros_where((self * b) > threshold, grad * s * (1 - s) * b);
}

}  // namespace cresset::autograd::rules
