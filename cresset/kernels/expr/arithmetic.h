#pragma once
// Sums, products, divisions and remainders.

#include <cmath>
#include <limits>

#include "cresset/kernels/expr/complex_math.h"

namespace cresset::kernels::expr {

// As in PyTorch, sums of unsigned integers wider than a byte are refused.
struct Add : Signature<2, 1, kAll & ~kWideUnsigned> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b, T alpha) const {
    if constexpr (is_bool<T>) return a || (alpha && b);
    else if constexpr (is_float<T>) return fma(alpha, b, a);
    else if constexpr (is_cplx<T>) return a + alpha * b;
    else return static_cast<T>(Wrap<T>(a) + Wrap<T>(alpha) * Wrap<T>(b));
  }
};

struct Sub : Signature<2, 1, kAll & ~kWideUnsigned> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b, T alpha) const {
    if constexpr (is_bool<T>) return a != (alpha && b);
    else if constexpr (is_float<T>) return fma(-alpha, b, a);
    else if constexpr (is_cplx<T>) return a - alpha * b;
    else return static_cast<T>(Wrap<T>(a) - Wrap<T>(alpha) * Wrap<T>(b));
  }
};

struct Mul : Signature<2, 0, kAll> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_bool<T>) return a && b;
    else if constexpr (is_int<T>) return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
    else return a * b;
  }
};

struct Div : Signature<2, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return a / b; }
};

// Quotient and remainder of integers, truncated; the one overflow (lowest / -1) wraps around.
template <class T> CRESSET_EXPR T int_quotient(T a, T b) {
  if (b == 0) zero_division();
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
  return static_cast<T>(a / b);
}
template <class T> CRESSET_EXPR T int_remainder(T a, T b) {
  if (b == 0) zero_division();
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return 0;
  return static_cast<T>(a % b);
}

struct DivTrunc : Signature<2, 0, kReals> {
  static constexpr bool native_low = true;  // the quotient is rounded to the dtype first
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_int<T>) return int_quotient(a, b);
    else if constexpr (is_low<T>) return T(std::trunc(static_cast<float>(a / b)));
    else return std::trunc(a / b);
  }
};

// fmod by one division, for quotients whose integers are exact. The sum fuses: its result is a multiple of b's last digit, so exact,
// and no more than one b away.
template <class T> CRESSET_EXPR T near_fmod(T a, T b) {
  const T x = std::fabs(a), y = std::fabs(b), r = std::fma(-std::trunc(x / y), y, x), up = r < 0 ? r + y : r;
  return std::copysign(up >= y ? up - y : up, a);
}
// Where near_fmod does not apply: large, infinite and undefined quotients, infinite divisors.
template <class T> CRESSET_EXPR bool far_quotient(T a, T b) { return !(std::fabs(a / b) < T(1 << 22)) | !(std::fabs(b) < std::numeric_limits<T>::infinity()); }

struct DivFloor : Signature<2, 0, kReals> {
  static constexpr bool heavy = true, has_far = true;
  template <class T> CRESSET_EXPR static bool far(T a, T b) { return far_quotient(a, b); }
  template <class T> CRESSET_EXPR static T at_far(T a, T b) { return b == 0 ? a / b : from_fmod(a, b, std::fmod(a, b)); }
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_int<T>) {
      const T q = int_quotient(a, b);
      if constexpr (std::is_signed_v<T>) return static_cast<T>(q - ((a < 0) != (b < 0) && static_cast<T>(q * b) != a));
      else return q;
    } else {
      return from_fmod(a, b, near_fmod(a, b));
    }
  }
  // As Python: exact where a / b is rounded up to the next integer.
  template <class T> CRESSET_EXPR static T from_fmod(T a, T b, T mod) {
    const T whole = (a - mod) / b, quotient = (mod != 0) & ((b < 0) != (mod < 0)) ? whole - T(1) : whole, floored = std::floor(quotient);
    return quotient == 0 ? std::copysign(T(0), a / b) : quotient - floored > T(0.5) ? floored + T(1) : floored;
  }
};

