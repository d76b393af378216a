#pragma once
// Loops over positions and pointers of sparse layouts. Positions are int64 unless said; arrays are contiguous. No result depends on
// the number of threads: what meets in one place is added in the order in which it is stored.

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"
#include "cresset/base/scalar.h"

namespace cresset::kernels {

// out[k] = the row-major number of position k in an array of `sizes`; `positions` is (sizes.size(), n). False: one is out of range.
bool flatten_positions(int64_t* out, const int64_t* positions, int64_t n, IntArrayRef sizes);
// The inverse.
void unflatten_positions(int64_t* positions, const int64_t* flat, int64_t n, IntArrayRef sizes);
bool strictly_increasing(const int64_t* x, int64_t n);
// The places where a sorted array begins another number, `n` at the end included; as many as `starts` has room for: at most n + 1.
int64_t segment_starts(int64_t* starts, const int64_t* sorted, int64_t n);
// out[s] = the sum of rows order[starts[s]] ... order[starts[s + 1] - 1] of `values`, of `width` elements each; bool ors.
void segment_sum(void* out, const void* values, ScalarType dtype, int64_t width, const int64_t* order, const int64_t* starts, int64_t segments);

// pointers (batches, n + 1) of majors (batches, nnz) that do not decrease; and back. Both of `index_dtype`, int64 or int32.
void compress_positions(void* pointers, const void* majors, ScalarType index_dtype, int64_t batches, int64_t n, int64_t nnz);
void expand_pointers(void* majors, const void* pointers, ScalarType index_dtype, int64_t batches, int64_t n, int64_t nnz);

// The checks of compressed layouts over all batches; each names the first thing that does not hold. Crowded: some row stores more
// than it has columns.
enum class PointerFault { none, first, last, steps, range, crowded, order };
PointerFault check_pointers(const void* pointers, const void* plain, ScalarType index_dtype, int64_t batches, int64_t n_major, int64_t n_minor, int64_t nnz);

// out (rows, columns) = beta * out + alpha * A x dense, A by rows (CSR), dense (.., columns) with rows `dense_stride` elements
// apart. Half and bfloat16 are summed in float. With beta 0 `out` need not be set.
struct SparseRows {
  const void* pointers;
  const void* plain;
  const void* values;
  ScalarType index_dtype, dtype;
  int64_t rows;
};
void sparse_times_dense(void* out, const SparseRows& a, const void* dense, int64_t dense_stride, int64_t columns, const Scalar& beta, const Scalar& alpha);
// values[k] = beta * values[k] + alpha * (row of a for k) . (row of b for k): a (rows, depth), b (columns, depth), contiguous.
void sampled_product(void* values, const SparseRows& pattern, const void* a, const void* b, int64_t depth, const Scalar& beta, const Scalar& alpha);
// C = A x B by rows: the number of values of each row of C into `counts` (rows + 1 entries, made pointers), then columns, sorted,
// and values.
void sparse_product_count(int64_t* pointers, const SparseRows& a, const SparseRows& b, int64_t columns);
void sparse_product_fill(const int64_t* pointers, int64_t* plain, void* values, const SparseRows& a, const SparseRows& b, int64_t columns);

}  // namespace cresset::kernels
