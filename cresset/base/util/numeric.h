#pragma once
// Integer and floating-point helpers of LibTorch's: bits, division that rounds down, sums and products, checks for overflow.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <type_traits>

#include "cresset/base/macros.h"
#include "cresset/base/numbers/complex.h"
#include "cresset/base/numbers/half.h"

namespace cresset {

template <class To, class From> To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable<From>::value && std::is_trivially_copyable<To>::value,
                "bit_cast: expected trivially copyable types of one size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

namespace detail {
inline float f32_from_bits(uint16_t bits) { return bits_to_float(static_cast<uint32_t>(bits) << 16); }
inline uint16_t bits_from_f32(float value) { return static_cast<uint16_t>(float_to_bits(value) >> 16); }
inline uint16_t round_to_nearest_even(float value) { return float_to_bfloat16_bits(value); }
inline uint32_t fp32_to_bits(float value) { return float_to_bits(value); }
inline float fp32_from_bits(uint32_t bits) { return bits_to_float(bits); }
inline float fp16_ieee_to_fp32_value(uint16_t bits) { return half_bits_to_float(bits); }
inline uint32_t fp16_ieee_to_fp32_bits(uint16_t bits) { return float_to_bits(half_bits_to_float(bits)); }
inline uint16_t fp16_ieee_from_fp32_value(float value) { return float_to_half_bits(value); }
inline float halfbits2float(unsigned short bits) { return half_bits_to_float(bits); }
inline unsigned short float2halfbits(float value) { return float_to_half_bits(value); }
}  // namespace detail

// Of numbers of 0 or more: the quotient rounded up, and the next multiple.
template <class T, class = std::enable_if_t<std::is_integral<T>::value>> constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
template <class T, class = std::enable_if_t<std::is_integral<T>::value>> constexpr T round_up(T a, T b) { return ceil_div(a, b) * b; }

// Toward minus infinity. Python's `//` on floats: exact where the quotient is.
template <class T> T div_floor_floating(T a, T b) {
  if (b == T(0)) return a / b;
  T rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return std::copysign(T(0), a / b);
  T whole = std::floor(quotient);
  if (quotient - whole > T(0.5)) whole += T(1);
  return whole;
}
template <class T> T div_floor_integer(T a, T b) {
  if (std::is_signed<T>::value && (a < T(0)) != (b < T(0))) {
    const T quotient = static_cast<T>(a / b);
    return a % b != T(0) ? static_cast<T>(quotient - 1) : quotient;
  }
  return static_cast<T>(a / b);
}
// Python's `%`: of the divisor's sign.
template <class T> T div_mod(T a, T b) {
  if constexpr (std::is_floating_point<T>::value) {
    T rest = std::fmod(a, b);
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) rest += b;
    return rest;
  } else {
    return static_cast<T>(a - b * div_floor_integer(a, b));
  }
}

