#pragma once
// Bessel and Airy functions, the incomplete gamma functions and others of their kind; all in double.

#include "cresset/kernels/expr/math.h"
#include "cresset/kernels/expr/single.h"

namespace cresset::kernels::expr {

namespace math {

constexpr double kPi = 3.14159265358979323846, kEuler = 0.57721566490153286061;

// e^-x times the modified Bessel function of the first kind of order 0 or 1, for x >= 0: its series, whose terms are all positive, then
// Hankel's expansion (DLMF 10.40.1).
CRESSET_EXPR double bessel_i_scaled(int order, double x) {
  if (x <= 21) {
    const double z = x * x / 4;
    double term = order ? x / 2 : 1, sum = term;
    for (int k = 1; term > sum * 1e-17; k++) sum += term *= z / (static_cast<double>(k) * (k + order));
    return sum * std::exp(-x);
  }
  if (x == inf<double>) return 0;
  double term = 1, sum = 1;
  for (int k = 1; k < 40; k++) {
    const double next = term * -(4.0 * order * order - (2.0 * k - 1) * (2 * k - 1)) / (8 * x * k);
    if (std::fabs(next) > std::fabs(term) || std::fabs(next) < 1e-18) break;
    sum += term = next;
  }
  return sum / std::sqrt(2 * kPi * x);
}
CRESSET_EXPR double bessel_i(int order, double x) {
  if (x != x) return x;
  const double a = std::fabs(x), e = a > 700 ? std::exp(a / 2) : 0;
  const double v = a == inf<double> ? a : a > 700 ? bessel_i_scaled(order, a) * e * e : bessel_i_scaled(order, a) * std::exp(a);
  return order && x < 0 ? -v : v;
}
CRESSET_EXPR double bessel_i_exp(int order, double x) {
  if (x != x) return x;
  const double v = bessel_i_scaled(order, std::fabs(x));
  return order && x < 0 ? -v : v;
}

struct PairOfK {
  double lower, upper;
};
// e^x times K of orders nu and nu + 1 for x >= 2, |nu| <= 1/2: N. M. Temme's continued fraction (J. Comput. Phys. 19, 1975).
CRESSET_EXPR PairOfK bessel_k_fraction(double nu, double x) {
  const double first = 0.25 - nu * nu;
  double b = 2 * (1 + x), d = 1 / b, step = d, h = d, q1 = 0, q2 = 1, c = first, q = first, a = -first, s = 1 + q * step;
  for (int i = 2; i < 10000; i++) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    const double next = (q1 - b * q2) / a;
    q1 = q2;
    q2 = next;
    q += c * next;
    b += 2;
    d = 1 / (b + a * d);
    step = (b * d - 1) * step;
    h += step;
    const double change = q * step;
    s += change;
    if (std::fabs(change) < std::fabs(s) * 1e-17) break;
  }
  const double lower = std::sqrt(kPi / (2 * x)) / s;
  return {lower, lower * (nu + x + 0.5 - first * h) / x};
}
// e^x K for x > 0: below 2 the series with a logarithm (DLMF 10.31.1).
CRESSET_EXPR double bessel_k_scaled(int order, double x) {
  if (x == inf<double>) return 0;
  if (x >= 2) {
    const PairOfK k = bessel_k_fraction(0, x);
    return order ? k.upper : k.lower;
  }
  const double z = x * x / 4, log_half = std::log(x / 2);
  double term = order ? x / 2 : 1, psi = order ? 1 - 2 * kEuler : -2 * kEuler, sum = 0;
  // psi(k + 1) + psi(k + 1 + order)
  for (int k = 0; k < 40; k++) {
    sum += term * (psi - 2 * log_half);
    psi += 1.0 / (k + 1) + 1.0 / (k + 1 + order);
    term *= z / ((k + 1.0) * (k + 1 + order));
  }
  const double v = order ? 1 / x - sum / 2 : sum / 2;
  return v * std::exp(x);
}
CRESSET_EXPR double bessel_k_exp(int order, double x) {
  if (x != x || x < 0) return nan<double>;
  return x == 0 ? inf<double> : bessel_k_scaled(order, x);
}
CRESSET_EXPR double bessel_k(int order, double x) {
  const double v = bessel_k_exp(order, x);
  return x > 0 ? v * std::exp(-x) : v;
}

CRESSET_EXPR double bessel_y(int order, double x) {
  if (x != x || x < 0) return nan<double>;
  if (x == 0) return -inf<double>;
  return order ? ::y1(x) : ::y0(x);
}
CRESSET_EXPR double spherical_j0(double x) {
  if (std::isinf(x)) return 0;
  if (std::fabs(x) < 0.5) {
    const double z = x * x;
    return poly(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800);
  }
  return std::sin(x) / x;
}

// Ai: Taylor's series between -8 and 2, K of order 1/3 above, the oscillating expansion below (DLMF 9.4.1, 9.6.2, 9.7.9).
CRESSET_EXPR double airy_ai(double x) {
  if (x != x) return x;
  if (std::isinf(x)) return x > 0 ? 0 : nan<double>;
  if (x > 2.1) {
    const double zeta = 2.0 / 3 * x * std::sqrt(x);
    return zeta > 740 ? 0 : std::sqrt(x / 3) / kPi * bessel_k_fraction(1.0 / 3, zeta).lower * std::exp(-zeta);
  }
  if (x > -8) {
    const long double y = x, cube = y * y * y;
    long double f = 1, g = y, sum_f = 1, sum_g = y;
    for (int k = 1; k < 120; k++) {
      f *= cube / ((3.0L * k - 1) * (3.0L * k));
      g *= cube / ((3.0L * k) * (3.0L * k + 1));
      sum_f += f;
      sum_g += g;
    }
    return static_cast<double>(0.355028053887817239260063L * sum_f - 0.258819403792806798405184L * sum_g);
  }
  const double a = -x, zeta = 2.0 / 3 * a * std::sqrt(a);
  double u = 1, even = 1, odd = 0, power = 1;
  for (int k = 1; k < 24; k++) {
    const double next = u * ((6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1)) / (216.0 * k * (2 * k - 1));
    const double scaled = next / (power * zeta);
    if (scaled > u / power || scaled < 1e-18) break;
    power *= zeta;
    u = next;
    (k % 2 ? odd : even) += (k / 2 % 2 ? -1 : 1) * u / power;
  }
  const double phase = zeta - kPi / 4;
  return (std::cos(phase) * even + std::sin(phase) * odd) / (std::sqrt(kPi) * std::sqrt(std::sqrt(a)));
}

// The regularised incomplete gamma functions P and Q: series below a + 1, continued fraction above (DLMF 8.11.4, 8.9.2).
CRESSET_EXPR double gamma_scale(double a, double x) { return std::exp(a * std::log(x) - x - lgamma(a)); }
CRESSET_EXPR double gamma_series(double a, double x, double tolerance) {
  double term = 1 / a, sum = term;
  for (double n = a + 1; term > sum * tolerance * 0.1 && n < a + 100000; n++) sum += term *= x / n;
  return sum * gamma_scale(a, x);
}
CRESSET_EXPR double gamma_fraction(double a, double x, double tolerance) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 100000; i++) {
    const double n = -i * (i - a);
    b += 2;
    d = n * d + b;
    d = 1 / (std::fabs(d) < 1e-300 ? 1e-300 : d);
    c = b + n / c;
    c = std::fabs(c) < 1e-300 ? 1e-300 : c;
    const double step = d * c;
    h *= step;
    if (std::fabs(step - 1) < tolerance) break;
  }
  return h * gamma_scale(a, x);
}
CRESSET_EXPR double gamma_p(double a, double x, double tolerance) {
  if (!(a >= 0) || !(x >= 0)) return nan<double>;
  if (a == 0) return x > 0 ? 1 : nan<double>;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? nan<double> : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? gamma_series(a, x, tolerance) : 1 - gamma_fraction(a, x, tolerance);
}
CRESSET_EXPR double gamma_q(double a, double x, double tolerance) {
  if (!(a >= 0) || !(x >= 0)) return nan<double>;
  if (a == 0) return x > 0 ? 0 : nan<double>;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? nan<double> : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - gamma_series(a, x, tolerance) : gamma_fraction(a, x, tolerance);
}

