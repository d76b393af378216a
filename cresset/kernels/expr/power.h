#pragma once
// x^y without branches, for loops that vectorise.

#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr::math {

// The power with x's sign, from the magnitude |x|^y: of a negative base only integers are powers.
template <class T> CRESSET_EXPR T signed_power(T x, T y, T magnitude) {
  const bool whole = std::floor(y) == y, odd = whole & (std::floor(y * T(0.5)) != y * T(0.5));
  const T flipped = odd ? -magnitude : magnitude;
  const bool outside = (x < 0) & (x != -inf<T>)&!whole;
  return bits_of(x) < 0 ? (outside ? nan<T> : flipped) : magnitude;
}

// log of the magnitude of a float, whose exponent is a normal one here.
CRESSET_EXPR double log_magnitude(double a) {
  const double minus_e = minus_exponent(a), l = log1p_poly(scale_normal(a, minus_e) - 1);
  const double value = fma(minus_e, -Format<double>::ln2_high, fma(minus_e, -Format<double>::ln2_low, l));
  return a == 0 ? -inf<double> : a < inf<double> ? value : a;
}

CRESSET_EXPR float pow(float base, float exponent) {
  // Beyond these limits floats are 0 or infinite. Where a double is not needed, floats decide, of which there are twice as many
  // in a vector.
  const double power = exp_normal(clamp_exp(exponent * log_magnitude(abs(base)), -110, 100));
  // 0 times an infinite logarithm, or a logarithm of 0 times infinity, is 0 here.
  const bool one = (exponent == 0) | ((abs(base) == 1) & (exponent == exponent));
  const float value = signed_power(base, exponent, one ? 1.0f : static_cast<float>(power));
  return (base == 1) | (exponent == 0) ? 1.0f : value;
}

// Where pow below leaves the C library's to the rest.
CRESSET_EXPR bool far_power(float, float) { return false; }
CRESSET_EXPR bool far_power(double x, double y) {
  if constexpr (!has_fma) return true;
  const double a = abs(x);
  return !((a >= Format<double>::min_normal * 8) & (a < inf<double>)&(abs(y) < 1e300));
}
// The logarithm as a sum of two doubles, to about 2^-68: log(m) = 2 atanh(s), s = (m - 1) / (m + 1).
CRESSET_EXPR double pow(double x, double y) {
  if constexpr (!has_fma) return std::pow(x, y);
  const double a = abs(x), e = exponent_of(a * 0.70710678118654752440) + 1, m = scale_normal(a * 0.25, 2 - e), f = m - 1;
  const double d = f + 2, d_low = f - (d - 2), s = f / d, s_low = (fma(-s, d, f) - s * d_low) / d;
  const double z = s * s, z_low = fma(s, s, -z) + 2 * s * s_low;
  const double q = poly(z, 0.4, 0.2857142857142938, 0.22222222221648819, 0.18181818336993139, 0.15384594791715248, 0.13334813973383514, 0.11705988109210039,
                        0.11725771649493978);
  const double c = fma(z, q, 0.66666666666666663), c_low = fma(z, q, 0.66666666666666663 - c) + 3.700743415417188e-17;
  const double t = z * c, t_low = fma(z, c, -t) + (z * c_low + z_low * c);
  const double u = s * t, u_low = fma(s, t, -u) + (s * t_low + s_low * t);
  // e ln2 + 2 s + u, each exact in its parts.
  const double part = 2 * s + u, part_low = (2 * s - part) + u + (2 * s_low + u_low);
  const double whole = e * 6.93147180369123816490e-01, l = whole + part, l_low = (whole - l) + part + fma(e, 1.90821492927058770002e-10, part_low);
  const double high = l + l_low, low = (l - high) + l_low;
  const double product = y * high, p = product < -760 ? -760 : product > 720 ? 720 : product, p_low = p == product ? fma(y, high, -product) + y * low : 0;
  const auto [r, n] = reduce_ln2(p);
  return signed_power(x, y, scale(exp_poly(r + p_low), n));
}

}  // namespace cresset::kernels::expr::math
