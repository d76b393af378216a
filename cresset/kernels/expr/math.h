#pragma once
// Elementary and special functions, where they are our own within 2.1 units in the last place of exact (tools/ulp.py), and
// within 4 where one is a product of others (silu, gelu, mish). Those that matter most are
// written for F: float, double, or a register full of either (kernels/gemm/cpu/pack.h), which brings its own versions of the primitives below.
// All are branch-free, so that loops of the scalar versions vectorise. Polynomials are minimax fits whose leading coefficients were
// rounded one after the other.

#include <cmath>

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr::math {

template <class T> struct Format;
template <> struct Format<float> {
  using Int = int32_t;
  static constexpr int mantissa = 23, bias = 127;
  // Adding it leaves the nearest integer in the low bits.
  static constexpr float magic = 12582912.0f;
  static constexpr int32_t magic_bits = 0x4b400000;
  // Few enough bits that products with exponents are exact.
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float min_normal = 1.17549435e-38f;
};
template <> struct Format<double> {
  using Int = int64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 6755399441055744.0;
  static constexpr int64_t magic_bits = 0x4338000000000000;
  static constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  static constexpr double min_normal = 2.2250738585072014e-308;
};
template <class T> using IntOf = typename Format<T>::Int;

template <class F, class = void> struct RealOfFloat { using type = F; };
template <class F> struct RealOfFloat<F, std::void_t<typename F::Real>> { using type = typename F::Real; };
// The scalar that F holds one or several of.
template <class F> using Real = typename RealOfFloat<F>::type;
template <class F> constexpr bool is_single = std::is_same_v<Real<F>, float>;
template <class F> constexpr bool is_pack = !std::is_floating_point_v<F>;
template <class F> using FormatOf = Format<Real<F>>;

template <class T> constexpr T inf = std::numeric_limits<T>::infinity();
template <class T> constexpr T nan = std::numeric_limits<T>::quiet_NaN();

// --- primitives, for scalars ---

CRESSET_EXPR int32_t bits_of(float x) { return __builtin_bit_cast(int32_t, x); }
CRESSET_EXPR int64_t bits_of(double x) { return __builtin_bit_cast(int64_t, x); }
CRESSET_EXPR float from_bits(int32_t x) { return __builtin_bit_cast(float, x); }
CRESSET_EXPR double from_bits(int64_t x) { return __builtin_bit_cast(double, x); }

CRESSET_EXPR float abs(float x) { return __builtin_fabsf(x); }
CRESSET_EXPR double abs(double x) { return __builtin_fabs(x); }
CRESSET_EXPR float copysign(float x, float s) { return __builtin_copysignf(x, s); }
CRESSET_EXPR double copysign(double x, double s) { return __builtin_copysign(x, s); }
CRESSET_EXPR float sqrt(float x) { return __builtin_sqrtf(x); }
CRESSET_EXPR double sqrt(double x) { return __builtin_sqrt(x); }
// Clamps that keep a NaN.
template <class T, class = std::enable_if_t<!is_pack<T>>> CRESSET_EXPR T at_least(T x, T low) { return x < low ? low : x; }
template <class T, class = std::enable_if_t<!is_pack<T>>> CRESSET_EXPR T at_most(T x, T high) { return x > high ? high : x; }
template <class T, class = std::enable_if_t<!is_pack<T>>> CRESSET_EXPR T round_nearest(T x) { return (x + Format<T>::magic) - Format<T>::magic; }
// The low bits of x as exponent bits: with x = n + magic + bias, 2^n for integers n from -bias (which gives 0) to bias + 1 (which
// gives infinity). Bits above the low ones are shifted out.
template <class T, class = std::enable_if_t<!is_pack<T>>> CRESSET_EXPR T exponent_field(T x) {
  return from_bits(static_cast<IntOf<T>>(bits_of(x) << Format<T>::mantissa));
}
template <class T> CRESSET_EXPR T pow2(T n) { return exponent_field(n + (Format<T>::magic + T(Format<T>::bias))); }
// x 2^n.
template <class T, class = std::enable_if_t<!is_pack<T>>> CRESSET_EXPR T scale_normal(T x, T n) { return x * pow2(n); }
// x 2^n for any n up to bias + 3, in two steps, so that subnormal results are right.
template <class T, class = std::enable_if_t<!is_pack<T>>> CRESSET_EXPR T scale(T x, T n) {
  const IntOf<T> sum = bits_of(n + (Format<T>::magic + T(2 * Format<T>::bias))), half = sum >> 1;
  return x * from_bits(static_cast<IntOf<T>>(half << Format<T>::mantissa)) * from_bits(static_cast<IntOf<T>>((sum - half) << Format<T>::mantissa));
}
// floor(log2(x)) of normal positive numbers.
CRESSET_EXPR float exponent_of(float x) { return static_cast<float>((bits_of(x) >> 23) - 127); }
CRESSET_EXPR double exponent_of(double x) { return from_bits(((bits_of(x) >> 52) - 1023) + Format<double>::magic_bits) - Format<double>::magic; }
template <class F> constexpr bool exponent_of_subnormals = false;

// c0 + c1 x + c2 x^2 + ...: Horner's rule in x^2 over pairs of terms. One multiplication more than in x, half the latency, and
// latency is what bounds these loops.
template <class F> CRESSET_EXPR F poly_pairs(F, F, double c0) { return F(static_cast<Real<F>>(c0)); }
template <class F> CRESSET_EXPR F poly_pairs(F x, F, double c0, double c1) { return fma(F(static_cast<Real<F>>(c1)), x, F(static_cast<Real<F>>(c0))); }
template <class F, class... C> CRESSET_EXPR F poly_pairs(F x, F square, double c0, double c1, C... rest) {
  return fma(poly_pairs(x, square, rest...), square, fma(F(static_cast<Real<F>>(c1)), x, F(static_cast<Real<F>>(c0))));
}
template <class F, class... C> CRESSET_EXPR F poly(F x, C... c) { return poly_pairs(x, x * x, static_cast<double>(c)...); }

// --- exp ---

// e^r for |r| <= ln(2) / 2.
template <class F> CRESSET_EXPR F exp_poly(F r) {
  if constexpr (is_single<F>) {
    const F square = r * r;
    const F tail = poly_pairs(r, square, 4.999999404e-01, 1.666652113e-01, 4.166828841e-02, 8.368704468e-03, 1.381895388e-03);
    return fma(tail, square, r) + F(1.0f);
  } else {
    const F square = r * r;
    const F tail =
        poly_pairs(r, square, 5.00000000000001110e-01, 1.66666666666664576e-01, 4.16666666665282751e-02, 8.33333333347338438e-03, 1.38888889438931978e-03,
                   1.98412695419580831e-04, 2.48014929413733774e-05, 2.75575608620916599e-06, 2.76302836381552790e-07, 2.50067817631913761e-08);
    return fma(tail, square, r) + F(1.0);
  }
}
// e^r - 1, likewise.
template <class F> CRESSET_EXPR F expm1_poly(F r) {
  if constexpr (is_single<F>) {
    const F square = r * r;
    return fma(poly_pairs(r, square, 5.000000000e-01, 1.666666567e-01, 4.166649282e-02, 8.333540522e-03, 1.393235638e-03, 1.976659842e-04), square, r);
  } else {
    const F square = r * r;
    const F tail = poly_pairs(r, square, 5.00000000000000000e-01, 1.66666666666666768e-01, 4.16666666666666852e-02, 8.33333333332175914e-03,
                              1.38888888888936404e-03, 1.98412698854701916e-04, 2.48015872792387675e-05, 2.75572450069971663e-06, 2.75573291406442035e-07,
                              2.51087404886484136e-08, 2.08940905081119807e-09);
    return fma(tail, square, r);
  }
}

template <class F> struct Reduced { F r, n; };
// x = n ln(2) + r.
template <class F> CRESSET_EXPR Reduced<F> reduce_ln2(F x) {
  using T = Real<F>;
  const F n = round_nearest(x * F(T(1.44269504088896340736)));
  return {fma(n, F(-FormatOf<F>::ln2_low), fma(n, F(-FormatOf<F>::ln2_high), x)), n};
}
template <class F> CRESSET_EXPR F clamp_exp(F x, double low, double high) {
  return at_most(at_least(x, static_cast<Real<F>>(low)), static_cast<Real<F>>(high));
}

template <class F> CRESSET_EXPR F exp(F x) {
  const auto [r, n] = reduce_ln2(is_single<F> ? clamp_exp(x, -105, 90) : clamp_exp(x, -750, 711));
  return scale(exp_poly(r), n);
}

template <class F> struct Exp {
  F r, power;  // e^x = e^r power
};
// As reduce_ln2, with the power of two at hand; n within the exponent range.
template <class F> CRESSET_EXPR Exp<F> split_exp(F x) {
  using T = Real<F>;
  constexpr T magic = FormatOf<F>::magic + FormatOf<F>::bias;
  const F shifted = fma(x, F(T(1.44269504088896340736)), F(magic)), n = shifted - F(magic);
  return {fma(n, F(-FormatOf<F>::ln2_low), fma(n, F(-FormatOf<F>::ln2_high), x)), exponent_field(shifted)};
}
// e^x for use in sums with larger numbers: only tiny where it would be subnormal, huge or infinite where it would overflow.
template <class F> CRESSET_EXPR F exp_normal(F x) {
  const auto [r, power] = split_exp(is_single<F> ? clamp_exp(x, -87, 88.9) : clamp_exp(x, -708, 709.9));
  return exp_poly(r) * power;
}

template <class F> CRESSET_EXPR F expm1(F x) {
  using T = Real<F>;
  const auto [r, n] = reduce_ln2(is_single<F> ? clamp_exp(x, -20, 89) : clamp_exp(x, -40, 710));
  // Half the result: neither 2^n nor the sum overflows before the result does.
  const F half = pow2(n - F(T(1))), sum = fma(half, expm1_poly(r), half - F(T(0.5)));
  return copysign(sum + sum, x);
}

template <class F> CRESSET_EXPR F exp2_poly(F f) {
  if constexpr (is_single<F>) {
    const F tail = poly(f, 6.931471825e-01, 2.402264774e-01, 5.550359562e-02, 9.618505836e-03, 1.339102630e-03, 1.532681781e-04);
    return fma(tail, f, F(1.0f));
  } else {
    return exp_poly(fma(f, F(6.93147180559945286e-01), f * F(2.31904681384629956e-17)));
  }
}
template <class F> CRESSET_EXPR F exp2(F x) {
  x = is_single<F> ? clamp_exp(x, -152, 129) : clamp_exp(x, -1077, 1025);
  const F n = round_nearest(x);
  return scale(exp2_poly(x - n), n);
}

// --- log ---

// log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2).
template <class F> CRESSET_EXPR F log1p_poly(F f) {
  using T = Real<F>;
  if constexpr (is_single<F>) {
    const F tail =
        poly(f, 3.333333135e-01, -2.500082254e-01, 2.000126243e-01, -1.662336737e-01, 1.420109123e-01, -1.315932721e-01, 1.276506782e-01, -7.640628517e-02);
    return fma(f * f, fma(f, tail, F(T(-0.5))), f);
  } else {
    // 2 atanh(s) with s = f / (2 + f).
    const F s = f / (F(2.0) + f), u = s * s, half_square = F(0.5) * f * f;
    const F tail = u * poly(u, 6.66666666666673513e-01, 3.99999999994091249e-01, 2.85714287437843606e-01, 2.22221984143040174e-01, 1.81835733487550139e-01,
                            1.53138010475707770e-01, 1.47986249412675547e-01);
    return f - (half_square - s * (half_square + tail));
  }
}

// -e with x 2^-e between sqrt(1/2) and sqrt(2).
template <class F> CRESSET_EXPR F minus_exponent(F x) {
  using T = Real<F>;
  return F(T(-1)) - exponent_of(x * F(T(0.70710678118654752440)));
}

// Where log's polynomial does not apply: 0, negative numbers, infinity, NaN.
template <class F> CRESSET_EXPR F log_domain(F x, F value) {
  using T = Real<F>;
  const F outside = select(x == F(T(0)), F(-inf<T>), F(nan<T>));
  return select(x > F(T(0)), select(x == F(inf<T>), x, value), outside);
}

template <class F> struct LogParts {
  F minus_e, l;  // log2's integer part, negated, and the logarithm of the rest
};
template <class F> CRESSET_EXPR LogParts<F> log_parts(F x) {
  using T = Real<F>;
  if constexpr (exponent_of_subnormals<F>) {
    const F minus_e = -exponent_of(x), m = scale_normal(x, minus_e);
    const auto high = m > F(T(1.41421356237309504880));
    return {select(high, minus_e - F(T(1)), minus_e), log1p_poly(select(high, m * F(T(0.5)), m) - F(T(1)))};
  } else {
    constexpr int up = FormatOf<F>::mantissa + 3;
    const auto small = x < F(FormatOf<F>::min_normal * T(8));
    x = select(small, x * F(static_cast<T>(int64_t{1} << up)), x);
    const F minus_e = minus_exponent(x);
    // The largest numbers need 2^-(bias + 1), which is no single step.
    const F m = scale_normal(x * F(T(0.25)), minus_e + F(T(2)));
    return {select(small, minus_e + F(T(up)), minus_e), log1p_poly(m - F(T(1)))};
  }
}

template <class F> CRESSET_EXPR F log(F x) {
  const auto [minus_e, l] = log_parts(x);
  return log_domain(x, fma(minus_e, F(-FormatOf<F>::ln2_high), fma(minus_e, F(-FormatOf<F>::ln2_low), l)));
}
template <class F> CRESSET_EXPR F log2(F x) {
  if constexpr (is_single<F>) {
    const auto [minus_e, l] = log_parts(x);
    return log_domain(x, fma(l, F(1.44269502f), fma(l, F(1.92596303e-8f), -minus_e)));
  } else {
    return std::log2(x);
  }
}
template <class F> CRESSET_EXPR F log10(F x) {
  if constexpr (is_single<F>) {
    const auto [minus_e, l] = log_parts(x);
    return log_domain(x, fma(minus_e, F(-3.0078125e-1f), fma(minus_e, F(-2.48745664e-4f), fma(l, F(4.34294492e-1f), l * F(-1.01030501e-8f)))));
  } else {
    return std::log10(x);
  }
}

template <class F> CRESSET_EXPR F log1p(F x) {
  using T = Real<F>;
  // 1 + x loses bits of x; scaling both terms apart does not. Beyond a half exponent range the 1 has vanished long ago.
  const F sum = F(T(1)) + x, minus_e = minus_exponent(sum);
  F down;
  if constexpr (exponent_of_subnormals<F>) down = pow2(minus_e);
  else down = scale(F(T(1)), minus_e);
  const F y = fma(minus_e, F(-FormatOf<F>::ln2_high), fma(minus_e, F(-FormatOf<F>::ln2_low), log1p_poly(fma(x, down, down - F(T(1))))));
  return copysign(log_domain(sum, y), x);
}
// log(1 + e^x) for x <= 0, where neither end of log1p's domain is near.
template <class F> CRESSET_EXPR F log1p_exp(F x) {
  using T = Real<F>;
  const F e = exp(x);
  // 1 + e lies between 1 and 2: one step of scaling.
  const auto high = e > F(T(0.41421356237309504880));
  const F f = select(high, fma(e, F(T(0.5)), F(T(-0.5))), e);
  return log1p_poly(f) + select(high, F(T(0.69314718055994530942)), F(T(0)));
}

// --- hyperbolic ---

template <class F> CRESSET_EXPR F tanh(F x) {
  using T = Real<F>;
  const F a = at_most(abs(x), is_single<F> ? T(10) : T(20));
  const auto [r, power] = split_exp(a + a);
  const F t = fma(power, expm1_poly(r), power - F(T(1)));
  return copysign(t / (t + F(T(2))), x);
}
// tanh(log(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2); it is 1 to the last bit from there on.
template <class F> CRESSET_EXPR F tanh_softplus(F x) {
  using T = Real<F>;
  const F e = exp(at_most(x, is_single<F> ? T(20) : T(40))), n = e * (e + F(T(2)));
  return n / (n + F(T(2)));
}
template <class F> CRESSET_EXPR F sigmoid(F x) {
  using T = Real<F>;
  const auto [r, power] = split_exp(-(is_single<F> ? clamp_exp(x, -88.9, 87) : clamp_exp(x, -709.9, 708)));
  return F(T(1)) / fma(exp_poly(r), power, F(T(1)));
}

// Floats go through double; doubles through the C library.
CRESSET_EXPR float sinh(float x) {
  const double a = abs(x), e = exp_normal(a), square = a * a;
  const double y = a < 0.02 ? a * poly(square, 1.0, 1.0 / 6, 1.0 / 120) : 0.5 * (e - 1 / e);
  return copysign(static_cast<float>(y), x);
}
CRESSET_EXPR float cosh(float x) {
  const double e = exp_normal(static_cast<double>(abs(x)));
  return static_cast<float>(0.5 * (e + 1 / e));
}
CRESSET_EXPR float asinh(float x) {
  const double a = abs(x);
  const double y = a < 0.001 ? a - a * a * a * (1.0 / 6) : log(a + sqrt(a * a + 1));
  return copysign(static_cast<float>(y), x);
}
CRESSET_EXPR float acosh(float x) {
  const double a = x;
  return static_cast<float>(a >= 1 ? log(a + sqrt(a * a - 1)) : nan<double>);
}
CRESSET_EXPR float atanh(float x) {
  const double a = abs(x);
  const double y = a < 0.001 ? a + a * a * a * (1.0 / 3) : 0.5 * log((1 + a) / (1 - a));
  return copysign(static_cast<float>(y), x);
}
CRESSET_EXPR double sinh(double x) { return std::sinh(x); }
CRESSET_EXPR double cosh(double x) { return std::cosh(x); }
CRESSET_EXPR double asinh(double x) { return std::asinh(x); }
CRESSET_EXPR double acosh(double x) { return std::acosh(x); }
CRESSET_EXPR double atanh(double x) { return std::atanh(x); }

// --- trigonometric ---

// Beyond this the reduction below loses digits, and callers turn to the C library.
constexpr double kTrigLimit = 1e6;

struct Quadrant {
  double r;   // x - q pi/2, |r| <= pi/4
  int64_t q;  // its low bits
};
// pi/2 in parts of 33 bits, whose products with a quadrant number are exact.
CRESSET_EXPR Quadrant reduce_half_pi(double x) {
  const double sum = fma(x, 6.36619772367581382433e-01, Format<double>::magic), n = sum - Format<double>::magic;
  double r = fma(n, -1.57079632673412561417e+00, x);
  r = fma(n, -6.07710050630396597660e-11, r);
  r = fma(n, -2.02226624879595063154e-21, r);
  return {r, bits_of(sum)};
}

CRESSET_EXPR float sin_cos_single(float x, int turn) {
  const auto reduced = reduce_half_pi(x);
  const float r = static_cast<float>(reduced.r), u = r * r;
  const int q = static_cast<int>(reduced.q) + turn;
  const float s = fma(r * u, poly(u, -1.666666716e-01f, 8.333379403e-03f, -1.985306008e-04f, 2.832510745e-06f), r);
  const float c = poly(u, 1.0f, -0.5f, 4.166664556e-02f, -1.388730947e-03f, 2.443234007e-05f);
  const float y = q & 1 ? c : s;
  return q & 2 ? -y : y;
}
CRESSET_EXPR double sin_cos_double(double x, int64_t turn) {
  const auto reduced = reduce_half_pi(x);
  const double r = reduced.r, u = r * r;
  const int64_t q = reduced.q + turn;
  const double s = fma(r * u,
                       poly(u, -1.66666666666666657e-01, 8.33333333333304178e-03, -1.98412698409624754e-04, 2.75573190739887962e-06, -2.50520709252091623e-08,
                            1.60543119736793417e-10, -7.38948924115640106e-13),
                       r);
  const double c = poly(u, 1.0, -0.5, 4.16666666666666644e-02, -1.38888888888883885e-03, 2.48015873011808172e-05, -2.75573190606540444e-07,
                        2.08767219922703194e-09, -1.14668585690527316e-11, 4.59247769383877858e-14);
  const double y = q & 1 ? c : s;
  return q & 2 ? -y : y;
}
CRESSET_EXPR float sin(float x) { return x == 0 ? x : sin_cos_single(x, 0); }
CRESSET_EXPR float cos(float x) { return sin_cos_single(x, 1); }
CRESSET_EXPR double sin(double x) { return x == 0 ? x : sin_cos_double(x, 0); }
CRESSET_EXPR double cos(double x) { return sin_cos_double(x, 1); }
CRESSET_EXPR float tan(float x) {
  const auto [r, q] = reduce_half_pi(x);
  const double t = r * poly(r * r, 1.00000000008600876e+00, 3.33333310937996841e-01, 1.33334288312588756e-01, 5.39526776220576321e-02, 2.19956540384503643e-02,
                            8.29654722520974282e-03, 5.05546754966868048e-03, -6.55626834942409130e-04, 2.06457823614702041e-03);
  return x == 0 ? x : static_cast<float>(q & 1 ? -1 / t : t);
}
CRESSET_EXPR double tan(double x) { return std::tan(x); }

// asin(sqrt(u)) / sqrt(u) - 1 for u <= 1/4.
CRESSET_EXPR float asin_poly(float u) {
  return u * poly(u, 1.666665971e-01f, 7.500521839e-02f, 4.451339319e-02f, 3.183856979e-02f, 1.431902032e-02f, 3.768673167e-02f);
}
CRESSET_EXPR float asin(float x) {
  // asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
  const float a = abs(x);
  const bool far = a > 0.5f;
  const float u = far ? (1.0f - a) * 0.5f : a * a;
  const double s = far ? __builtin_sqrt(static_cast<double>(u)) : a, p = s + s * asin_poly(u);
  return copysign(static_cast<float>(far ? 1.57079632679489661923 - 2 * p : p), x);
}
CRESSET_EXPR float acos(float x) {
  const float a = abs(x);
  const bool far = a > 0.5f;
  const float u = far ? (1.0f - a) * 0.5f : a * a, s = far ? sqrt(u) : a;
  const float p = fma(s, asin_poly(u), s);
  const float near_one = x < 0 ? 3.14159274f - (p + p + 8.74227766e-8f) : p + p;
  return far ? near_one : 1.57079637f - (copysign(p, x) + 4.37113883e-8f);
}
// atan(t) for 0 <= t <= 1, in double.
CRESSET_EXPR double atan_poly(double t) {
  const double u = t * t;
  return t * poly(u, 9.99999999941231565e-01, -3.33333315716745682e-01, 1.99999120690343396e-01, -1.42839809547627150e-01, 1.10932421789989577e-01,
                  -8.98024086253121911e-02, 7.24571749763171374e-02, -5.42790029421615916e-02, 3.42093958919316918e-02, -1.61114690527109951e-02,
                  4.85082598706729814e-03, -6.84770041000028044e-04);
}
CRESSET_EXPR float atan(float x) {
  const float a = abs(x);
  const bool far = a > 1.0f;
  const float t = far ? 1.0f / a : a, u = t * t;
  const float p = fma(t * u,
                      poly(u, -3.333329856e-01f, 1.999852955e-01f, -1.426404417e-01f, 1.095120311e-01f, -8.400746435e-02f, 5.791398883e-02f, -3.113677539e-02f,
                           1.089367364e-02f, -1.789160655e-03f),
                      t);
  return copysign(far ? 1.57079637f - (p + 4.37113883e-8f) : p, x);
}
CRESSET_EXPR float atan2(float y, float x) {
  const float a = abs(y), b = abs(x);
  const bool steep = a > b;
  const float low = steep ? b : a, high = steep ? a : b;
  // 0 / 0 counts as 0 and inf / inf as 1; a NaN in either reaches `low` or is added below.
  const double ratio = high == 0 ? 0.0 : low == inf<float> ? 1.0 : static_cast<double>(low) / static_cast<double>(high);
  double angle = atan_poly(ratio);
  angle = steep ? 1.57079632679489661923 - angle : angle;
  angle = bits_of(x) < 0 ? 3.14159265358979323846 - angle : angle;
  const float result = copysign(static_cast<float>(angle), y);
  return x != x || y != y ? x + y : result;
}
CRESSET_EXPR double asin(double x) { return std::asin(x); }
CRESSET_EXPR double acos(double x) { return std::acos(x); }
CRESSET_EXPR double atan(double x) { return std::atan(x); }
CRESSET_EXPR double atan2(double y, double x) { return std::atan2(y, x); }

// --- error function ---

// P(Z > a) / e^(-a^2 / 2) of a standard normal Z.
template <class F> CRESSET_EXPR F mills_ratio(F a) {
  return poly(a, 5.000000000e-01, 4.413597882e-01, 1.853636652e-01, 4.131834581e-02, 4.210627638e-03) /
         poly(a, 1, 1.680604577e+00, 1.211650729e+00, 4.750759602e-01, 1.035734341e-01, 1.055447664e-02);
}
// P(Z > a), where a^2 / 2 log2(e) = (square + low) factor, for 0 <= a <= 20: 2 to that power, times Mills'
// ratio as a quotient of polynomials, in whose fit the rounding of the factor is absorbed.
template <class F> CRESSET_EXPR F gauss_tail(F a, F square, F low, float factor) {
  constexpr float magic = Format<float>::magic + 127;
  const F shifted = at_least(fma(square, F(-factor), F(magic)), Format<float>::magic);
  const F minus_n = F(magic) - shifted;
  F f;
  if constexpr (is_pack<F> || has_fma) f = fma(low, F(-factor), fma(square, F(-factor), minus_n));
  else f = static_cast<F>(minus_n - (static_cast<double>(square) + low) * static_cast<double>(factor));
  return exp2_poly(f) * mills_ratio(a) * exponent_field(shifted);
}
template <class F> struct Square {
  F value, low;  // their sum is exact
};
template <class F> CRESSET_EXPR Square<F> exact_square(F a) {
  if constexpr (is_pack<F> || has_fma) {
    const F value = a * a;
    return {value, fma(a, a, -value)};
  } else {
    const float head = from_bits(bits_of(a) & ~0xfff);
    return {head * head, (a - head) * (a + head)};
  }
}
// P(Z > |x|).
template <class F> CRESSET_EXPR F normal_tail(F x) {
  const F a = at_most(abs(x), 20.0f);
  const auto [value, low] = exact_square(a);
  return gauss_tail(a, value, low, 0.721347511f);
}
// P(Z <= x).
template <class F> CRESSET_EXPR F normal_cdf(F x) {
  if constexpr (is_single<F>) {
    const F tail = normal_tail(x);
    return select(x < F(0.0f), tail, F(1.0f) - tail);
  } else {
    return 0.5 * std::erfc(x * -0.70710678118654752440);
  }
}
template <class F> CRESSET_EXPR F gelu(F x) { return x * normal_cdf(x); }
// erf(x) in single precision for |x| < 1.
template <class F> CRESSET_EXPR F erf_near(F x) {
  return fma(x, poly(x * x, 1.283791661e-01, -3.761262596e-01, 1.128357872e-01, -2.685334720e-02, 5.187162198e-03, -7.997853099e-04, 7.806903159e-05), x);
}
// log P(Z <= x) in single precision: by Mills' ratio, by log((1 + erf) / 2) and by the other tail.
template <class F> CRESSET_EXPR F log_normal_cdf(F x) {
  const auto middle = abs(x) < F(0.5f), left = x < F(-0.5f), far = x < F(-1.0f);
  const F tail = normal_tail(x), ratio = mills_ratio(at_most(abs(x), 1e4f));
  const F lower = log(select(far, ratio, tail)) - select(far, x * (x * F(0.5f)), F(0.0f));
  const F upper = log1p(select(middle, erf_near(x * F(0.707106769f)), -tail)) - select(middle, F(0.693147182f), F(0.0f));
  return select(left, lower, upper);
}

template <class F> CRESSET_EXPR F erf(F x) {
  if constexpr (is_single<F>) {
    const F tail = normal_tail(x * F(1.41421354f));
    return select(abs(x) < F(1.0f), erf_near(x), copysign(F(1.0f) - (tail + tail), x));
  } else {
    // 1 - e^(-x^2) erfcx(x) from 1 on, in 1 / (x + 4); from 6 on that is 1.
    const F a = abs(x), near = fma(x,
                                   poly(x * x, 0.12837916709551257, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792, 0.0052239776248180145,
                                        -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05, 1.6461000484121368e-06, -1.6350312701054695e-07,
                                        1.4659775274047435e-08, -1.1372848856791672e-09, 5.957176147748909e-11),
                                   x);
    const F b = at_most(a, 6.0), t = F(20.0) / (b + F(4.0)) - F(3.0);
    const F tail = exp(-(b * b)) * poly(t, 0.19907263099386566, 0.14812992991458332, 0.055891085566079926, 0.018078437227012082, 0.004990286041095359,
                                        0.0011615374405673708, 0.00022259643172453767, 3.346127706454e-05, 3.498817724639476e-06, 1.4320649275925599e-07,
                                        -2.5772220860626256e-08, -4.956466489229388e-09, -1.0609088834225667e-10, 6.917780982018686e-11, 5.9943243455437045e-12,
                                        -7.970561922845925e-13);
    return select(a < F(1.0), near, copysign(F(1.0) - tail, x));
  }
}
CRESSET_EXPR double erfc(double x) { return std::erfc(x); }
// e^(-x^2) times a quotient fitted to 1e-10, in double.
CRESSET_EXPR float erfc(float x) {
  const double a = at_most(abs(static_cast<double>(x)), 14.0);
  const double numerator = poly(a, 1, 1.4337278291697519, 0.99995495175410731, 0.40195096193988711, 0.09267586329041208, 0.0099912116251272484);
  const double denominator =
      poly(a, 1, 2.5621069887289458, 2.8909833010208725, 1.8542202530775036, 0.72131676281767954, 0.16426261302906944, 0.017708984251921724);
  const double tail = exp_normal(-a * a) * (numerator / denominator), result = x < 0 ? 2 - tail : tail;
  return x != x ? x : static_cast<float>(result);
}

// x sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class F> CRESSET_EXPR F gelu_tanh(F x) {
  using T = Real<F>;
  return x * sigmoid(x * fma(x * x, F(T(0.071354816272600247)), F(T(1.5957691216057307))));
}

