#pragma once
// Lengths of complex numbers. Their other functions are those of cresset/base/numbers/complex_math.h: std::exp and so on.

#include <limits>

#include "cresset/base/numbers/complex_math.h"
#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr {

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
