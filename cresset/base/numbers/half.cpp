#include <ostream>

#include "cresset/base/numbers/float8.h"

namespace cresset {

std::ostream& operator<<(std::ostream& out, Half v) { return out << static_cast<float>(v); }
std::ostream& operator<<(std::ostream& out, BFloat16 v) { return out << static_cast<float>(v); }

#define CRESSET_FLOAT8(T)                                                 \
  T::T(float value) : x(float_to_float8(value, ScalarType::T)) {}         \
  T::operator float() const { return float8_to_float(x, ScalarType::T); } \
  bool T::isnan() const {                                                 \
    const float v = *this;                                                \
    return v != v;                                                        \
  }                                                                       \
  std::ostream& operator<<(std::ostream& out, T v) { return out << static_cast<float>(v); }
CRESSET_FLOAT8(Float8_e5m2)
CRESSET_FLOAT8(Float8_e4m3fn)
CRESSET_FLOAT8(Float8_e5m2fnuz)
CRESSET_FLOAT8(Float8_e4m3fnuz)
CRESSET_FLOAT8(Float8_e8m0fnu)
#undef CRESSET_FLOAT8

}  // namespace cresset
