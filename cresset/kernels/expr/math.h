#pragma once
// Elementary and special functions of float and double.

#include <cmath>

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr::math {

#define CRESSET_LIBM(name) \
  template <class T> CRESSET_EXPR T name(T x) { return std::name(x); }
CRESSET_LIBM(exp)
CRESSET_LIBM(expm1)
CRESSET_LIBM(exp2)
CRESSET_LIBM(log)
CRESSET_LIBM(log1p)
CRESSET_LIBM(log2)
CRESSET_LIBM(log10)
CRESSET_LIBM(sin)
CRESSET_LIBM(cos)
CRESSET_LIBM(tan)
CRESSET_LIBM(asin)
CRESSET_LIBM(acos)
CRESSET_LIBM(atan)
CRESSET_LIBM(sinh)
CRESSET_LIBM(cosh)
CRESSET_LIBM(tanh)
CRESSET_LIBM(asinh)
CRESSET_LIBM(acosh)
CRESSET_LIBM(atanh)
CRESSET_LIBM(erf)
CRESSET_LIBM(erfc)
#undef CRESSET_LIBM

template <class T> CRESSET_EXPR T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
template <class T> CRESSET_EXPR T normal_cdf(T x) { return T(0.5) * erfc(x * T(-0.70710678118654752440)); }
template <class T> CRESSET_EXPR T gelu(T x) { return x * normal_cdf(x); }
template <class T> CRESSET_EXPR T gelu_tanh(T x) { return x * sigmoid(x * (T(1.5957691216057308) + T(0.07135481282708) * x * x)); }

// The C library's lgamma writes a global sign.
CRESSET_EXPR float lgamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}
CRESSET_EXPR double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// Reflection below 0, recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.3.18).
CRESSET_EXPR double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return std::numeric_limits<double>::quiet_NaN();
    double whole;
    result = -3.14159265358979323846 / std::tan(3.14159265358979323846 * std::modf(x, &whole));
    x = 1 - x;
  }
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  if (x == 10) return result + 2.25175258906672110764;
  const double z = 1 / (x * x);
  const double series = x < 1e17 ? z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12)))))) : 0;
  return result + std::log(x) - 0.5 / x - series;
}
CRESSET_EXPR float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

// A start within 1e-3 (S. Winitzki), then Halley's method on erf, which triples the digits at each step.
CRESSET_EXPR double erfinv(double y) {
  const double a = std::fabs(y);
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y) : std::numeric_limits<double>::quiet_NaN();
  if (y == 0) return y;
  const double l = std::log1p(-a * a), t = 4.330746750799873 + l / 2;
  double x = std::sqrt(std::sqrt(t * t - l / 0.147) - t);
  for (int i = 0; i < 3; i++) {
    // The distance in the tail that is smaller keeps its digits.
    const double error = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    const double step = error / (1.12837916709551257390 * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}
CRESSET_EXPR float erfinv(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }

}  // namespace cresset::kernels::expr::math
