#pragma once
// Unsigned keys that sort as PyTorch orders elements: NaN last, -0 equal to 0.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

template <class T> using SortKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> struct KeyCodec {
  using Key = SortKey<T>;
  static constexpr bool kFloating = !std::is_integral_v<T>;
  using Bits =
      std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  static constexpr Bits kNaN = static_cast<Bits>(~Bits{0});

  static Bits bits_of(T v) {
    Bits b;
    std::memcpy(&b, &v, sizeof b);
    return b;
  }
  static constexpr Bits infinity() {
    if constexpr (std::is_same_v<T, double>) return 0x7ff0000000000000ull;
    else if constexpr (std::is_same_v<T, float>) return 0x7f800000u;
    else if constexpr (std::is_same_v<T, BFloat16>) return 0x7f80u;
    else return 0x7c00u;
  }
  static Key encode(T v) {
    const Bits b = bits_of(v);
    if constexpr (!kFloating) {
      return static_cast<Key>(std::is_signed_v<T> ? static_cast<Bits>(b ^ kSign) : b);
    } else {
      const Bits magnitude = static_cast<Bits>(b & ~kSign);
      const Bits positive = static_cast<Bits>(b | kSign);
      const Bits ordered = (b & kSign) && magnitude != 0 ? static_cast<Bits>(~b) : positive;
      return magnitude > infinity() ? kNaN : ordered;
    }
  }
  // Whether decoding would lose something: the sign of zero, or a NaN's payload.
  static bool is_special(T v) {
    if constexpr (!kFloating) return false;
    const Bits b = bits_of(v);
    return (b == kSign) | (static_cast<Bits>(b & ~kSign) > infinity());
  }
  static T decode(Key key) {
    Bits b = static_cast<Bits>(key);
    if constexpr (kFloating) b = b & kSign ? static_cast<Bits>(b & ~kSign) : static_cast<Bits>(~b);
    else if constexpr (std::is_signed_v<T>) b = static_cast<Bits>(b ^ kSign);
    T v;
    std::memcpy(static_cast<void*>(&v), &b, sizeof v);
    return v;
  }
};

template <class F> void visit_real(ScalarType t, F&& f) {
  switch (t) {
#define CRESSET_CASE(T, Name)                    \
  case ScalarType::Name:                         \
    if constexpr (!is_complex<T>::value) f(T{}); \
    break;
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: break;
  }
}

}  // namespace cresset::kernels
