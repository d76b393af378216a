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
// At the poles of negative integers reflected in the argument's own precision, so that it is a large number and not infinite, as in PyTorch.
struct Trigamma : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  CRESSET_EXPR float operator()(float a) const {
    if (!(a < 0 && a > -1e5f && a == std::trunc(a))) return static_cast<float>(math::single::trigamma(a));
    const float s = math::sin(static_cast<float>(math::single::kPi) * a);
    return static_cast<float>(math::single::kPi * math::single::kPi / (static_cast<double>(s) * s) - math::single::trigamma(1 - static_cast<double>(a)));
  }
  CRESSET_EXPR double operator()(double a) const {
    if (!(a < 0 && a > -1e5 && a == std::trunc(a))) return math::polygamma(a, 1.0);
    const double s = math::sin(math::single::kPi * a);
    return math::single::kPi * math::single::kPi / (s * s) - math::polygamma(1 - a, 1.0);
  }
};
struct Polygamma : Signature<1, 1, kFloats> {
  using SpecialCase = Trigamma;
  static bool is_special(const Scalar* params) { return params[0].toDouble() == 1; }
  template <class T> CRESSET_EXPR T operator()(T a, T n) const { return math::polygamma(a, n); }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Inputs and parameters: polygamma: params: n.
#define CRESSET_SPECIAL_KERNELS(X) X(erf, Erf) X(erfc, Erfc) X(erfinv, Erfinv) X(lgamma, Lgamma) X(digamma, Digamma) X(polygamma, Polygamma)
