#pragma once
// Shared by the bodies of linear algebra: checks of matrices and of what LAPACK found.

#include <string>

#include "cresset/core/tensor.h"

namespace cresset::ops {

// Errors unless the last two dimensions are matrices of float, double or their complex kinds (and square).
void check_matrix(const char* op, const Tensor& a, const char* name = "A");
void check_inexact(const char* op, const Tensor& a);
void check_square(const char* op, const Tensor& a, const char* name = "A");
void check_same_kind(const char* op, const Tensor& a, const Tensor& b);

// LinAlgError for the first matrix with a number that is not finite.
void check_finite(const char* op, const Tensor& a);
// LinAlgError for the first matrix whose `info` is not 0: `said(info)` ends the sentence. Nothing on meta tensors.
enum class Failure { not_positive_definite, singular_factor, singular_inverse, singular_solve, no_eigenvalues, no_singular_values, singular_ldl };
void check_info(const char* op, const Tensor& info, Failure failure);

// The sizes of `a` without the last two dimensions.
inline IntArrayRef batch_of(const Tensor& a) { return a.sizes().slice(0, a.dim() - 2); }
inline DimVector with_matrix(IntArrayRef batch, int64_t rows, int64_t columns) {
  DimVector sizes(batch);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}
// Strides of a dense batch of matrices that lie column by column.
DimVector column_strides(IntArrayRef sizes);

// Which row each row of P^T A was in A, counted from 0, by the exchanges that LAPACK's factorisation made. int64, on the pivots' device.
Tensor permutation_of(const Tensor& pivots, int64_t rows);
// The same as modes and graphs see it; `lu` is the factorisation.
Tensor permutation_of(const Tensor& lu, const Tensor& pivots);
// x with A x = b from A's LU factorisation, for matrices so small that the ops of the usual way would cost more than the work; undefined
// where that way is to be taken. Without b: the inverse.
Tensor small_solution(const Tensor& lu, const Tensor& pivots, const Tensor& b = {});
// The shortest least squares solutions of a x = b, of matrices (count, m, n) and (count, m, columns), and the rank of each into the int64
// vector `rank`: what PyTorch's driver 'gelsy' finds. No history, no other layer.
Tensor shortest_solution(const Tensor& a, const Tensor& b, double rcond, const Tensor& rank);
// Whether any element is true; false for meta tensors, whose elements are not known.
bool known_any(const Tensor& mask);

}  // namespace cresset::ops