// Sums and products of integers in 64 bits.
template <class C> int64_t sum_integers(const C& c) { return std::accumulate(c.begin(), c.end(), int64_t{0}); }
template <class It> int64_t sum_integers(It first, It last) { return std::accumulate(first, last, int64_t{0}); }
template <class C> int64_t multiply_integers(const C& c) {
  return std::accumulate(c.begin(), c.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}
template <class It> int64_t multiply_integers(It first, It last) {
  return std::accumulate(first, last, int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}
namespace detail {
[[noreturn]] CRESSET_API void throw_out_of_range(const char* what, size_t index, size_t size);
// Errors: a negative dimension, or one past the end where that does not stand for nothing.
inline void check_dims(int k, int l, size_t dims, bool may_be_past) {
  const int low = k < l ? k : l, high = k < l ? l : k;
  if (low < 0 || (!may_be_past && static_cast<size_t>(high) > dims)) throw_out_of_range("numelements", static_cast<size_t>(low < 0 ? low : high), dims);
}
}  // namespace detail

// Of dimensions from k on, below k, and between k and l in either order.
template <class C> int64_t numelements_from_dim(int k, const C& dims) {
  detail::check_dims(k, k, dims.size(), true);
  return static_cast<size_t>(k) > dims.size() ? 1 : multiply_integers(std::next(dims.cbegin(), k), dims.cend());
}
template <class C> int64_t numelements_to_dim(int k, const C& dims) {
  detail::check_dims(k, k, dims.size(), false);
  return multiply_integers(dims.cbegin(), std::next(dims.cbegin(), k));
}
template <class C> int64_t numelements_between_dim(int k, int l, const C& dims) {
  detail::check_dims(k, l, dims.size(), false);
  return multiply_integers(std::next(dims.cbegin(), k < l ? k : l), std::next(dims.cbegin(), k < l ? l : k));
}

template <class C> constexpr auto ssize(const C& c) {
  return static_cast<std::common_type_t<std::ptrdiff_t, std::make_signed_t<decltype(c.size())>>>(c.size());
}
template <class T, std::ptrdiff_t N> constexpr std::ptrdiff_t ssize(const T (&)[N]) { return N; }

template <class T> constexpr bool is_negative(const T& x) {
  if constexpr (std::is_unsigned<T>::value) return false;
  else return x < T(0);
}
template <class T> constexpr int signum(const T& x) { return (T(0) < x) - is_negative(x); }
template <class T, class U> constexpr bool signs_differ(const T& a, const U& b) { return is_negative(a) != is_negative(b); }
template <class T> constexpr bool greater_than_max_of(const T& x, const T& limit) { return x > limit; }
template <class Limit, class T> constexpr bool greater_than_max(const T& x) { return x > std::numeric_limits<Limit>::max(); }
template <class Limit, class T> constexpr bool less_than_lowest(const T& x) {
  if constexpr (std::is_unsigned<T>::value) return false;
  else if constexpr (std::is_unsigned<Limit>::value) return x < T(0);
  else return x < std::numeric_limits<Limit>::lowest();
}

// Whether the value of a number does not fit the type. With `strict_unsigned` a negative number does not fit an unsigned type; else it wraps
// as long as its magnitude fits.
template <class To, class From> bool overflows(From f, bool strict_unsigned = false) {
  if constexpr (std::is_same<To, bool>::value || (is_complex<From>::value && std::is_same<To, bool>::value)) {
    return false;
  } else if constexpr (is_complex<From>::value) {
    if constexpr (is_complex<To>::value)
      return overflows<typename To::value_type>(f.real(), strict_unsigned) || overflows<typename To::value_type>(f.imag(), strict_unsigned);
    else return f.imag() != 0 || overflows<To>(f.real(), strict_unsigned);
  } else if constexpr (is_complex<To>::value) {
    return overflows<typename To::value_type>(f, strict_unsigned);
  } else if constexpr (std::is_integral<From>::value && std::is_integral<To>::value) {
    if (!strict_unsigned && std::is_unsigned<To>::value && is_negative(f))
      return greater_than_max<To>(static_cast<std::make_unsigned_t<From>>(0) - static_cast<std::make_unsigned_t<From>>(f));
    if (is_negative(f)) return less_than_lowest<To>(f);
    return static_cast<uint64_t>(f) > static_cast<uint64_t>(std::numeric_limits<To>::max());
  } else {
    using L = std::numeric_limits<To>;
    const auto v = static_cast<double>(f);
    if (L::has_infinity && std::isinf(v)) return false;
    if (!L::has_quiet_NaN && v != v) return true;
    return v < static_cast<double>(L::lowest()) || v > static_cast<double>(L::max());
  }
}

template <class T> CRESSET_ALWAYS_INLINE bool add_overflows(T a, T b, T* out) { return __builtin_add_overflow(a, b, out); }
template <class T> CRESSET_ALWAYS_INLINE bool mul_overflows(T a, T b, T* out) { return __builtin_mul_overflow(a, b, out); }
template <class It> bool safe_multiplies_u64(It first, It last, uint64_t* out) {
  uint64_t product = 1;
  bool over = false;
  for (; first != last; ++first) over |= __builtin_mul_overflow(product, static_cast<uint64_t>(*first), &product);
  *out = product;
  return over;
}
template <class C> bool safe_multiplies_u64(const C& c, uint64_t* out) { return safe_multiplies_u64(c.begin(), c.end(), out); }

// f(0), ..., f(n - 1), unrolled.
template <int n> struct ForcedUnroll {
  template <class F, class... A> CRESSET_ALWAYS_INLINE void operator()(const F& f, A... args) const {
    ForcedUnroll<n - 1>{}(f, args...);
    f(std::integral_constant<int, n - 1>{}, args...);
  }
};
template <> struct ForcedUnroll<0> {
  template <class F, class... A> CRESSET_ALWAYS_INLINE void operator()(const F&, A...) const {}
};

}  // namespace cresset

namespace std {

// The next number of the type itself. Zero counts as one number, whose sign is that of `to` where both are zero.
#define CRESSET_NEXTAFTER(T, Infinity)                                                                 \
  inline cresset::T nextafter(cresset::T from, cresset::T to) {                                        \
    const float a = from, b = to;                                                                      \
    if (a != a || b != b) return a != a ? from : to;                                                   \
    if (a == b) return to;                                                                             \
    const auto sign = static_cast<uint16_t>(b < 0 ? 0x8000 : 0);                                       \
    if (a == 0) return cresset::T(static_cast<uint16_t>(sign | 1), cresset::T::from_bits());           \
    const bool away = (a < b) == (a > 0);                                                              \
    return cresset::T(static_cast<uint16_t>(away ? from.x + 1 : from.x - 1), cresset::T::from_bits()); \
  }
CRESSET_NEXTAFTER(BFloat16, 0x7f80)
CRESSET_NEXTAFTER(Half, 0x7c00)
#undef CRESSET_NEXTAFTER

}  // namespace std
