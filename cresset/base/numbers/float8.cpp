#include "cresset/base/numbers/float8.h"

#include <array>
#include <cmath>
#include <limits>

namespace cresset {

namespace {

// Facts of a format with a sign bit. Formats with `one_zero` have no negative zero: its code is the only NaN.
struct Format {
  int mantissa, bias;
  uint8_t largest, overflow, nan;
  bool one_zero;
};

constexpr Format format_of(ScalarType t) {
  switch (t) {
    case ScalarType::Float8_e4m3fn: return {3, 7, 0x7e, 0x7e, 0x7f, false};
    case ScalarType::Float8_e5m2: return {2, 15, 0x7b, 0x7c, 0x7f, false};
    case ScalarType::Float8_e4m3fnuz: return {3, 8, 0x7f, 0x80, 0x80, true};
    default: return {2, 16, 0x7f, 0x80, 0x80, true};
  }
}

// float8_e8m0fnu: a power of two without a sign; 255 is NaN.
uint8_t to_exponent(float value) {
  if (!std::isfinite(value)) return 0xff;
  const uint32_t bits = detail::float_to_bits(value), exponent = bits >> 23 & 0xff;
  const bool up = (bits & 0x400000u) && ((bits & 0x3fffffu) || exponent > 0);
  return static_cast<uint8_t>(exponent + up);
}

uint8_t encode(float value, const Format& f) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  if (std::isnan(value)) return f.one_zero ? f.nan : static_cast<uint8_t>(sign | f.nan);
  uint32_t code = f.largest + 1u;
  if (std::isfinite(value)) {
    const float magnitude = std::fabs(value);
    const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : 1 - f.bias, 1 - f.bias);
    // A carry out of the mantissa lands in the exponent, as it should.
    const float steps = std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent));
    if (exponent <= f.bias + 1) code = (static_cast<uint32_t>(exponent + f.bias - 1) << f.mantissa) + static_cast<uint32_t>(steps);
  }
  if (code > f.largest) return f.one_zero ? f.overflow : static_cast<uint8_t>(sign | f.overflow);
  return code == 0 && f.one_zero ? 0 : static_cast<uint8_t>(sign | code);
}

float decode(uint8_t code, ScalarType t) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (t == ScalarType::Float8_e8m0fnu) return code == 0xff ? nan : std::ldexp(1.0f, static_cast<int>(code) - 127);
  const Format f = format_of(t);
  if (f.one_zero && code == f.nan) return nan;
  const int magnitude = code & 0x7f;
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if (magnitude > f.largest) return magnitude == f.overflow ? sign * std::numeric_limits<float>::infinity() : nan;
  const int exponent = magnitude >> f.mantissa, mantissa = magnitude & ((1 << f.mantissa) - 1);
  return exponent == 0 ? sign * std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa)
                       : sign * std::ldexp(static_cast<float>(mantissa + (1 << f.mantissa)), exponent - f.bias - f.mantissa);
}

using Table = std::array<float, 256>;

const Table& table_of(ScalarType t) {
  static const auto tables = [] {
    std::array<Table, kNumDTypes - kNumKernelDTypes> all;
    for (int i = 0; i < kNumDTypes - kNumKernelDTypes; i++)
      for (int code = 0; code < 256; code++) all[i][code] = decode(static_cast<uint8_t>(code), static_cast<ScalarType>(kNumKernelDTypes + i));
    return all;
  }();
  return tables[static_cast<int>(t) - kNumKernelDTypes];
}

}  // namespace

uint8_t float_to_float8(float value, ScalarType format) { return format == ScalarType::Float8_e8m0fnu ? to_exponent(value) : encode(value, format_of(format)); }

float float8_to_float(uint8_t code, ScalarType format) { return table_of(format)[code]; }

}  // namespace cresset
