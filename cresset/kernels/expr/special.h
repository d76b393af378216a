#pragma once
// The error function's family and the gamma function's.

#include "cresset/base/scalar.h"
#include "cresset/kernels/expr/math.h"
#include "cresset/kernels/expr/single.h"

namespace cresset::kernels::expr {

struct Erf : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = is_float<T>;
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::erf(a); }
};
struct Erfc : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::erfc(a); }
};
struct Erfinv : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::erfinv(a); }
};
struct Lgamma : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  CRESSET_EXPR float operator()(float a) const { return static_cast<float>(math::single::lgamma(a)); }
  CRESSET_EXPR double operator()(double a) const { return math::lgamma(a); }
};
struct Digamma : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T a) const { return math::digamma(a); }
};
struct Trigamma : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  CRESSET_EXPR float operator()(float a) const { return static_cast<float>(math::single::trigamma(a)); }
  CRESSET_EXPR double operator()(double a) const { return math::polygamma(a, 1.0); }
};
struct Polygamma : Signature<1, 1, kFloats> {
  using SpecialCase = Trigamma;
  static bool is_special(const Scalar* params) { return params[0].toDouble() == 1; }
  template <class T> CRESSET_EXPR T operator()(T a, T n) const { return math::polygamma(a, n); }
};

}  // namespace cresset::kernels::expr
