// Gradients of sparse layouts.

#include "cresset/ops/sparse/sparse.h"
#include "cresset/autograd/rules/rules.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::autograd::rules {

namespace {

using ops::sparse::is_sparse;

// Dense, or what a sparse gradient is worth as a dense one.
Tensor dense(const Tensor& grad) { return grad.to_dense(); }

Tensor adjoint_of(const Tensor& matrix) {
  const Tensor turned = matrix.transpose(0, 1);
  if (!turned.is_complex()) return turned;
  return is_sparse(turned) ? turned.conj_physical() : turned.conj();
}

Tensor multiplied(const Tensor& t, const Scalar& factor) { return factor.is(1) ? t : t * factor; }

}  // namespace

Tensor values_at(const Tensor& grad, const Tensor& indices) { return ops::sparse::values_at(grad, indices); }
Tensor compressed_values(const Tensor& grad, const Tensor& like) { return ops::sparse::values_like(grad, like); }
Tensor with_values(const Tensor& self, const Tensor& values) { return ops::sparse::with_values(self, values.to_dense()); }

Tensor to_layout_of(const Tensor& grad, const TensorOptions& options) {
  if (options.layout() == grad.layout()) return grad;
  if (options.layout() == Layout::Strided) return grad.to_dense();
  return grad.to_sparse(options.layout());
}

Tensor sparse_mask_backward(const Tensor& grad, const Tensor& mask, const TensorOptions& options) {
  const Tensor masked = grad.sparse_mask(mask);
  return options.layout() == Layout::Strided ? masked.to_dense() : masked;
}

// A gradient of a sparse factor has that factor's positions.
Tensor sparse_product_grad1(const Tensor& grad, const Tensor& mat1, const Tensor& mat2, const Scalar& alpha) {
  const Tensor product = multiplied(dense(grad).mm(adjoint_of(mat2)).to_dense(), alpha.conj());
  return is_sparse(mat1) ? product.sparse_mask(mat1.layout() == Layout::Sparse ? mat1.coalesce() : mat1) : product;
}
Tensor sparse_product_grad2(const Tensor& grad, const Tensor& mat1, const Tensor& mat2, const Scalar& alpha) {
  const Tensor product = multiplied(adjoint_of(mat1).mm(dense(grad)).to_dense(), alpha.conj());
  return is_sparse(mat2) ? product.sparse_mask(mat2.layout() == Layout::Sparse ? mat2.coalesce() : mat2) : product;
}

Tensor sparse_matmul_grad1(const Tensor& grad, const Tensor& self, const Tensor& other) { return sparse_product_grad1(grad, self, other, 1); }
Tensor sparse_matmul_grad2(const Tensor& grad, const Tensor& self, const Tensor& other) { return sparse_product_grad2(grad, self, other, 1); }

Tensor sampled_grad1(const Tensor& grad, const Tensor& self, const Tensor& mat2, const Scalar& alpha) {
  const Tensor masked = is_sparse(grad) ? grad : grad.sparse_mask(self);
  return multiplied(masked.mm(adjoint_of(mat2)), alpha.conj());
}
Tensor sampled_grad2(const Tensor& grad, const Tensor& self, const Tensor& mat1, const Scalar& alpha) {
  const Tensor masked = is_sparse(grad) ? grad : grad.sparse_mask(self);
  return multiplied(adjoint_of(adjoint_of(masked).mm(mat1)), alpha.conj());
}

Tensor sparse_sum_grad(const Tensor& grad, const Tensor& self, IntArrayRef dim) {
  DimVector shape(self.sizes());
  for (const int64_t d : dim) shape[static_cast<size_t>(ops::wrap_dim(d, self.dim()))] = 1;
  const Tensor whole = self.coalesce();
  return dense(grad).reshape(shape).expand(self.sizes()).sparse_mask(whole);
}

namespace {

// g - weights * (the sum of g over `dim`), for the values of the positions of `result`.
Tensor centered(const Tensor& grad, const Tensor& result, int64_t dim, bool log) {
  const int64_t d = ops::wrap_dim(dim, result.dim());
  const Tensor y = result.values(), g = ops::sparse::values_like(grad, result);
  const Tensor weights = log ? y.exp() : y, summed = log ? g : g * y;
  const Tensor sums = ops::sparse::with_values(result, summed).to_dense().sum(d, true).expand(result.sizes());
  const Tensor at = ops::sparse::values_like(sums, result);
  return ops::sparse::with_values(result, log ? g - weights * at : weights * (g - at));
}

}  // namespace

Tensor sparse_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim) { return centered(grad, result, dim, false); }
Tensor sparse_log_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim) { return centered(grad, result, dim, true); }

}  // namespace cresset::autograd::rules
