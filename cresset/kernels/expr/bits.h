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

template <class T> CRESSET_EXPR std::make_unsigned_t<T> magnitude(T a) {
  using U = std::make_unsigned_t<T>;
  return a < 0 ? static_cast<U>(U(0) - static_cast<U>(a)) : static_cast<U>(a);
}
template <class U> CRESSET_EXPR U gcd_unsigned(U a, U b) {
  while (b != 0) {
    const U rest = static_cast<U>(a % b);
    a = b;
    b = rest;
  }
  return a;
}
struct Gcd : Signature<2, 0, kInts> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return static_cast<T>(gcd_unsigned(magnitude(a), magnitude(b))); }
};
struct Lcm : Signature<2, 0, kInts> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    const auto divisor = gcd_unsigned(magnitude(a), magnitude(b));
    if (divisor == 0) return 0;
    return static_cast<T>(magnitude(static_cast<T>(Wrap<T>(magnitude(a) / divisor) * Wrap<T>(magnitude(b)))));
  }
};

}  // namespace cresset::kernels::expr
