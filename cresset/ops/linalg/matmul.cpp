// Matrix products: shape rules and bodies over kernels/gemm/gemm.h. Outputs arrive contiguous.

#include "cresset/kernels/gemm/gemm.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  CRESSET_CHECK(a.scalar_type() == b.scalar_type(), op, ": expected both operands to have the same dtype, got ", a.scalar_type(), " and ", b.scalar_type());
  CRESSET_CHECK(a.device() == b.device(), op, ": expected all tensors to be on the same device, got ", a.device(), " and ", b.device());
}

// The last two dimensions of a tensor as gemm reads them: rows `ld` elements apart, perhaps transposed. Copies what fits neither.
struct Matrix {
  Tensor keep;
  int64_t ld = 0;
  bool trans = false;

  explicit Matrix(const Tensor& t) : keep(t) {
    if (fits(t.size(-2), t.size(-1), t.stride(-2), t.stride(-1))) {
      ld = t.stride(-2);
      if (t.size(-2) <= 1 || ld < t.size(-1)) ld = std::max<int64_t>(t.size(-1), 1);
      return;
    }
    if (fits(t.size(-1), t.size(-2), t.stride(-1), t.stride(-2))) {
      trans = true;
      ld = t.stride(-1);
      if (t.size(-1) <= 1 || ld < t.size(-2)) ld = std::max<int64_t>(t.size(-2), 1);
      return;
    }
    keep = t.contiguous();
    ld = std::max<int64_t>(t.size(-1), 1);
  }
  const void* data() const { return keep.data_ptr(); }

 private:
  static bool fits(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    return (column_stride == 1 || columns <= 1) && (row_stride >= std::max<int64_t>(columns, 1) || rows <= 1);
  }
};

void product(const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta, const Tensor& out, const kernels::GemmEpilogue* epilogue = nullptr) {
  const Matrix left(a), right(b);
  kernels::gemm(out.scalar_type(), left.trans, right.trans, a.size(0), b.size(1), a.size(1), alpha, left.data(), left.ld, right.data(), right.ld, beta,
                out.data_ptr(), std::max<int64_t>(b.size(1), 1), epilogue);
}

void batched_product(const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta, const Tensor& out) {
  const Matrix left(a), right(b);
  kernels::gemm_batched(out.scalar_type(), left.trans, right.trans, a.size(1), b.size(2), a.size(2), alpha, left.data(), left.ld, left.keep.stride(0),
                        right.data(), right.ld, right.keep.stride(0), beta, out.data_ptr(), std::max<int64_t>(b.size(2), 1), b.size(2) * a.size(1), a.size(0));
}

// out = beta * self, broadcast, ready for gemm to add to; beta == 0 leaves it alone since self may hold NaN.
void start_from(const Tensor& self, const Scalar& beta, const Tensor& out) {
  if (!beta.is(0) && !out.is_same(self)) overwrite(out, self);
}

}  // namespace

namespace meta {

OutSpec mm(const Tensor& self, const Tensor& mat2) {
  CRESSET_CHECK(self.dim() == 2 && mat2.dim() == 2, "mm: expected two matrices, got shapes ", self.sizes(), " and ", mat2.sizes());
  CRESSET_CHECK(self.size(1) == mat2.size(0), "mm: mat1 and mat2 shapes cannot be multiplied, got ", self.sizes(), " and ", mat2.sizes());
  check_same_dtype("mm", self, mat2);
  return {{self.size(0), mat2.size(1)}, self.scalar_type(), self.device()};
}

OutSpec bmm(const Tensor& self, const Tensor& mat2) {
  CRESSET_CHECK(self.dim() == 3 && mat2.dim() == 3, "bmm: expected two batches of matrices, got shapes ", self.sizes(), " and ", mat2.sizes());
  CRESSET_CHECK(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1), "bmm: batches cannot be multiplied, got shapes ", self.sizes(), " and ",
                mat2.sizes());
  check_same_dtype("bmm", self, mat2);
  return {{self.size(0), self.size(1), mat2.size(2)}, self.scalar_type(), self.device()};
}

OutSpec mv(const Tensor& self, const Tensor& vec) {
  CRESSET_CHECK(self.dim() == 2 && vec.dim() == 1, "mv: expected a matrix and a vector, got shapes ", self.sizes(), " and ", vec.sizes());
  CRESSET_CHECK(self.size(1) == vec.size(0), "mv: size mismatch, got a matrix of shape ", self.sizes(), " and a vector of ", vec.size(0));
  check_same_dtype("mv", self, vec);
  return {{self.size(0)}, self.scalar_type(), self.device()};
}