// --- gamma, inverse error function ---

// The C library's lgamma writes a global sign.
CRESSET_EXPR double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
// The single-precision one is 2.2 units off between the poles, where it crosses 0.
CRESSET_EXPR float lgamma(float x) {
  int sign;
  return x < 0 ? static_cast<float>(lgamma(static_cast<double>(x))) : ::lgammaf_r(x, &sign);
}

// Reflection below 0, recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.3.18).
CRESSET_EXPR double digamma(double x) {
  if (x == 0) return std::copysign(inf<double>, -x);
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return nan<double>;
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
  const double series = x < 1e17 ? z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12) : 0;
  return result + std::log(x) - 0.5 / x - series;
}
CRESSET_EXPR float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

// sum over k >= 0 of (q + k)^-s for q > 0: the first terms, then Euler and Maclaurin's formula (DLMF 25.11.5).
CRESSET_EXPR double hurwitz_zeta(double s, double q) {
  double sum = 0;
  while (q < 12) {
    sum += std::pow(q, -s);
    q += 1;
  }
  const double p = std::pow(q, -s);
  sum += p * q / (s - 1) + p / 2;
  constexpr double kBernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0};
  double term = p * s / q;
  for (int j = 0; j < 7; j++) {
    sum += kBernoulli[j] * term;
    term *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}
