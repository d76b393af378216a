#pragma once
// Exponentials, logarithms, powers, trigonometric and hyperbolic functions.

#include "cresset/kernels/expr/arithmetic.h"
#include "cresset/kernels/expr/compare.h"
#include "cresset/kernels/expr/complex_math.h"
#include "cresset/kernels/expr/math.h"
#include "cresset/kernels/expr/power.h"

namespace cresset::kernels::expr {

#define CRESSET_TRANSCENDENTAL(Name, function, complex_function, ...) \
  struct Name : Signature<1, 0, kFloats | kComplexes> {               \
    static constexpr bool heavy = true;                               \
    template <class T> static constexpr bool simd = __VA_ARGS__;      \
    template <class T> CRESSET_EXPR T operator()(T a) const {         \
      if constexpr (is_cplx<T>) return complex_function(a);           \
      else return math::function(a);                                  \
    }                                                                 \
  };

#define CRESSET_PERIODIC(Name, function)                      \
  struct Name : Signature<1, 0, kFloats | kComplexes> {       \
    static constexpr bool heavy = true, has_far = true;       \
    template <class T> CRESSET_EXPR T operator()(T a) const { \
      if constexpr (is_cplx<T>) return std::function(a);      \
      else return math::function(a);                          \
    }                                                         \
    template <class T> CRESSET_EXPR static bool far(T a) {    \
      if constexpr (is_cplx<T>) return false;                 \
      else return math::abs(a) > T(math::kTrigLimit);         \
    }                                                         \
    template <class T> CRESSET_EXPR static T at_far(T a) {    \
      if constexpr (is_cplx<T>) return a;                     \
      else return std::function(a);                           \
    }                                                         \
  };

template <class V> CRESSET_EXPR complex<V> cexp2(complex<V> z) {
  return std::exp(complex<V>(z.real() * V(0.69314718055994530942), z.imag() * V(0.69314718055994530942)));
}
template <class V> CRESSET_EXPR complex<V> csigmoid(complex<V> z) { return complex<V>(1) / (complex<V>(1) + std::exp(-z)); }

CRESSET_TRANSCENDENTAL(Exp, exp, std::exp, is_float<T>)
CRESSET_TRANSCENDENTAL(Expm1, expm1, std::expm1, is_float<T>)
CRESSET_TRANSCENDENTAL(Exp2, exp2, cexp2, is_float<T>)
CRESSET_TRANSCENDENTAL(Log, log, std::log, is_float<T>)
CRESSET_TRANSCENDENTAL(Log1p, log1p, std::log1p, is_float<T>)
CRESSET_TRANSCENDENTAL(Log2, log2, std::log2, std::is_same_v<T, float>)
CRESSET_TRANSCENDENTAL(Log10, log10, std::log10, std::is_same_v<T, float>)
CRESSET_PERIODIC(Sin, sin)
CRESSET_PERIODIC(Cos, cos)
CRESSET_PERIODIC(Tan, tan)
CRESSET_TRANSCENDENTAL(Asin, asin, std::asin, false)
CRESSET_TRANSCENDENTAL(Acos, acos, std::acos, false)
CRESSET_TRANSCENDENTAL(Atan, atan, std::atan, false)
CRESSET_TRANSCENDENTAL(Sinh, sinh, std::sinh, false)
CRESSET_TRANSCENDENTAL(Cosh, cosh, std::cosh, false)
CRESSET_TRANSCENDENTAL(Tanh, tanh, std::tanh, is_float<T>)
CRESSET_TRANSCENDENTAL(Asinh, asinh, std::asinh, false)
CRESSET_TRANSCENDENTAL(Acosh, acosh, std::acosh, false)
CRESSET_TRANSCENDENTAL(Atanh, atanh, std::atanh, false)
CRESSET_TRANSCENDENTAL(Sigmoid, sigmoid, csigmoid, is_float<T>)
#undef CRESSET_TRANSCENDENTAL
#undef CRESSET_PERIODIC

// Integers: by squaring, wrapping around; negative exponents truncate towards 0.
template <class T> CRESSET_EXPR T int_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) return base == 1 ? T(1) : base == T(-1) ? T(exponent & 1 ? -1 : 1) : T(0);
  Wrap<T> result = 1, power = static_cast<Wrap<T>>(base);
  for (auto e = static_cast<std::make_unsigned_t<T>>(exponent); e != 0; e = static_cast<std::make_unsigned_t<T>>(e >> 1)) {
    if (e & 1) result *= power;
    power *= power;
  }
  return static_cast<T>(result);
}

struct Pow : Signature<2, 0, kReals | kComplexes> {
  static constexpr bool heavy = true, has_far = true;
  using NumberCase = Cube;
  static constexpr int number = 3;
  template <class T> CRESSET_EXPR static bool far(T a, T b) { return math::far_power(a, b); }
  template <class T> CRESSET_EXPR static T at_far(T a, T b) { return std::pow(a, b); }
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_cplx<T>) return std::pow(a, b);
    else if constexpr (is_int<T>) return int_pow(a, b);
    else return math::pow(a, b);
  }
};
struct Atan2 : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> CRESSET_EXPR T operator()(T y, T x) const { return math::atan2(y, x); }
};
struct Xlogy : Signature<2, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return is_nan(b) ? b : a == 0 ? T(0) : a * math::log(b); }
};

// log(e^a + e^b) and log2(2^a + 2^b), from the larger one down. Equal infinities have no difference to take.
struct Logaddexp : Signature<2, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_cplx<T>) {
      constexpr auto nan = std::numeric_limits<typename T::value_type>::quiet_NaN();
      if (is_nan(a) || is_nan(b)) return T(nan, nan);
      const bool a_larger = a.real() >= b.real();
      const T high = a_larger ? a : b, low = a_larger ? b : a;
      if (is_inf(high.real()) && high.real() == low.real()) return high.real() < 0 ? high : std::log(std::exp(high) + std::exp(low));
      return high + std::log1p(std::exp(low - high));
    } else {
      if (is_inf(a) && a == b) return a;
      const T distance = a > b ? b - a : a - b;
      return (a > b || is_nan(a) ? a : b) + math::log1p_exp(distance);
    }
  }
};
struct Logaddexp2 : Signature<2, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if (is_inf(a) && a == b) return a;
    if constexpr (std::is_same_v<T, float>) {
      const T distance = a > b ? b - a : a - b;
      return (a > b || is_nan(a) ? a : b) + math::log1p(math::exp2(distance)) * T(1.44269504088896340736);
    }
    const double high = a > b || is_nan(a) ? a : b, low = a > b ? b : a;
    return static_cast<T>(high + math::log(1.0 + math::exp2(low - high)) * 1.44269504088896340736);
  }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

#define CRESSET_EXP_LOG_KERNELS(X) X(exp, Exp) X(expm1, Expm1) X(exp2, Exp2) X(log, Log) X(log1p, Log1p) X(log2, Log2) X(log10, Log10) X(sigmoid, Sigmoid)

#define CRESSET_HYPERBOLIC_KERNELS(X) X(sinh, Sinh) X(cosh, Cosh) X(tanh, Tanh) X(asinh, Asinh) X(acosh, Acosh) X(atanh, Atanh)

#define CRESSET_POWER_KERNELS(X) X(pow, Pow) X(atan2, Atan2) X(xlogy, Xlogy) X(logaddexp, Logaddexp) X(logaddexp2, Logaddexp2)

#define CRESSET_TRIG_KERNELS(X) X(sin, Sin) X(cos, Cos) X(tan, Tan) X(asin, Asin) X(acos, Acos) X(atan, Atan)