struct Remainder : Signature<2, 0, kReals> {
  static constexpr bool heavy = true, has_far = true;
  template <class T> CRESSET_EXPR static bool far(T a, T b) { return far_quotient(a, b); }
  template <class T> CRESSET_EXPR static T at_far(T a, T b) { return from_fmod(b, std::fmod(a, b)); }
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_int<T>) {
      const T r = int_remainder(a, b);
      if constexpr (std::is_signed_v<T>) return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
      else return r;
    } else {
      return from_fmod(b, near_fmod(a, b));
    }
  }
  template <class T> CRESSET_EXPR static T from_fmod(T b, T mod) { return (mod != 0) & ((b < 0) != (mod < 0)) ? mod + b : mod; }
};

struct Fmod : Signature<2, 0, kReals> {
  static constexpr bool heavy = true, has_far = true;
  template <class T> CRESSET_EXPR static bool far(T a, T b) { return far_quotient(a, b); }
  template <class T> CRESSET_EXPR static T at_far(T a, T b) { return std::fmod(a, b); }
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_int<T>) return int_remainder(a, b);
    else return near_fmod(a, b);
  }
};

struct Neg : Signature<1, 0, kReals | kComplexes> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_int<T>) return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
    else return -a;
  }
};

struct Square : Signature<1, 0, kReals | kComplexes> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a) const { return Mul{}(a, a); }
};

struct Cube : Signature<1, 0, kReals | kComplexes> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a) const { return Mul{}(Mul{}(a, a), a); }
};

struct Reciprocal : Signature<1, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return T(1) / a; }
};

template <class T> CRESSET_EXPR T addcmul(T a, T b, T c, T value) {
  if constexpr (is_int<T>) return static_cast<T>(Wrap<T>(a) + Wrap<T>(value) * Wrap<T>(b) * Wrap<T>(c));
  else return a + value * b * c;
}
template <class T> CRESSET_EXPR T addcdiv(T a, T b, T c, T value) { return a + value * b / c; }

struct Addcmul : Signature<3, 1, kReals | kComplexes> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b, T c, T value) const { return addcmul(a, b, c, value); }
};
struct Addcdiv : Signature<3, 1, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a, T b, T c, T value) const { return addcdiv(a, b, c, value); }
};

// a + weight * (b - a), from whichever end is nearer.
template <class T> CRESSET_EXPR T lerp(T a, T b, T weight) {
  bool near_a;
  if constexpr (is_cplx<T>) near_a = weight.real() * weight.real() + weight.imag() * weight.imag() < typename T::value_type(0.25);
  else near_a = (weight < 0 ? -weight : weight) < T(0.5);
  return near_a ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
}
struct Lerp : Signature<3, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a, T b, T weight) const { return lerp(a, b, weight); }
};
struct LerpScalar : Signature<2, 1, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a, T b, T weight) const { return lerp(a, b, weight); }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Integers wrap around; bool adds as `or`, multiplies as `and`, subtracts as `xor`. Inputs and parameters: add: a + params[0] * b;
// sub: a - params[0] * b; div: true division: floats and complex; addcmul: a + params[0] * b * c; addcdiv: a + params[0] * b / c;
// lerp: (start, end, weight); lerp_scalar: (start, end), params: weight.
// clang-format off
#define CRESSET_ARITHMETIC_KERNELS(X)                                                                                         \
  X(add, Add) X(sub, Sub) X(mul, Mul) X(div, Div) X(neg, Neg) X(square, Square) X(reciprocal, Reciprocal) X(addcmul, Addcmul) \
  X(addcdiv, Addcdiv) X(lerp, Lerp) X(lerp_scalar, LerpScalar)
// clang-format on

// Integers raise ZeroDivisionError. Inputs and parameters: remainder: sign of the divisor; fmod: sign of the dividend.
#define CRESSET_DIVISION_KERNELS(X) X(div_floor, DivFloor) X(div_trunc, DivTrunc) X(remainder, Remainder) X(fmod, Fmod)