// The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x). Below 0 the terms are summed on both sides of their smallest.
CRESSET_EXPR double polygamma(double x, double n) {
  if (n == 0) return digamma(x);
  if (x != x) return x;
  const double s = n + 1, odd = std::fmod(n, 2) == 1 ? 1 : -1, scale = odd * std::tgamma(s);
  if (x > 0) return scale * (x < 1e300 ? hurwitz_zeta(s, x) : 0);
  if (x == std::trunc(x)) return odd * inf<double>;
  const double near = -x - std::floor(-x);
  return scale * (hurwitz_zeta(s, 1 - near) + odd * (hurwitz_zeta(s, near) - hurwitz_zeta(s, 1 - x)));
}
CRESSET_EXPR float polygamma(float x, float n) { return static_cast<float>(polygamma(static_cast<double>(x), static_cast<double>(n))); }

// A start within 1e-3 (S. Winitzki), then Halley's method on erf, which triples the digits at each step.
CRESSET_EXPR double erfinv(double y) {
  const double a = std::fabs(y);
  if (!(a < 1)) return a == 1 ? std::copysign(inf<double>, y) : nan<double>;
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
// Polynomials in w = -log(1 - y^2) near 0 and in its root farther out, as M. Giles, "Approximating the erfinv function" (2010); fitted anew
// to 3e-9 and evaluated in double.
CRESSET_EXPR float erfinv(float y) {
  const double a = y, w = -log((1 - a) * (1 + a)), c = w - 2.5, t = __builtin_sqrt(w) - 3.16131566292015;
  const double near =
      poly(c, 1.5014093530364847, 0.24664028894085827, -0.004177335342528056, -0.001252747460457094, 0.00021827722372684563, -4.960293771913506e-06,
           -3.4321226978215044e-06, 4.6554606262255306e-07, 1.7572963525308072e-08, -8.748171290639057e-09, 3.6570438312070694e-10);
  const double far = poly(t, 2.994779904511041, 1.0042102947489064, 0.006499424771278523, -0.00478129318630468, 0.0033585111609988607, -0.0022578236305500826,
                          0.0011869959967988392, -0.0003418380126504959, -7.525650135154727e-05, 0.00011256729839217034, -3.122401132170061e-05);
  const float x = static_cast<float>((w < 5 ? near : far) * a);
  return __builtin_fabsf(y) == 1 ? __builtin_copysignf(inf<float>, y) : x;
}

}  // namespace cresset::kernels::expr::math