// For results in single precision: numerators and denominators apart, as divisions are most of the time of the loops above. Two terms
// of the series at once; a below 100 keeps its products finite.
CRESSET_EXPR double gamma_series_single(double a, double x) {
  double power = 1, product = 1, sum = 1;
  for (double n = a + 1; power > sum * 1e-13; n += 2) {
    const double both = n * (n + 1), next = power * x;
    power = next * x;
    product *= both;
    sum = sum * both + (next * (n + 1) + power);
  }
  return sum / (product * a) * gamma_scale(a, x);
}
CRESSET_EXPR double gamma_fraction_single(double a, double x) {
  double b = x + 1 - a, above_before = 0, above = 1, below_before = 1, below = b;
  for (int i = 1; i < 100000; i++) {
    const double n = i * (a - i);
    b += 2;
    const double next_above = b * above + n * above_before, next_below = b * below + n * below_before;
    above_before = above, below_before = below;
    above = next_above, below = next_below;
    const double gap = above * below_before - above_before * below;
    if (std::fabs(gap) <= std::fabs(above * below_before) * 1e-10) break;
    if (std::fabs(below) > 1e100) above *= 1e-100, above_before *= 1e-100, below *= 1e-100, below_before *= 1e-100;
  }
  return above / below * gamma_scale(a, x);
}
// The series also where it takes fewer steps than the fraction, as long as 1 less it keeps its digits.
CRESSET_EXPR bool gamma_takes_series(double a, double x) { return a > 0 && a < 100 && x > 0 && x < (a < 5 ? 6 : a + 1); }
CRESSET_EXPR bool gamma_takes_fraction(double a, double x) { return a > 0 && a < 1e4 && x >= a + 1 && x < 1e5; }
CRESSET_EXPR double gamma_p_single(double a, double x) {
  if (gamma_takes_series(a, x)) return gamma_series_single(a, x);
  return gamma_takes_fraction(a, x) ? 1 - gamma_fraction_single(a, x) : gamma_p(a, x, 1e-10);
}
CRESSET_EXPR double gamma_q_single(double a, double x) {
  if (gamma_takes_series(a, x)) {
    const double q = 1 - gamma_series_single(a, x);
    if (q > 1e-5 || x < a + 1) return q;
  }
  return gamma_takes_fraction(a, x) ? gamma_fraction_single(a, x) : gamma_q(a, x, 1e-10);
}

