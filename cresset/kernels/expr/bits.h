#pragma once
// Integer and bit operations.

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr {

struct BitwiseAnd : Signature<2, 0, kInts | kBools> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
struct BitwiseOr : Signature<2, 0, kInts | kBools> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
struct BitwiseXor : Signature<2, 0, kInts | kBools> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
struct BitwiseNot : Signature<1, 0, kInts | kBools> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a) const {
    if constexpr (is_bool<T>) return !a;
    else return static_cast<T>(~a);
  }
};

// Shifts by a negative count or by the width and more push every bit out.
struct BitwiseLeftShift : Signature<2, 0, kInts> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR T operator()(T a, T count) const {
    // Unsigned: a negative count is a huge one.
    constexpr T bits = sizeof(T) * 8;
    return count >= bits ? T(0) : static_cast<T>(Wrap<T>(a) << count);
  }
};
struct BitwiseRightShift : Signature<2, 0, kInts> {
  template <class T> CRESSET_EXPR T operator()(T a, T count) const {
    constexpr T bits = sizeof(T) * 8;
    const bool out = count < 0 || count >= bits;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (out ? T(bits - 1) : count));
    else return out ? T(0) : static_cast<T>(a >> count);
  }
};

template <class T> CRESSET_EXPR T wrapping_abs(T a) { return static_cast<T>(a < 0 ? Wrap<T>(0) - Wrap<T>(a) : Wrap<T>(a)); }

// The divisor that overflows the lowest value.
template <class T> CRESSET_EXPR bool is_minus_one(T a) { return std::is_signed_v<T> && a == T(-1); }

// Euclid's algorithm on wrapped magnitudes: only the lowest value has none, and gives a result of either sign.
template <class T> CRESSET_EXPR T gcd(T x, T y) {
  T a = wrapping_abs(x), b = wrapping_abs(y);
  while (a != 0) {
    const T rest = is_minus_one(a) ? T(0) : static_cast<T>(b % a);
    b = a;
    a = rest;
  }
  return b;
}
struct Gcd : Signature<2, 0, kInts> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return gcd(a, b); }
};
struct Lcm : Signature<2, 0, kInts> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    const T divisor = gcd(a, b);
    if (divisor == 0) return 0;
    const T quotient = is_minus_one(divisor) ? static_cast<T>(Wrap<T>(0) - Wrap<T>(a)) : static_cast<T>(a / divisor);
    using Wide = std::conditional_t<(sizeof(T) < 4), int32_t, T>;
    return static_cast<T>(wrapping_abs(static_cast<Wide>(Wrap<T>(quotient) * Wrap<T>(b))));
  }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Shifts by a negative count, or by the width and more, push every bit out.
// clang-format off
#define CRESSET_BITS_KERNELS(X)                                                                             \
  X(bitwise_and, BitwiseAnd) X(bitwise_or, BitwiseOr) X(bitwise_xor, BitwiseXor) X(bitwise_not, BitwiseNot) \
  X(bitwise_left_shift, BitwiseLeftShift) X(bitwise_right_shift, BitwiseRightShift) X(gcd, Gcd) X(lcm, Lcm)
// clang-format on
