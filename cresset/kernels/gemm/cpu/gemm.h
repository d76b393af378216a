#pragma once
// One matrix product on the calling thread, per instruction set.

#include "cresset/base/scalar.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// The ways to compute a product, see kernels/gemm/cpu/gemm_packed.h and gemm_thin.h. Chosen for the whole product, so that cutting it for
// threads changes no sum's order.
enum class GemmPath : int { packed, dot_rows, dot_columns, few_rows, few_columns, small, tiny, quarters };

// C = alpha * op(A) * op(B) + beta * C, then the epilogue; see kernels/gemm/gemm.h. m, n, k > 0.
struct GemmProblem {
  bool trans_a, trans_b;
  int64_t m, n, k;
  Scalar alpha, beta;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  void* c;
  int64_t ldc;
  const void* bias;
  bool relu;
  GemmPath path;
};

// Products whose matrices lie so many elements apart.
struct GemmBatch {
  int64_t count = 1, a = 0, b = 0, c = 0;
};

// Of A, packed as m x depth, the panels with the first `rows` rows and the first k columns; the strip's first `columns` columns.
struct StripProduct {
  int64_t m, depth, rows, k, columns;
  double alpha, beta;
};

}  // namespace cresset::kernels

// All products of a batch by GemmPath::small: the first one and where the others lie.
CRESSET_DECLARE_KERNEL(void, gemm_small_float, (const GemmProblem& p, const GemmBatch& batch))
CRESSET_DECLARE_KERNEL(void, gemm_small_double, (const GemmProblem& p, const GemmBatch& batch))
// The same by GemmPath::tiny: every product and every sum is rounded, in the order of the terms, which gives the bits of PyTorch's.
CRESSET_DECLARE_KERNEL(void, gemm_tiny_float, (const GemmProblem& p, const GemmBatch& batch))
CRESSET_DECLARE_KERNEL(void, gemm_tiny_double, (const GemmProblem& p, const GemmBatch& batch))
// One product of rows with rows by GemmPath::quarters, k a multiple of 4: each sum is one of four, of every fourth term, which gives the bits of PyTorch's.
CRESSET_DECLARE_KERNEL(void, gemm_quarters_float, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_float, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_double, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_half, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_bfloat16, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_complex_float, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_complex_double, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_int8, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_int16, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_int32, (const GemmProblem& p))
CRESSET_DECLARE_KERNEL(void, gemm_int64, (const GemmProblem& p))

// Products with one op(B), k x n, packed once into gemm_columns_size elements: C = A * op(B) + beta * C for m rows of A,
// then + bias where there is one, one element for each column, and max(C, 0) where `relu` is set.
#define CRESSET_DECLARE_GEMM_COLUMNS(name, T)                                                                                      \
  CRESSET_DECLARE_KERNEL(int64_t, gemm_columns_size_##name, (int64_t n, int64_t k))                                                \
  CRESSET_DECLARE_KERNEL(void, gemm_columns_pack_##name, (bool trans_b, int64_t n, int64_t k, const T* b, int64_t ldb, T* packed)) \
  CRESSET_DECLARE_KERNEL(void, gemm_columns_##name,                                                                                \
                         (int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* packed, T beta, T* c, int64_t ldc, const T* bias, bool relu))

CRESSET_DECLARE_GEMM_COLUMNS(float, float)
CRESSET_DECLARE_GEMM_COLUMNS(double, double)
#undef CRESSET_DECLARE_GEMM_COLUMNS

// Products with strips, see kernels/gemm/cpu/gemm_strip.h.
#define CRESSET_DECLARE_GEMM_STRIPS(name, T)                                                                                        \
  CRESSET_DECLARE_KERNEL(int64_t, gemm_strip_width_##name, ())                                                                      \
  CRESSET_DECLARE_KERNEL(void, gemm_strip_pack_rows_##name, (bool trans, int64_t m, int64_t k, const T* a, int64_t lda, T* packed)) \
  CRESSET_DECLARE_KERNEL(void, gemm_strip_pack_##name, (int64_t columns, int64_t k, const T* rows, int64_t ld, T* strip))           \
  CRESSET_DECLARE_KERNEL(void, gemm_strip_unpack_##name, (int64_t columns, int64_t n, const T* strip, T* rows, int64_t ld))         \
  CRESSET_DECLARE_KERNEL(void, gemm_strip_##name, (const StripProduct& p, const T* packed, const T* strip, T* c))                   \
  CRESSET_DECLARE_KERNEL(void, gemm_strip_by_##name, (int64_t m, int64_t n, int64_t k, const T* strip, const T* b, int64_t ldb, T* c, int64_t ldc))

CRESSET_DECLARE_GEMM_STRIPS(float, float)
CRESSET_DECLARE_GEMM_STRIPS(double, double)
#undef CRESSET_DECLARE_GEMM_STRIPS
