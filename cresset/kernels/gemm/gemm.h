#pragma once
// General matrix products on dense row-major buffers.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/base/scalar.h"

namespace cresset::kernels {

// The step applied to C after the product, in the same pass: C += bias (one element per column, in C's dtype), then max(C, 0).
struct GemmEpilogue {
  const void* bias = nullptr;
  bool relu = false;
};

// C = alpha * op(A) * op(B) + beta * C with op(X) = X or its transpose; op(A) is m x k, op(B) k x n, C m x n.
// lda, ldb, ldc: elements between consecutive rows of the stored (untransposed) matrices.
// C is not read when beta == 0; k == 0 leaves beta * C. Every dtype but bool and complex32: integers wrap around, float16 and
// bfloat16 accumulate in float32 and round once. The result does not depend on the number of threads.
CRESSET_API void gemm(ScalarType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const Scalar& alpha, const void* a, int64_t lda,
                      const void* b, int64_t ldb, const Scalar& beta, void* c, int64_t ldc, const GemmEpilogue* epilogue = nullptr);

// For those who multiply with one op(B) of float32 many times: its elements in the order in which the kernels read them, gemm_packed_count of them.
// `gemm_packs`: whether `gemm` would bring op(B) into this order for a product of these sizes, which is what the packed form saves.
CRESSET_API bool gemm_packs(bool trans_b, int64_t m, int64_t n, int64_t k);
CRESSET_API int64_t gemm_packed_count(int64_t n, int64_t k);
CRESSET_API void gemm_pack(bool trans_b, int64_t n, int64_t k, const float* b, int64_t ldb, float* packed);
// C = A * op(B), then the epilogue, in this thread; with the bits of `gemm`.
CRESSET_API void gemm_packed(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* packed, const GemmEpilogue& epilogue, float* c,
                             int64_t ldc);

// The sum of x[i] * y[i], with the bits of PyTorch's on processors where its library runs SSE code.
float dot(int64_t n, const float* x, const float* y);
double dot(int64_t n, const double* x, const double* y);

// `batch` products whose matrices lie stride_* elements apart; a stride of 0 shares A or B. The bias is shared.
CRESSET_API void gemm_batched(ScalarType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const Scalar& alpha, const void* a, int64_t lda,
                              int64_t stride_a, const void* b, int64_t ldb, int64_t stride_b, const Scalar& beta, void* c, int64_t ldc, int64_t stride_c,
                              int64_t batch, const GemmEpilogue* epilogue = nullptr);

}  // namespace cresset::kernels
