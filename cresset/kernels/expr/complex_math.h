#pragma once
// Functions of complex numbers: those of the C++ standard library (C99 Annex G special values).

#include <complex>
#include <limits>

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr {

template <class V> CRESSET_EXPR std::complex<V> std_complex(complex<V> z) { return {z.real(), z.imag()}; }
template <class V> CRESSET_EXPR complex<V> own_complex(std::complex<V> z) { return {z.real(), z.imag()}; }

#define CRESSET_COMPLEX_FUNCTION(name) \
  template <class V> CRESSET_EXPR complex<V> c##name(complex<V> z) { return own_complex(std::name(std_complex(z))); }
CRESSET_COMPLEX_FUNCTION(exp)
CRESSET_COMPLEX_FUNCTION(log)
CRESSET_COMPLEX_FUNCTION(log10)
CRESSET_COMPLEX_FUNCTION(sqrt)
CRESSET_COMPLEX_FUNCTION(sin)
CRESSET_COMPLEX_FUNCTION(cos)
CRESSET_COMPLEX_FUNCTION(tan)
CRESSET_COMPLEX_FUNCTION(asin)
CRESSET_COMPLEX_FUNCTION(acos)
CRESSET_COMPLEX_FUNCTION(atan)
CRESSET_COMPLEX_FUNCTION(sinh)
CRESSET_COMPLEX_FUNCTION(cosh)
CRESSET_COMPLEX_FUNCTION(tanh)
CRESSET_COMPLEX_FUNCTION(asinh)
CRESSET_COMPLEX_FUNCTION(acosh)
CRESSET_COMPLEX_FUNCTION(atanh)
#undef CRESSET_COMPLEX_FUNCTION

// The length of (a, b) without overflow or underflow on the way; infinite beside a NaN too.
CRESSET_EXPR float hypot(float a, float b) {
  const double x = a, y = b;
  const float length = static_cast<float>(__builtin_sqrt(x * x + y * y)), most = std::numeric_limits<float>::infinity();
  return (__builtin_fabsf(a) == most) | (__builtin_fabsf(b) == most) ? most : length;
}
CRESSET_EXPR double hypot(double a, double b) {
  const double x = __builtin_fabs(a), y = __builtin_fabs(b), larger = x > y ? x : y, most = std::numeric_limits<double>::infinity();
  const double scale = larger > 0x1p+500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p+600 : 1, back = larger > 0x1p+500 ? 0x1p+600 : larger < 0x1p-500 ? 0x1p-600 : 1;
  const double u = x * scale, v = y * scale;
  return (x == most) | (y == most) ? most : __builtin_sqrt(u * u + v * v) * back;
}

template <class V> CRESSET_EXPR V cabs(complex<V> z) { return hypot(z.real(), z.imag()); }

}  // namespace cresset::kernels::expr
