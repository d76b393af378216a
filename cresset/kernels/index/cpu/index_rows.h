#pragma once
// Tables of gather and scatter: element i of row r pairs dense[r][i] with base[r][i] moved on by index[r][i] * step bytes.

#include "cresset/base/dtype.h"
#include "cresset/base/scalar.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// All steps in bytes: along a row, and from row to row.
struct IndexTable {
  char* dense;
  char* base;
  const char* index;
  int64_t dense_step, base_step, index_step;
  int64_t dense_row, base_row, index_row;
  int64_t step;  // from one index to the next
  int64_t wrap;  // added to negative indices
  int64_t n, rows;
};

}  // namespace cresset::kernels

// dense = base, for elements of `item` bytes and indices of `index_item` bytes.
CRESSET_DECLARE_AVX2_KERNEL(void, gather_table, (int64_t item, int64_t index_item, const IndexTable& table))
// base = dense, in order.
CRESSET_DECLARE_AVX2_KERNEL(void, scatter_table, (int64_t item, int64_t index_item, const IndexTable& table))
// base += alpha * dense in order, rounded at each step; bool ors. alpha null: 1. Indices are int64.
CRESSET_DECLARE_AVX2_KERNEL(void, scatter_add_table, (ScalarType t, const IndexTable& table, const Scalar* alpha))
// sum = the rows order[0], ..., order[count - 1] of a dense matrix, added in that order; float sums of float16 and bfloat16, which sum
// holds. Integers wrap around; not for bool. count > 0.
CRESSET_DECLARE_AVX2_KERNEL(void, sum_picked_rows, (ScalarType t, const void* rows, const int64_t* order, int64_t count, int64_t width, void* sum))
