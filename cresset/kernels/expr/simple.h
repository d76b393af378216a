#pragma once
// Signs, rounding, roots, selection and filling.

#include <cmath>

#include "cresset/kernels/expr/compare.h"
#include "cresset/kernels/expr/complex_math.h"
#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr {

struct Abs : Signature<1, 0, kReals | kBools | kComplexes, Out::real> {
  template <class T> CRESSET_EXPR auto operator()(T a) const {
    if constexpr (is_cplx<T>) return cabs(a);
    else if constexpr (is_float<T>) return std::fabs(a);
    else if constexpr (is_int<T> && std::is_signed_v<T>) return static_cast<T>(a < 0 ? Wrap<T>(0) - Wrap<T>(a) : Wrap<T>(a));
    else return a;
  }
};
struct Angle : Signature<1, 0, kFloats | kComplexes, Out::real> {
  static constexpr bool heavy = true;
  template <class T> CRESSET_EXPR auto operator()(T a) const {
    if constexpr (is_cplx<T>) return math::atan2(a.imag(), a.real());
    else return is_nan(a) ? a : a < 0 ? T(3.14159265358979323846) : T(0);
  }
};
struct Sign : Signature<1, 0, kReals | kBools> {
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_bool<T>) return a;
    else return static_cast<T>((T(0) < a) - (a < T(0)));
  }
};
// z / |z|, 0 at 0.
struct Sgn : Signature<1, 0, kAll> {
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_cplx<T>) {
      const auto length = cabs(a);
      return length == 0 ? T(0) : T(a.real() / length, a.imag() / length);
    } else {
      return Sign{}(a);
    }
  }
};
struct Conj : Signature<1, 0, kAll> {
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_cplx<T>) return T(a.real(), -a.imag());
    else return a;
  }
};

// Rounding of integers is the identity.
#define CRESSET_ROUNDING(Name, function)                      \
  struct Name : Signature<1, 0, kReals> {                     \
    static constexpr Share share = Share::wrapping;           \
    template <class T> CRESSET_EXPR T operator()(T a) const { \
      if constexpr (is_float<T>) return function(a);          \
      else return a;                                          \
    }                                                         \
  };
CRESSET_ROUNDING(Floor, std::floor)
CRESSET_ROUNDING(Ceil, std::ceil)
CRESSET_ROUNDING(Trunc, std::trunc)
CRESSET_ROUNDING(Round, std::nearbyint)
#undef CRESSET_ROUNDING

// params: 10^|decimals|, and whether decimals are negative.
struct RoundDecimals : Signature<1, 2, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a, T power, T negative) const {
    return negative != 0 ? std::nearbyint(a / power) * power : std::nearbyint(a * power) / power;
  }
};
struct Frac : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return a - std::trunc(a); }
};
struct NanToNum : Signature<1, 3, kAll> {
  template <class T> CRESSET_EXPR T operator()(T a, T nan, T posinf, T neginf) const {
    if constexpr (is_cplx<T>) {
      return T((*this)(a.real(), nan.real(), posinf.real(), neginf.real()), (*this)(a.imag(), nan.real(), posinf.real(), neginf.real()));
    } else if constexpr (is_float<T>) {
      constexpr T inf = std::numeric_limits<T>::infinity();
      return a != a ? nan : a == inf ? posinf : a == -inf ? neginf : a;
    } else {
      return a;
    }
  }
};

struct Sqrt : Signature<1, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_cplx<T>) return std::sqrt(a);
    else return std::sqrt(a);
  }
};
struct Rsqrt : Signature<1, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_cplx<T>) return T(1) / std::sqrt(a);
    else return T(1) / std::sqrt(a);
  }
};

struct Hypot : Signature<2, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return hypot(a, b); }
};
struct Copysign : Signature<2, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return std::copysign(a, b); }
};
struct Heaviside : Signature<2, 0, kReals | kBools> {
  template <class T> CRESSET_EXPR T operator()(T a, T at_zero) const { return a == T(0) ? at_zero : static_cast<T>(a > T(0)); }
};

// The neighbour of a in the direction of b, on the grid of the dtype itself.
struct Nextafter : Signature<2, 0, kFloats> {
  static constexpr bool native_low = true;
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_low<T>) {
      const float x = a, y = b;
      if (x != x || y != y) return T(x + y);
      if (x == y) return b;
      if (x == 0) return T(static_cast<uint16_t>(y < 0 ? 0x8001 : 1), T::from_bits());
      return T(static_cast<uint16_t>(a.x + ((y > x) == (x > 0) ? 1 : -1)), T::from_bits());
    } else {
      // Away from 0 the bits count up, towards it down.
      const auto bits = math::bits_of(a);
      const T step = math::from_bits((b > a) == (a > 0) ? bits + 1 : bits - 1), from_zero = math::copysign(std::numeric_limits<T>::denorm_min(), b);
      return a != a || b != b ? a + b : a == b ? b : a == 0 ? from_zero : step;
    }
  }
};

// cond ? a : b.
struct Where : Signature<3, 0, kAll, Out::same, 0> {
  static constexpr Share share = Share::width;
  template <class T> CRESSET_EXPR T operator()(uint8_t cond, T a, T b) const { return cond ? a : b; }
};
// mask ? value : a.
struct MaskedFill : Signature<2, 1, kAll, Out::same, 1> {
  static constexpr bool native_low = true;
  template <class T> CRESSET_EXPR T operator()(T a, uint8_t mask, T value) const { return mask ? value : a; }
};
struct Fill : Signature<0, 1, kAll> {
  static constexpr bool native_low = true;
  template <class T> CRESSET_EXPR T operator()(T value) const { return value; }
};
// Keeps a * scale where mask is set.
struct DropoutApply : Signature<2, 1, kFloats | kComplexes, Out::same, 1> {
  template <class T> CRESSET_EXPR T operator()(T a, uint8_t mask, T scale) const { return a * (T(mask ? 1 : 0) * scale); }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Inputs and parameters: where: (cond, a, b); cond is bool or uint8; masked_fill: (x, mask), params: value; fill: no input, params:
// value; dropout_apply: (x, mask), params: scale; nan_to_num: params: nan, posinf, neginf.
#define CRESSET_SELECT_KERNELS(X) X(where, Where) X(masked_fill, MaskedFill) X(fill, Fill) X(dropout_apply, DropoutApply) X(nan_to_num, NanToNum)

// Inputs and parameters: round: half to even; round_decimals: params: 10^|decimals|, 1 if decimals < 0; heaviside: (x, value at
// zero).
// clang-format off
#define CRESSET_SIMPLE_KERNELS(X)                                                                                   \
  X(abs, Abs) X(angle, Angle) X(sign, Sign) X(sgn, Sgn) X(conj, Conj) X(floor, Floor) X(ceil, Ceil) X(trunc, Trunc) \
  X(round, Round) X(round_decimals, RoundDecimals) X(frac, Frac) X(sqrt, Sqrt) X(rsqrt, Rsqrt) X(hypot, Hypot)      \
  X(copysign, Copysign) X(heaviside, Heaviside) X(nextafter, Nextafter)
// clang-format on