OutSpec dot(const Tensor& self, const Tensor& tensor) {
  CRESSET_CHECK(self.dim() == 1 && tensor.dim() == 1, "dot: 1D tensors expected, got shapes ", self.sizes(), " and ", tensor.sizes());
  CRESSET_CHECK(self.size(0) == tensor.size(0), "dot: inconsistent tensor size, expected tensors of the same number of elements, got ", self.size(0), " and ",
                tensor.size(0));
  check_same_dtype("dot", self, tensor);
  return {{}, self.scalar_type(), self.device()};
}

OutSpec addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&, const Scalar&) {
  CRESSET_CHECK(mat1.dim() == 2 && mat2.dim() == 2, "addmm: expected two matrices, got shapes ", mat1.sizes(), " and ", mat2.sizes());
  CRESSET_CHECK(mat1.size(1) == mat2.size(0), "addmm: mat1 and mat2 shapes cannot be multiplied, got ", mat1.sizes(), " and ", mat2.sizes());
  check_same_dtype("addmm", mat1, mat2);
  check_same_dtype("addmm", self, mat1);
  const DimVector shape{mat1.size(0), mat2.size(1)};
  CRESSET_CHECK(broadcast_shapes(self.sizes(), shape) == shape, "addmm: input of shape ", self.sizes(), " does not broadcast to ", shape);
  return {shape, mat1.scalar_type(), mat1.device()};
}

OutSpec baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar&, const Scalar&) {
  batch1.size(2), batch2.size(2);
  CRESSET_CHECK(batch1.dim() == 3 && batch2.dim() == 3 && batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
                "baddbmm: batches cannot be multiplied, got shapes ", batch1.sizes(), " and ", batch2.sizes());
  check_same_dtype("baddbmm", batch1, batch2);
  check_same_dtype("baddbmm", self, batch1);
  const DimVector shape{batch1.size(0), batch1.size(1), batch2.size(2)};
  CRESSET_CHECK(broadcast_shapes(self.sizes(), shape) == shape, "baddbmm: input of shape ", self.sizes(), " does not broadcast to ", shape);
  return {shape, batch1.scalar_type(), batch1.device()};
}

OutSpec addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar&, const Scalar&) {
  CRESSET_CHECK(mat.dim() == 2 && vec.dim() == 1 && mat.size(1) == vec.size(0), "addmv: size mismatch, got a matrix of shape ", mat.sizes(),
                " and a vector of shape ", vec.sizes());
  check_same_dtype("addmv", mat, vec);
  check_same_dtype("addmv", self, mat);
  CRESSET_CHECK(self.dim() <= 1 && (self.numel() == 1 || self.numel() == mat.size(0)), "addmv: input of shape ", self.sizes(), " does not broadcast to ",
                mat.size(0), " elements");
  return {{mat.size(0)}, mat.scalar_type(), mat.device()};
}

}  // namespace meta

namespace cpu {

void mm(const Tensor& self, const Tensor& mat2, const Tensor& out) { product(self, mat2, 1, 0, out); }
void bmm(const Tensor& self, const Tensor& mat2, const Tensor& out) { batched_product(self, mat2, 1, 0, out); }
void mv(const Tensor& self, const Tensor& vec, const Tensor& out) { product(self, vec.unsqueeze(1), 1, 0, out); }
void dot(const Tensor& self, const Tensor& tensor, const Tensor& out) {
  const bool is_dense = self.numel() <= 1 || (self.stride(0) == 1 && tensor.stride(0) == 1);
  if (is_dense && self.scalar_type() == kFloat) {
    *out.data_ptr<float>() = kernels::dot(self.numel(), self.const_data_ptr<float>(), tensor.const_data_ptr<float>());
    return;
  }
  if (is_dense && self.scalar_type() == kDouble) {
    *out.data_ptr<double>() = kernels::dot(self.numel(), self.const_data_ptr<double>(), tensor.const_data_ptr<double>());
    return;
  }
  // Tiles of a matrix product are as good as empty with one row and column; those of floating dtypes have a path of their own.
  constexpr int64_t kLong = 64;
  if (!is_floating_type(self.scalar_type()) && self.numel() >= kLong) {
    out.copy_(self.mul(tensor).sum());
    return;
  }
  product(self.unsqueeze(0), tensor.unsqueeze(1), 1, 0, out);
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha, const Tensor& out) {
  if (beta.is(1) && self.dim() == 1 && self.size(0) == mat2.size(1) && self.is_contiguous() && !out.is_same(self)) {
    const kernels::GemmEpilogue bias{self.data_ptr(), false};
    return product(mat1, mat2, alpha, 0, out, &bias);
  }
  start_from(self, beta, out);
  product(mat1, mat2, alpha, beta, out);
}
void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha, const Tensor& out) {
  start_from(self, beta, out);
  batched_product(batch1, batch2, alpha, beta, out);
}
void addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha, const Tensor& out) {
  start_from(self, beta, out);
  product(mat, vec.unsqueeze(1), alpha, beta, out);
}

}  // namespace cpu

}  // namespace cresset::ops
