#pragma once
// Factorisations and triangular systems of small dense matrices, where the calls into LAPACK would cost more than the work.
//
// Matrices lie column by column, one after the other. Numbers are float, double or their complex kinds.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Where the loops here are faster than OpenBLAS on AVX2 and AVX-512: LU of order 4 in a third of its time, of 32 in two thirds;
// Cholesky's factor of order 4 in a quarter, of 16 in as much.
constexpr int64_t kSmallLu = 32, kSmallCholesky = 16;
constexpr int64_t kSmallQr = 8, kSmallQrOfFloat = 20;
// Eigenvalues with and without vectors, and how long the other side may be where singular values are their roots.
constexpr int64_t kSmallEigen = 64, kSmallSide = 64;
// Up to this order LAPACK finds eigenvectors by QL or QR steps, above by dividing the matrix.
constexpr int64_t kUndivided = 25;
// Triangular systems: order^2 times columns.
constexpr int64_t kSmallSystem = 256;

}  // namespace cresset::kernels

// LAPACK's getrf of `count` matrices: pivots from 1, `info` 0 or from 1 the first zero on the diagonal of U.
CRESSET_DECLARE_KERNEL(void, small_lu, (ScalarType dtype, int64_t count, int m, int n, void* a, int32_t* pivots, int32_t* info))
// x with A x = b from small_lu's results, of the orders and columns that kSmallSystem allows: n by columns, in x column by column. b has
// strides in elements along its rows, columns and matrices; null is the identity.
CRESSET_DECLARE_KERNEL(void, small_lu_solve,
                       (ScalarType dtype, int64_t count, int n, int columns, const void* lu, const int32_t* pivots, const void* b, const int64_t* b_strides,
                        void* x))
// LAPACK's geqrf of one matrix of at most kSmallQr rows and columns of double, or kSmallQrOfFloat of float, there with the bits of PyTorch's.
// False, and nothing done, for numbers so large, small or not finite that norms need care.
CRESSET_DECLARE_KERNEL(bool, small_qr, (ScalarType dtype, int m, int n, void* a, void* tau))
// LAPACK's orgqr of the same: the first `columns` columns of the product of k reflections, which a holds.
CRESSET_DECLARE_KERNEL(void, small_q, (ScalarType dtype, int m, int columns, int k, void* a, const void* tau))
// The ascending eigenvalues of one symmetric matrix of float or double, of at most kSmallEigen rows, and the vectors where they are asked
// for (in the place of `a`, too), computed in double. False, and nothing written, if the iteration does not end.
CRESSET_DECLARE_KERNEL(bool, small_eigh, (ScalarType dtype, bool upper, int n, const void* a, void* values, void* vectors))
// Ascending eigenvalues in the place of d, the diagonal of a tridiagonal matrix of order n of at most kUndivided, which destroys e, what is beside
// it; the n columns of z, of `rows` numbers each, times its eigenvectors. False if the iteration does not end.
CRESSET_DECLARE_KERNEL(bool, tridiagonal_eigh, (ScalarType dtype, int n, int64_t rows, void* d, void* e, void* z))
// The descending singular values of one matrix whose sides are at most kSmallEigen and kSmallSide long. False as above.
CRESSET_DECLARE_KERNEL(bool, small_singular_values, (int m, int n, const float* a, float* values))
// LAPACK's potrf: the other triangle stays; `info` is 0 or the order of the first leading minor that is not positive.
CRESSET_DECLARE_KERNEL(void, small_cholesky, (ScalarType dtype, bool upper, int64_t count, int n, void* a, int32_t* info))
// x with a x = b in the place of b, n by columns, for one triangular matrix. Strides are in elements.
CRESSET_DECLARE_KERNEL(void, small_triangular,
                       (ScalarType dtype, bool upper, bool unit, int n, int columns, const void* a, int64_t a_row, int64_t a_column, void* b, int64_t b_row,
                        int64_t b_column))
