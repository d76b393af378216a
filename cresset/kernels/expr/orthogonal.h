#pragma once
// Orthogonal polynomials of x, of degree n by their three-term recurrences; 0 for negative degrees.

#include "cresset/kernels/expr/bessel.h"

namespace cresset::kernels::expr {

namespace math {

// next = (a x - c) p - b q, where step(k) gives what degree k + 1 takes.
template <class Step> CRESSET_EXPR double recurrence(double first, double degree, Step step) {
  // The degree is cut to an integer.
  if (!(degree > -1)) return 0;
  const int64_t n = static_cast<int64_t>(std::fmin(degree, 1e9));
  double before = 1, now = first;
  if (n == 0) return before;
  for (int64_t k = 1; k < n; k++) {
    const double next = step(static_cast<double>(k), now, before);
    before = now;
    now = next;
    if (now != now) break;
  }
  return now;
}
CRESSET_EXPR double chebyshev(double first, double x, double n) {
  return recurrence(first, n, [x](double, double p, double q) { return 2 * x * p - q; });
}
CRESSET_EXPR double hermite_h(double x, double n) {
  return recurrence(2 * x, n, [x](double k, double p, double q) { return 2 * (x * p - k * q); });
}
CRESSET_EXPR double hermite_he(double x, double n) {
  return recurrence(x, n, [x](double k, double p, double q) { return x * p - k * q; });
}
CRESSET_EXPR double laguerre(double x, double n) {
  return recurrence(1 - x, n, [x](double k, double p, double q) { return ((2 * k + 1 - x) * p - k * q) / (k + 1); });
}
CRESSET_EXPR double legendre(double x, double n) {
  return recurrence(x, n, [x](double k, double p, double q) { return ((2 * k + 1) * x * p - k * q) / (k + 1); });
}

}  // namespace math

CRESSET_DOUBLE_2(ChebyshevT, math::chebyshev(a, a, b))
CRESSET_DOUBLE_2(ChebyshevU, math::chebyshev(2 * a, a, b))
CRESSET_DOUBLE_2(ChebyshevV, math::chebyshev(2 * a - 1, a, b))
CRESSET_DOUBLE_2(ChebyshevW, math::chebyshev(2 * a + 1, a, b))
CRESSET_DOUBLE_2(ShiftedChebyshevT, math::chebyshev(2 * a - 1, 2 * a - 1, b))
CRESSET_DOUBLE_2(ShiftedChebyshevU, math::chebyshev(4 * a - 2, 2 * a - 1, b))
CRESSET_DOUBLE_2(ShiftedChebyshevV, math::chebyshev(4 * a - 3, 2 * a - 1, b))
CRESSET_DOUBLE_2(ShiftedChebyshevW, math::chebyshev(4 * a - 1, 2 * a - 1, b))
CRESSET_DOUBLE_2(HermiteH, math::hermite_h(a, b))
CRESSET_DOUBLE_2(HermiteHe, math::hermite_he(a, b))
CRESSET_DOUBLE_2(LaguerreL, math::laguerre(a, b))
CRESSET_DOUBLE_2(LegendreP, math::legendre(a, b))

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Inputs are the point and the degree.
// clang-format off
#define CRESSET_SERIES_ORTHOGONAL_KERNELS(X)                                                                                    \
  X(chebyshev_t, ChebyshevT) X(chebyshev_u, ChebyshevU) X(chebyshev_v, ChebyshevV) X(chebyshev_w, ChebyshevW)                   \
  X(shifted_chebyshev_t, ShiftedChebyshevT) X(shifted_chebyshev_u, ShiftedChebyshevU) X(shifted_chebyshev_v, ShiftedChebyshevV) \
  X(shifted_chebyshev_w, ShiftedChebyshevW) X(hermite_h, HermiteH) X(hermite_he, HermiteHe) X(laguerre_l, LaguerreL)            \
  X(legendre_p, LegendreP)
// clang-format on
