#pragma once
// cresset::sparse: products, sums and softmax of sparse tensors. Tensors are made with sparse_coo_tensor, sparse_csr_tensor and the
// like.

#include "cresset/tensor.h"

namespace cresset {
namespace sparse {

// The product of two matrices of which one at least is sparse. The gradient of a sparse factor has its positions.
inline Tensor mm(const Tensor& mat1, const Tensor& mat2) { return cresset::_sparse_mm(mat1, mat2); }
// Products of one place joined by "sum", "mean", "amax" or "amin"; CSR times dense.
inline Tensor mm(const Tensor& mat1, const Tensor& mat2, std::string_view reduce) { return cresset::_sparse_mm(mat1, mat2, reduce); }
inline Tensor addmm(const Tensor& mat, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1, const Scalar& alpha = 1) {
  return cresset::_sparse_addmm(mat, mat1, mat2, beta, alpha);
}
inline Tensor sampled_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1, const Scalar& alpha = 1) {
  return cresset::sparse_sampled_addmm(self, mat1, mat2, beta, alpha);
}
inline Tensor sum(const Tensor& input) { return cresset::_sparse_sum(input); }
inline Tensor sum(const Tensor& input, ScalarType dtype) { return cresset::_sparse_sum(input, dtype); }
inline Tensor sum(const Tensor& input, IntArrayRef dim) { return cresset::_sparse_sum(input, dim); }
inline Tensor sum(const Tensor& input, IntArrayRef dim, ScalarType dtype) { return cresset::_sparse_sum(input, dim, dtype); }
inline Tensor softmax(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype = std::nullopt) { return cresset::_sparse_softmax(input, dim, dtype); }
inline Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype = std::nullopt) {
  return cresset::_sparse_log_softmax(input, dim, dtype);
}
inline Tensor spdiags(const Tensor& diagonals, const Tensor& offsets, IntArrayRef shape, std::optional<Layout> layout = std::nullopt) {
  return cresset::_spdiags(diagonals, offsets, shape, layout);
}

}  // namespace sparse
}  // namespace cresset
