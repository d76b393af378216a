#pragma once
// The LAPACK provider: a shared library of its own (libcresset_lapack.so), opened at first use, that calls OpenBLAS, or any LAPACK.
//
// Matrices lie column by column: element (i, j) of `a` at a[i + j * lda]. Each call handles one matrix on the calling thread. Numbers are float, double, complex<float> or complex<double>, by `dtype`; `Real` are the real parts' type.
// Returned is LAPACK's `info`: 0, or how the factorisation or iteration failed.

#include <cstdint>
#include <memory>

#include "cresset/base/dtype.h"
#include "cresset/base/macros.h"

namespace cresset::kernels {

enum class MatrixOp : int { plain, transposed, adjoint };

// Memory that the calls of one routine for matrices of one shape share; the first finds out how much it takes.
struct LapackWork {
  std::unique_ptr<char[]> memory[3];
  int64_t bytes[3] = {0, 0, 0};
  int lengths[3] = {0, 0, 0};
};

struct LapackTable {
  int abi;
  // The processor that OpenBLAS takes this one for; empty for another LAPACK.
  const char* core;
  // The triangle's Cholesky factor in its place; the other triangle stays.
  int (*potrf)(ScalarType dtype, bool upper, int n, void* a, int lda);
  // L and U in the place of `a`, and from 1 which row was exchanged with each.
  int (*getrf)(ScalarType dtype, int m, int n, void* a, int lda, int32_t* pivots);
  // b (m by n) = op(a)^-1 b, or b op(a)^-1.
  void (*trsm)(ScalarType dtype, bool left, bool upper, MatrixOp op, bool unit, int m, int n, const void* a, int lda, void* b, int ldb);
  // R above the Householder vectors, and their factors.
  int (*geqrf)(LapackWork& work, ScalarType dtype, int m, int n, void* a, int lda, void* tau);
  // The first n columns of the product of k reflections.
  int (*orgqr)(LapackWork& work, ScalarType dtype, int m, int n, int k, void* a, int lda, const void* tau);
  // job: 'N' values only, 'S' the first min(m, n) vectors, 'A' all. Destroys `a`.
  int (*gesdd)(LapackWork& work, ScalarType dtype, char job, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* vh, int ldvh);
  // Ascending eigenvalues, and the vectors in the place of `a`.
  int (*heevd)(LapackWork& work, ScalarType dtype, bool vectors, bool upper, int n, void* a, int lda, void* w);
  // The diagonal and what is beside it of the similar tridiagonal matrix, and in the place of `a` the product of the reflections that make it.
  int (*hetrd)(LapackWork& work, ScalarType dtype, bool upper, int n, void* a, int lda, void* d, void* e);
  // Complex eigenvalues and, where `v` is not null, complex vectors of norm 1 whose largest component is real. Destroys `a`.
  int (*geev)(LapackWork& work, ScalarType dtype, int n, void* a, int lda, void* w, void* v, int ldv);
  // Bunch-Kaufman factors of the lower triangle, symmetric or Hermitian, and solving by them.
  int (*sytrf)(LapackWork& work, ScalarType dtype, bool hermitian, int n, void* a, int lda, int32_t* pivots);
  int (*sytrs)(ScalarType dtype, bool hermitian, int n, int columns, const void* a, int lda, const int32_t* pivots, void* b, int ldb);
  // The shortest least squares solutions in the place of b, whose ldb is at least max(m, n), by QR with pivoted columns: what is below
  // `rcond` times the largest singular value, as estimated, counts as 0. Destroys `a`.
  int (*gelsy)(LapackWork& work, ScalarType dtype, int m, int n, int columns, void* a, int lda, void* b, int ldb, double rcond, int* rank);
};
constexpr int kLapackAbi = 4;

// The provider's table, or null.
CRESSET_API const LapackTable* lapack();

}  // namespace cresset::kernels