CRESSET_EXPR double zeta(double s, double q) {
  if (s == 1) return inf<double>;
  if (!(s > 1)) return nan<double>;
  if (q <= 0) {
    if (q == std::floor(q)) return inf<double>;
    if (s != std::floor(s)) return nan<double>;
  }
  if (std::isinf(q)) return 0;
  // Euler and Maclaurin's formula wants q beyond s.
  double sum = 0;
  while (q < s) {
    const double term = std::pow(q, -s);
    sum += term;
    q += 1;
    if (std::fabs(term) < std::fabs(sum) * 1e-18) return sum;
  }
  return sum + hurwitz_zeta(s, q);
}

// e^(x^2) erfc(x).
CRESSET_EXPR double erfcx(double x) {
  if (x != x) return x;
  if (x < -26.7) return inf<double>;
  if (x < 8) {
    // The square's rounding is made good for.
    const double square = x * x, low = std::fma(x, x, -square);
    return std::exp(square) * std::erfc(x) * (1 + low);
  }
  const double z = 1 / (2 * x * x);
  double term = 1, sum = 1;
  for (int k = 1; k < 20 && std::fabs(term) > 1e-18; k++) sum += term *= -(2 * k - 1) * z;
  return sum / (x * 1.77245385090551602730);
}
CRESSET_EXPR double log_ndtr(double x) {
  constexpr double half_root = 0.70710678118654752440;
  if (x < -1) return std::log(erfcx(-x * half_root) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x * half_root) / 2);
}
// Newton's method on log_ndtr from a rational start (Abramowitz & Stegun 26.2.23).
CRESSET_EXPR double ndtri(double probability) {
  if (!(probability > 0 && probability < 1)) return probability == 0 ? -inf<double> : probability == 1 ? inf<double> : nan<double>;
  const bool upper = probability > 0.5;
  const double p = upper ? 1 - probability : probability;
  double x;
  if (p > 0.05) {
    x = 1.41421356237309504880 * erfinv(2 * p - 1);
  } else {
    const double l = std::log(p), t = std::sqrt(-2 * l);
    x = poly(t, 2.515517, 0.802853, 0.010328) / poly(t, 1.0, 1.432788, 0.189269, 0.001308) - t;
    for (int i = 0; i < 4; i++) x -= (log_ndtr(x) - l) * erfcx(-x * 0.70710678118654752440) * 1.25331413731550025121;
  }
  return upper ? -x : x;
}

}  // namespace math

