#pragma once
// The 53 random bits of two words as an integer and as a fraction.

#include <bit>
#include <cstdint>

#include "cresset/base/macros.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

// Two words as they lie in memory, read at once.
using WordPair __attribute__((may_alias)) = uint64_t;

constexpr uint64_t kMask53 = (uint64_t{1} << 53) - 1;

// The first word of a pair is the upper half of the number.
CRESSET_ALWAYS_INLINE uint64_t in_order(uint64_t pair) {
  if constexpr (std::endian::native == std::endian::little) return (pair << 32) | (pair >> 32);
  return pair;
}

CRESSET_ALWAYS_INLINE uint64_t bits53(uint64_t pair) { return in_order(pair) & kMask53; }

// Exact for integers below 2^53, without an instruction for 64-bit integers: the halves are planted into the mantissas of 2^84 and
// 2^52.
CRESSET_ALWAYS_INLINE double to_double(uint64_t bits) {
  const double high = std::bit_cast<double>((bits >> 32) | 0x4530000000000000u);
  const double low = std::bit_cast<double>((bits & 0xffffffffu) | 0x4330000000000000u);
  return (high - 0x1.00000001p84) + low;
}

CRESSET_ALWAYS_INLINE double fraction53(uint64_t pair) { return to_double(bits53(pair)) * 0x1p-53; }

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
