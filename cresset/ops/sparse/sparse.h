#pragma once
// Shared by the bodies of sparse ops. Functions over public ops record gradients where their callers do.

#include "cresset/core/sparse.h"
#include "cresset/ops/functions.h"

namespace cresset::ops::sparse {

// "Strided", "Sparse", "SparseCsr", ...: as errors name layouts.
const char* title(Layout l);
inline bool is_sparse(const Tensor& t) { return cresset::is_sparse(t.layout()); }
int64_t product(IntArrayRef sizes);
inline IntArrayRef first(IntArrayRef sizes, int64_t n) { return sizes.slice(0, static_cast<size_t>(n)); }
inline IntArrayRef behind(IntArrayRef sizes, int64_t n) { return sizes.slice(static_cast<size_t>(n)); }
DimVector joined(IntArrayRef a, IntArrayRef b);

// Row-major numbers (nnz) of positions (d, nnz) in an array of `sizes`, and the inverse.
Tensor flat_positions(const Tensor& positions, IntArrayRef sizes);
Tensor positions_of(const Tensor& flat, IntArrayRef sizes);
// The majors (batch..., nnz) of pointers (batch..., n + 1).
Tensor expanded(const Tensor& pointers, int64_t nnz);
// Positions of all stored elements, in their order: (sparse_dim, nnz), or (batch_dim + 2, elements) with those of one block
// together.
Tensor element_positions(const Tensor& t);
// Values in the order of element_positions, of shape (elements, dense sizes...).
Tensor element_values(const Tensor& t, const Tensor& values);
// The rows and columns of a block; 1, 1 without blocks.
std::pair<int64_t, int64_t> block_of(const Tensor& t);

// Without a history: sorted, each position once.
Tensor coalesced(const Tensor& coo);
// The same positions with other values, differentiably.
Tensor with_values(const Tensor& pattern, const Tensor& values);
// Values of `source`, dense or sparse, at the positions (d, n) of its first d dimensions, differentiably: (n, other sizes...).
Tensor values_at(const Tensor& source, const Tensor& positions);
// The same for all positions that `pattern` stores, in the shape of its values.
Tensor values_like(const Tensor& source, const Tensor& pattern);
// A copy without a history that shares nothing but positions.
Tensor cloned(const Tensor& t);
// A tensor that stores nothing, or, without data, `nnz` elements.
Tensor empty_of(IntArrayRef size, const TensorOptions& options, int64_t dense_dim = 0, int64_t nnz = 0);
// The same in a compressed layout; `blocksize` is empty for layouts without blocks.
Tensor empty_compressed(IntArrayRef size, const TensorOptions& options, int64_t dense_dim, IntArrayRef blocksize, ScalarType index_dtype, int64_t nnz = 0);
Tensor empty_like(const Tensor& self, const TensorOptions& options);
Tensor zeros_like(const Tensor& self, const TensorOptions& options);

// To a compressed layout from positions (batch_dim + 2, n) and values (n, dense sizes...); `blocksize` empty: no blocks.
Tensor compressed_from(Layout layout, IntArrayRef sizes, const Tensor& positions, const Tensor& values, IntArrayRef blocksize, ScalarType index_dtype);
// Errors: dense dimensions, or a batch.
void check_matrix(const Tensor& t);
// A matrix by rows: itself where it is CSR; its values without a history.
Tensor by_rows(const Tensor& matrix);

// Whether the tensor, or a part of it, holds no data, as fake and meta tensors.
bool lacks_data(const Tensor& t);
// The number of elements, of at most `most`, that a result of such a tensor stores where only data tells: a symbol where sizes may be
// symbols of data, else 0.
int64_t unknown_count(const Tensor& like, int64_t most);
// A vector of int64 on the CPU.
Tensor longs(IntArrayRef numbers);
// Where a vector of flags is true, int64; without data as many as `unknown_count` says.
Tensor places(const Tensor& keep);
void check_size(const char* op, IntArrayRef size);

}  // namespace cresset::ops::sparse