#define CRESSET_DOUBLE_1(Name, call)                                                                             \
  struct Name : Signature<1, 0, kFloats> {                                                                       \
    CRESSET_EXPR double operator()(double a) const { return call; }                                              \
    CRESSET_EXPR float operator()(float a) const { return static_cast<float>((*this)(static_cast<double>(a))); } \
  };
#define CRESSET_DOUBLE_2(Name, call)                                                                                                              \
  struct Name : Signature<2, 0, kFloats> {                                                                                                        \
    CRESSET_EXPR double operator()(double a, double b) const { return call; }                                                                     \
    CRESSET_EXPR float operator()(float a, float b) const { return static_cast<float>((*this)(static_cast<double>(a), static_cast<double>(b))); } \
  };
// Those whose float version has no branches.
#define CRESSET_SINGLE_1(Name, call, single_call)                   \
  struct Name : Signature<1, 0, kFloats> {                          \
    static constexpr bool heavy = true;                             \
    CRESSET_EXPR double operator()(double a) const { return call; } \
    CRESSET_EXPR float operator()(float x) const {                  \
      const double a = x;                                           \
      return static_cast<float>(single_call);                       \
    }                                                               \
  };
// The same for functions that oscillate: beyond `limit` the reduction of their phase loses digits.
#define CRESSET_SINGLE_WAVE(Name, call, single_call, limit)                                                  \
  struct Name : Signature<1, 0, kFloats> {                                                                   \
    static constexpr bool heavy = true, has_far = true;                                                      \
    template <class T> CRESSET_EXPR static bool far(T a) { return !(math::abs(a) < T(limit)); }              \
    CRESSET_EXPR static double at_far(double a) { return call; }                                             \
    CRESSET_EXPR static float at_far(float a) { return static_cast<float>(at_far(static_cast<double>(a))); } \
    CRESSET_EXPR double operator()(double a) const { return at_far(a); }                                     \
    CRESSET_EXPR float operator()(float x) const {                                                           \
      const double a = x;                                                                                    \
      return static_cast<float>(single_call);                                                                \
    }                                                                                                        \
  };
