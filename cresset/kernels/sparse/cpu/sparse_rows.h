#pragma once
// Products of sparse rows with dense matrices, for a range of rows.

#include "cresset/kernels/isa.h"
#include "cresset/kernels/sparse/sparse.h"

CRESSET_DECLARE_AVX2_KERNEL(void, sparse_dense_rows,
                            (void* out, const SparseRows& a, const void* dense, int64_t dense_stride, int64_t columns, const Scalar& beta, const Scalar& alpha,
                             int64_t begin, int64_t end))
CRESSET_DECLARE_AVX2_KERNEL(void, sampled_rows,
                            (void* values, const SparseRows& pattern, const void* a, const void* b, int64_t depth, const Scalar& beta, const Scalar& alpha,
                             int64_t begin, int64_t end))
