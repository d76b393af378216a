#pragma once
// IEEE binary16 and bfloat16 storage types; arithmetic happens in float.

#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>
#include <type_traits>

#include "cresset/base/macros.h"

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

// With each other and with integers the result is T; with float and double it is theirs.
#define CRESSET_LOW_PRECISION_OPERATOR(T, op)                                                               \
  inline T operator op(T a, T b) { return T(static_cast<float>(a) op static_cast<float>(b)); }              \
  inline float operator op(T a, float b) { return static_cast<float>(a) op b; }                             \
  inline float operator op(float a, T b) { return a op static_cast<float>(b); }                             \
  inline double operator op(T a, double b) { return static_cast<double>(static_cast<float>(a)) op b; }      \
  inline double operator op(double a, T b) { return a op static_cast<double>(static_cast<float>(b)); }      \
  template <class I, class = std::enable_if_t<std::is_integral<I>::value>> inline T operator op(T a, I b) { \
    return T(static_cast<float>(a) op static_cast<float>(b));                                               \
  }                                                                                                         \
  template <class I, class = std::enable_if_t<std::is_integral<I>::value>> inline T operator op(I a, T b) { \
    return T(static_cast<float>(a) op static_cast<float>(b));                                               \
  }                                                                                                         \
  inline T& operator op##=(T& a, T b) { return a = a op b; }                                                \
  inline float& operator op##=(float& a, T b) { return a = a op static_cast<float>(b); }
#define CRESSET_LOW_PRECISION_OPERATORS(T)                      \
  CRESSET_LOW_PRECISION_OPERATOR(T, +)                          \
  CRESSET_LOW_PRECISION_OPERATOR(T, -)                          \
  CRESSET_LOW_PRECISION_OPERATOR(T, *)                          \
  CRESSET_LOW_PRECISION_OPERATOR(T, /)                          \
  inline T operator-(T a) { return T(-static_cast<float>(a)); } \
  CRESSET_API std::ostream& operator<<(std::ostream& out, T v);
CRESSET_LOW_PRECISION_OPERATORS(Half)
CRESSET_LOW_PRECISION_OPERATORS(BFloat16)

namespace detail {

// The members of numeric_limits that the width of the fraction and the range of the exponents decide, and those that are the same for all.
template <int Digits, int MinExponent, int MaxExponent, bool Infinity, bool NaN, bool Denormals, bool Signed = true> struct LowPrecisionLimits {
  static constexpr bool is_specialized = true, is_signed = Signed, is_integer = false, is_exact = false, is_bounded = true, is_modulo = false;
  static constexpr bool has_infinity = Infinity, has_quiet_NaN = NaN, has_signaling_NaN = NaN && Infinity;
  static constexpr bool is_iec559 = Digits == 11;  // binary16
  static constexpr std::float_denorm_style has_denorm = Denormals ? std::denorm_present : std::denorm_absent;
  static constexpr bool has_denorm_loss = std::numeric_limits<float>::has_denorm_loss;
  static constexpr std::float_round_style round_style = std::numeric_limits<float>::round_style;
  static constexpr bool traps = std::numeric_limits<float>::traps, tinyness_before = std::numeric_limits<float>::tinyness_before;
  static constexpr int radix = 2, digits = Digits, digits10 = (Digits - 1) * 30103 / 100000, max_digits10 = Digits * 30103 / 100000 + 2;
  static constexpr int min_exponent = MinExponent, max_exponent = MaxExponent;
  // Toward zero, as the smallest and largest power of ten that are normal numbers.
  static constexpr int min_exponent10 = -((1 - MinExponent) * 30103 / 100000), max_exponent10 = MaxExponent * 30103 / 100000;
};

}  // namespace detail
}  // namespace cresset

namespace std {

#define CRESSET_LIMITS(T, Bits, Min, Lowest, Max, Epsilon, Round, Infinity, Quiet, Signaling, Denorm, ...) \
  template <> class numeric_limits<cresset::T> : public cresset::detail::LowPrecisionLimits<__VA_ARGS__> { \
    static constexpr cresset::T of(Bits bits) { return cresset::T(bits, cresset::T::from_bits()); }        \
                                                                                                           \
   public:                                                                                                 \
    static constexpr cresset::T min() { return of(Min); }                                                  \
    static constexpr cresset::T lowest() { return of(Lowest); }                                            \
    static constexpr cresset::T max() { return of(Max); }                                                  \
    static constexpr cresset::T epsilon() { return of(Epsilon); }                                          \
    static constexpr cresset::T round_error() { return of(Round); }                                        \
    static constexpr cresset::T infinity() { return of(Infinity); }                                        \
    static constexpr cresset::T quiet_NaN() { return of(Quiet); }                                          \
    static constexpr cresset::T signaling_NaN() { return of(Signaling); }                                  \
    static constexpr cresset::T denorm_min() { return of(Denorm); }                                        \
  };
CRESSET_LIMITS(Half, uint16_t, 0x0400, 0xfbff, 0x7bff, 0x1400, 0x3800, 0x7c00, 0x7e00, 0x7d00, 0x0001, 11, -13, 16, true, true, true)
CRESSET_LIMITS(BFloat16, uint16_t, 0x0080, 0xff7f, 0x7f7f, 0x3c00, 0x3f00, 0x7f80, 0x7fc0, 0x7f81, 0x0001, 8, -125, 128, true, true, true)

}  // namespace std
