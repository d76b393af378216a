#pragma once
// The five 8-bit floating dtypes and their conversion to and from float. They are stored, not computed on.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset {

// Round to nearest, ties to even. Beyond the largest number: itself for e4m3fn, infinity for e5m2, NaN for the others.
CRESSET_API uint8_t float_to_float8(float value, ScalarType format);
CRESSET_API float float8_to_float(uint8_t code, ScalarType format);

// One number; arithmetic happens in float.
#define CRESSET_FLOAT8(T)                                   \
  struct alignas(1) T {                                     \
    uint8_t x = 0;                                          \
    struct from_bits_t {};                                  \
    static constexpr from_bits_t from_bits() { return {}; } \
    T() = default;                                          \
    constexpr T(uint8_t bits, from_bits_t) : x(bits) {}     \
    CRESSET_API T(float value);                             \
    CRESSET_API operator float() const;                     \
    CRESSET_API bool isnan() const;                         \
  };
CRESSET_FLOAT8(Float8_e5m2)
CRESSET_FLOAT8(Float8_e4m3fn)
CRESSET_FLOAT8(Float8_e5m2fnuz)
CRESSET_FLOAT8(Float8_e4m3fnuz)
CRESSET_FLOAT8(Float8_e8m0fnu)
#undef CRESSET_FLOAT8

CRESSET_LOW_PRECISION_OPERATORS(Float8_e5m2)
CRESSET_LOW_PRECISION_OPERATORS(Float8_e4m3fn)
CRESSET_LOW_PRECISION_OPERATORS(Float8_e5m2fnuz)
CRESSET_LOW_PRECISION_OPERATORS(Float8_e4m3fnuz)
CRESSET_LOW_PRECISION_OPERATORS(Float8_e8m0fnu)

CRESSET_MAP_DTYPE(::cresset::Float8_e5m2, Float8_e5m2)
CRESSET_MAP_DTYPE(::cresset::Float8_e4m3fn, Float8_e4m3fn)
CRESSET_MAP_DTYPE(::cresset::Float8_e5m2fnuz, Float8_e5m2fnuz)
CRESSET_MAP_DTYPE(::cresset::Float8_e4m3fnuz, Float8_e4m3fnuz)
CRESSET_MAP_DTYPE(::cresset::Float8_e8m0fnu, Float8_e8m0fnu)

}  // namespace cresset

namespace std {

CRESSET_LIMITS(Float8_e5m2, uint8_t, 0x04, 0xfb, 0x7b, 0x34, 0x38, 0x7c, 0x7f, 0x7d, 0x01, 3, -13, 16, true, true, true)
CRESSET_LIMITS(Float8_e4m3fn, uint8_t, 0x08, 0xfe, 0x7e, 0x20, 0x30, 0x7f, 0x7f, 0x7f, 0x01, 4, -5, 9, false, true, true)
CRESSET_LIMITS(Float8_e5m2fnuz, uint8_t, 0x04, 0xff, 0x7f, 0x34, 0x38, 0x80, 0x80, 0x80, 0x01, 3, -14, 16, false, true, true)
CRESSET_LIMITS(Float8_e4m3fnuz, uint8_t, 0x08, 0xff, 0x7f, 0x28, 0x38, 0x80, 0x80, 0x80, 0x01, 4, -6, 8, false, true, true)
CRESSET_LIMITS(Float8_e8m0fnu, uint8_t, 0x00, 0x00, 0xfe, 0x7f, 0x7e, 0xff, 0xff, 0xff, 0x00, 1, -126, 128, false, true, false, false)

}  // namespace std
