#pragma once
// Sorting and selection of one contiguous row of a real dtype.

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

// Words of scratch that the two need for n elements.
namespace cresset::kernels {
constexpr int64_t sort_scratch_words(int64_t n) { return 2 * n; }
}  // namespace cresset::kernels

// Stable. `values` may be null. n < 2^32.
CRESSET_DECLARE_KERNEL(void, sort_row, (ScalarType t, const void* row, int64_t n, bool descending, void* values, int64_t* indices, uint64_t* scratch))
// The k first of the stable order, 0 < k <= n < 2^32, in that order if `sorted`.
CRESSET_DECLARE_KERNEL(void, select_row,
                       (ScalarType t, const void* row, int64_t n, int64_t k, bool descending, bool sorted, void* values, int64_t* indices, uint64_t* scratch))
