#pragma once
// IEEE binary16 and bfloat16 storage types; arithmetic happens in float.

#include <cstdint>
#include <cstring>
#include <limits>

namespace cresset {

namespace detail {

inline float bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float half_bits_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) return bits_to_float(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return bits_to_float(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa * 2^-24 is exact in float.
  const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-08f;
  return bits_to_float(sign | float_to_bits(magnitude));
}

// Round to nearest, ties to even.
inline uint16_t float_to_half_bits(float value) {
  const uint32_t bits = float_to_bits(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Adding 0.5 aligns the value so that the float's own rounding yields the subnormal mantissa.
    const float aligned = bits_to_float(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (float_to_bits(aligned) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline uint16_t float_to_bfloat16_bits(float value) {
  const uint32_t bits = float_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace detail

// IEEE 754 binary16.
struct alignas(2) Half {
  uint16_t x = 0;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  Half() = default;
  constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  Half(float value) : x(detail::float_to_half_bits(value)) {}
  operator float() const { return detail::half_bits_to_float(x); }
};

// The upper half of an IEEE 754 binary32.
struct alignas(2) BFloat16 {
  uint16_t x = 0;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  BFloat16() = default;
  constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  BFloat16(float value) : x(detail::float_to_bfloat16_bits(value)) {}
  operator float() const { return detail::bits_to_float(static_cast<uint32_t>(x) << 16); }
};

#define CRESSET_LOW_PRECISION_OPERATORS(T)                                              \
  inline T operator+(T a, T b) { return T(static_cast<float>(a) + static_cast<float>(b)); } \
  inline T operator-(T a, T b) { return T(static_cast<float>(a) - static_cast<float>(b)); } \
  inline T operator*(T a, T b) { return T(static_cast<float>(a) * static_cast<float>(b)); } \
  inline T operator/(T a, T b) { return T(static_cast<float>(a) / static_cast<float>(b)); } \
  inline T operator-(T a) { return T(-static_cast<float>(a)); }                         \
  inline T& operator+=(T& a, T b) { return a = a + b; }                                 \
  inline T& operator-=(T& a, T b) { return a = a - b; }                                 \
  inline T& operator*=(T& a, T b) { return a = a * b; }                                 \
  inline T& operator/=(T& a, T b) { return a = a / b; }
CRESSET_LOW_PRECISION_OPERATORS(Half)
CRESSET_LOW_PRECISION_OPERATORS(BFloat16)
#undef CRESSET_LOW_PRECISION_OPERATORS

}  // namespace cresset

namespace std {

template <>
class numeric_limits<cresset::Half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = 11, max_exponent = 16, min_exponent = -13;
  using H = cresset::Half;
  static constexpr H min() { return H(0x0400, H::from_bits()); }
  static constexpr H lowest() { return H(0xfbff, H::from_bits()); }
  static constexpr H max() { return H(0x7bff, H::from_bits()); }
  static constexpr H epsilon() { return H(0x1400, H::from_bits()); }
  static constexpr H infinity() { return H(0x7c00, H::from_bits()); }
  static constexpr H quiet_NaN() { return H(0x7e00, H::from_bits()); }
  static constexpr H denorm_min() { return H(0x0001, H::from_bits()); }
};

template <>
class numeric_limits<cresset::BFloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = 8, max_exponent = 128, min_exponent = -125;
  using B = cresset::BFloat16;
  static constexpr B min() { return B(0x0080, B::from_bits()); }
  static constexpr B lowest() { return B(0xff7f, B::from_bits()); }
  static constexpr B max() { return B(0x7f7f, B::from_bits()); }
  static constexpr B epsilon() { return B(0x3c00, B::from_bits()); }
  static constexpr B infinity() { return B(0x7f80, B::from_bits()); }
  static constexpr B quiet_NaN() { return B(0x7fc0, B::from_bits()); }
  static constexpr B denorm_min() { return B(0x0001, B::from_bits()); }
};

}  // namespace std
