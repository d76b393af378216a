#pragma once
// How far a geometry reaches into memory, in 64 bits that cannot overflow.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/base/error.h"
#include "cresset/base/small_vector.h"

namespace cresset {

// The elements of memory that sizes and strides need from the start of a storage: the place of the last element and one; 0 for a tensor without
// elements. Errors: a negative size or stride, elements or bytes (of `width` each) beyond 64 bits.
inline int64_t checked_reach(const char* op, IntArrayRef sizes, IntArrayRef strides, int64_t offset, size_t width) {
  int64_t last = offset, count = 1, step, bytes;
  bool fits = true;
  for (size_t d = 0; d < sizes.size(); d++) {
    CRESSET_CHECK(sizes[d] >= 0, op, ": negative dimension in shape ", sizes);
    CRESSET_CHECK(strides[d] >= 0, op, ": negative strides are not supported, got ", strides);
    if (sizes[d] == 0) return 0;
    fits = fits && !__builtin_mul_overflow(count, sizes[d], &count) && !__builtin_mul_overflow(sizes[d] - 1, strides[d], &step) &&
           !__builtin_add_overflow(last, step, &last);
  }
  fits = fits && !__builtin_add_overflow(last, int64_t{1}, &last) && !__builtin_mul_overflow(last, static_cast<int64_t>(width), &bytes);
  CRESSET_CHECK(fits, op, ": sizes ", sizes, ", strides ", strides, " and offset ", offset, " reach beyond 64 bits");
  return last;
}

}  // namespace cresset
