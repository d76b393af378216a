#pragma once
// Batches of matrices and vectors, as distributions with a covariance need them; not for users.

#include "cresset/tensor.h"

namespace cresset::distributions {

// Products of matrices with vectors.
Tensor batch_mv(const Tensor& matrix, const Tensor& vector);
// x' (L L')^-1 x of lower triangular matrices and of vectors.
Tensor batch_mahalanobis(const Tensor& factor, const Tensor& x);
// Half the log determinant of L L'.
Tensor half_log_det(const Tensor& factor);
// log det (W W' + D), by the matrix determinant lemma, and x' (W W' + D)^-1 x, by the Woodbury identity.
Tensor lowrank_logdet(const Tensor& D, const Tensor& capacitance_tril);
Tensor lowrank_mahalanobis(const Tensor& W, const Tensor& D, const Tensor& x, const Tensor& capacitance_tril);

}  // namespace cresset::distributions
