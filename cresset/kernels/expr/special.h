#pragma once
// The error function's family and the gamma function's.

#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr {

struct Erf : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = std::is_same_v<T, float>;
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::erf(a); }
};
struct Erfc : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = std::is_same_v<T, float>;
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::erfc(a); }
};
struct Erfinv : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::erfinv(a); }
};
struct Lgamma : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::lgamma(a); }
};
struct Digamma : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::digamma(a); }
};
struct Polygamma : Signature<1, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a, T n) const { return math::polygamma(a, n); }
};

}  // namespace cresset::kernels::expr
