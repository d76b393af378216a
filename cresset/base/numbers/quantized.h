#pragma once
// Elements of quantised tensors: integers with a type of their own, so that they are not taken for numbers.

#include <cstdint>
#include <limits>
#include <type_traits>

namespace cresset {

template <class Int, int tag = 0> struct alignas(sizeof(Int)) Quantized {
  using underlying = Int;
  Int val_ = 0;
  Quantized() = default;
  explicit constexpr Quantized(Int value) : val_(value) {}
  friend constexpr bool operator==(Quantized a, Quantized b) { return a.val_ == b.val_; }
  friend constexpr bool operator!=(Quantized a, Quantized b) { return a.val_ != b.val_; }
};
using qint8 = Quantized<int8_t>;
using quint8 = Quantized<uint8_t>;
using qint32 = Quantized<int32_t>;
// Four elements a byte, and two.
using quint2x4 = Quantized<uint8_t, 2>;
using quint4x2 = Quantized<uint8_t, 4>;

template <class T> struct is_quantized : std::false_type {};
template <class Int, int tag> struct is_quantized<Quantized<Int, tag>> : std::true_type {};

}  // namespace cresset
