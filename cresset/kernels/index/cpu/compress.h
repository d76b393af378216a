#pragma once
// Masks as words of bits, and what is moved by them. Arrays are contiguous; bit i of the words belongs to element i.

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {
constexpr int64_t kMaskBlock = 4096;  // elements that mask_bits takes at most
constexpr int64_t kMaskWords = kMaskBlock / 64;
}  // namespace cresset::kernels

// Writes a bit for each of n elements, set where the element is not zero, rest of the last word clear; returns how many are set.
CRESSET_DECLARE_KERNEL(int64_t, mask_bits, (ScalarType t, const void* x, int64_t n, uint64_t* bits))
// The numbers base + i of the bits set.
CRESSET_DECLARE_KERNEL(void, compress_positions, (const uint64_t* bits, int64_t words, int64_t base, int64_t* out))
// The elements of `item` bytes whose bits are set, one behind the other; and from there back to their places.
CRESSET_DECLARE_KERNEL(void, compress_elements, (int64_t item, const void* x, const uint64_t* bits, int64_t words, void* out))
CRESSET_DECLARE_KERNEL(void, expand_elements, (int64_t item, const void* packed, const uint64_t* bits, int64_t words, void* out))
// x[i] = *value where mask[i] is not zero.
CRESSET_DECLARE_KERNEL(void, fill_masked, (int64_t item, void* x, const uint8_t* mask, const void* value, int64_t n))