CRESSET_SINGLE_1(I0, math::bessel_i(0, a), math::single::bessel_i_plain(0, a))
CRESSET_SINGLE_1(I1, math::bessel_i(1, a), math::single::bessel_i_plain(1, a))
CRESSET_SINGLE_1(I0e, math::bessel_i_exp(0, a), math::single::bessel_i_scaled(0, a))
CRESSET_SINGLE_1(I1e, math::bessel_i_exp(1, a), math::single::bessel_i_scaled(1, a))
CRESSET_SINGLE_1(K0, math::bessel_k(0, a), math::single::bessel_k_plain(0, a))
CRESSET_SINGLE_1(K1, math::bessel_k(1, a), math::single::bessel_k_plain(1, a))
CRESSET_SINGLE_1(K0e, math::bessel_k_exp(0, a), math::single::bessel_k_scaled(0, a))
CRESSET_SINGLE_1(K1e, math::bessel_k_exp(1, a), math::single::bessel_k_scaled(1, a))
CRESSET_SINGLE_WAVE(BesselJ0, ::j0(a), math::single::bessel_j(0, a), 1e6)
CRESSET_SINGLE_WAVE(BesselJ1, ::j1(a), math::single::bessel_j(1, a), 1e6)
CRESSET_SINGLE_WAVE(BesselY0, math::bessel_y(0, a), math::single::bessel_y(0, a), 1e6)
CRESSET_SINGLE_WAVE(BesselY1, math::bessel_y(1, a), math::single::bessel_y(1, a), 1e6)
CRESSET_SINGLE_WAVE(SphericalJ0, math::spherical_j0(a), math::single::spherical_j0(a), 1e6)
CRESSET_SINGLE_WAVE(AiryAi, math::airy_ai(a), math::single::airy_ai(a), 1e4)
CRESSET_SINGLE_1(Ndtri, math::ndtri(a), math::single::ndtri(a))
#undef CRESSET_SINGLE_1
#undef CRESSET_SINGLE_WAVE
CRESSET_DOUBLE_1(Erfcx, math::erfcx(a))
struct Igamma : Signature<2, 0, kFloats> {
  CRESSET_EXPR double operator()(double a, double x) const { return math::gamma_p(a, x, 1e-16); }
  CRESSET_EXPR float operator()(float a, float x) const { return static_cast<float>(math::gamma_p_single(a, x)); }
};
struct Igammac : Signature<2, 0, kFloats> {
  CRESSET_EXPR double operator()(double a, double x) const { return math::gamma_q(a, x, 1e-16); }
  CRESSET_EXPR float operator()(float a, float x) const { return static_cast<float>(math::gamma_q_single(a, x)); }
};
CRESSET_DOUBLE_2(Zeta, math::zeta(a, b))

struct Ndtr : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = std::is_same_v<T, float>;
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::normal_cdf(a); }
};
struct LogNdtr : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = std::is_same_v<T, float>;
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (std::is_same_v<T, double>) return math::log_ndtr(a);
    else return math::log_normal_cdf(a);
  }
};
struct Entr : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = is_float<T>;
  template <class T> CRESSET_EXPR T operator()(T a) const {
    using R = math::Real<T>;
    return select(a == T(R(0)), T(R(0)), select(a < T(R(0)), T(-math::inf<R>), -(a * math::log(a))));
  }
};
struct Xlog1py : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = is_float<T>;
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    using R = math::Real<T>;
    return select(b != b, b, select(a == T(R(0)), T(R(0)), a * math::log1p(b)));
  }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// clang-format off
#define CRESSET_BESSEL_KERNELS(X)                                                                                      \
  X(i0, I0) X(i1, I1) X(i0e, I0e) X(i1e, I1e) X(k0, K0) X(k1, K1) X(k0e, K0e) X(k1e, K1e) X(bessel_j0, BesselJ0)       \
  X(bessel_j1, BesselJ1) X(bessel_y0, BesselY0) X(bessel_y1, BesselY1) X(spherical_j0, SphericalJ0) X(airy_ai, AiryAi) \
  X(ndtr, Ndtr) X(log_ndtr, LogNdtr) X(ndtri, Ndtri) X(entr, Entr) X(xlog1py, Xlog1py)
// clang-format on

#define CRESSET_SERIES_GAMMA_KERNELS(X) X(erfcx, Erfcx) X(igamma, Igamma) X(igammac, Igammac) X(zeta, Zeta)
