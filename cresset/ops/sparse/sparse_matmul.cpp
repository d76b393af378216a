// Products of sparse matrices.

#include <cmath>

#include "cresset/kernels/sparse/sparse.h"
#include "cresset/ops/bodies_sparse.h"
#include "cresset/ops/sparse/sparse_math.h"

namespace cresset::ops {

namespace sparse {

namespace {

kernels::SparseRows rows_of(const Tensor& csr) {
  const SparseParts& p = sparse_parts(csr);
  return {p.indices.data_ptr(), p.plain.data_ptr(), p.values.data_ptr(), p.indices.scalar_type(), csr.scalar_type(), csr.size(0)};
}

void check_product(const char* op, const Tensor& a, const Tensor& b) {
  CRESSET_CHECK(a.dim() == 2 && b.dim() == 2, op, ": expected two matrices, got shapes ", a.sizes(), " and ", b.sizes());
  CRESSET_CHECK(a.size(1) == b.size(0), op, ": the inner sizes of mat1 and mat2 differ (", a.size(0), "x", a.size(1), " and ", b.size(0), "x", b.size(1), ")");
  CRESSET_CHECK(a.device() == b.device(), op, ": expected both matrices to be on one device, got ", a.device(), " and ", b.device());
  CRESSET_CHECK(a.scalar_type() == b.scalar_type(), op, ": expected both matrices to have the same dtype, got ", a.scalar_type(), " and ", b.scalar_type());
}

// out = beta * out + alpha * (sparse x dense); `out` contiguous.
void times_dense(const Tensor& out, const Tensor& a, const Tensor& dense, const Scalar& beta, const Scalar& alpha) {
  if (lacks_data(a)) return check_matrix(a);
  const Tensor csr = by_rows(a);
  const bool in_rows = dense.stride(1) == 1 && dense.stride(0) >= dense.size(1);
  const Tensor right = in_rows || dense.numel() == 0 ? dense : dense.contiguous();
  kernels::sparse_times_dense(out.data_ptr(), rows_of(csr), right.data_ptr(), right.stride(0), right.size(1), beta, alpha);
}

Tensor sparse_product(const Tensor& a, const Tensor& b) {
  if (lacks_data(a) || lacks_data(b)) {
    check_matrix(a);
    check_matrix(b);
    const int64_t most = sparse_parts(a).nnz() == 0 || sparse_parts(b).nnz() == 0 ? 0 : a.size(0) * b.size(1);
    return empty_of({a.size(0), b.size(1)}, a.options().layout(a.layout() == Layout::Sparse ? a.layout() : Layout::SparseCsr), 0, unknown_count(a, most));
  }
  const Tensor x = by_rows(a);
  Tensor y = by_rows(b);
  if (sparse_parts(x).indices.scalar_type() != sparse_parts(y).indices.scalar_type()) {
    const SparseParts& p = sparse_parts(y);
    const ScalarType index = sparse_parts(x).indices.scalar_type();
    y = make_compressed(Layout::SparseCsr, y.sizes(), p.indices.to(index), p.plain.to(index), p.values);
  }
  const int64_t columns = b.size(1);
  const TensorOptions whole(kLong);
  Tensor pointers = cresset::empty({a.size(0) + 1}, whole);
  kernels::sparse_product_count(pointers.data_ptr<int64_t>(), rows_of(x), rows_of(y), columns);
  const int64_t nnz = pointers.data_ptr<int64_t>()[a.size(0)];
  Tensor plain = cresset::empty({nnz}, whole), values = cresset::empty({nnz}, sparse_parts(x).values.options());
  kernels::sparse_product_fill(pointers.data_ptr<int64_t>(), plain.data_ptr<int64_t>(), values.data_ptr(), rows_of(x), rows_of(y), columns);
  const ScalarType index = a.layout() == Layout::Sparse ? kLong : sparse_parts(x).indices.scalar_type();
  const Tensor csr = make_compressed(Layout::SparseCsr, {a.size(0), columns}, pointers.to(index), plain.to(index), values);
  return a.layout() == Layout::Sparse ? csr.to_sparse() : csr;
}

Tensor conjugated(const Tensor& t) { return t.resolve_conj().resolve_neg(); }

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) {
  check_product("mm", self, mat2);
  if (is_sparse(self) && is_sparse(mat2)) return sparse_product(self, mat2);
  if (is_sparse(self)) {
    Tensor out = cresset::empty({self.size(0), mat2.size(1)}, mat2.options());
    times_dense(out, self, conjugated(mat2), 0, 1);
    return out;
  }
  Tensor out = cresset::empty({mat2.size(1), self.size(0)}, self.options());
  times_dense(out, mat2.transpose(0, 1), conjugated(self).transpose(0, 1), 0, 1);
  return out.transpose(0, 1).contiguous();
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  check_product("addmm", mat1, mat2);
  const DimVector sizes{mat1.size(0), mat2.size(1)};
  if (is_sparse(self) || (is_sparse(mat1) && is_sparse(mat2))) {
    const Tensor product = sparse::mm(mat1, mat2).mul(alpha);
    if (!is_sparse(product)) return is_sparse(self) && beta.is(0) ? product : product.add(self, beta);
    if (!is_sparse(self)) return self.expand(sizes).mul(beta).add(product);
    return beta.is(0) ? product.to_sparse(self.layout()) : self.mul(beta).add(product.to_sparse(self.layout()));
  }
  CRESSET_CHECK(self.scalar_type() == mat1.scalar_type(), "addmm: expected input and matrices to have the same dtype, got ", self.scalar_type(), " and ",
                mat1.scalar_type());
  if (!is_sparse(mat1)) {
    const Tensor product = sparse::mm(mat1, mat2);
    return beta.is(0) ? product.mul(alpha) : self.mul(beta).add(product, alpha);
  }
  const Tensor wide = self.expand(sizes);
  Tensor out = beta.is(0) ? cresset::empty(sizes, self.options()) : wide.clone(MemoryFormat::Contiguous);
  times_dense(out, mat1, conjugated(mat2), beta, alpha);
  return out;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  CRESSET_CHECK(self.dim() == 2 && vec.dim() == 1, "mv: expected a matrix and a vector, got shapes ", self.sizes(), " and ", vec.sizes());
  CRESSET_CHECK(self.size(1) == vec.size(0), "mv: expected self.size(-1) == vec.size(-1), got ", self.size(1), " and ", vec.size(0));
  return sparse::mm(self, vec.unsqueeze(1)).squeeze(1);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  const Tensor product = sparse::mv(mat, vec).mul(alpha);
  return beta.is(0) ? product : self.mul(beta).add(product);
}

// A batch is one matrix with its own on the diagonal.
Tensor bmm(const Tensor& self, const Tensor& mat2) {
  CRESSET_CHECK(self.dim() == 3 && mat2.dim() == 3, "bmm: expected two batches of matrices, got shapes ", self.sizes(), " and ", mat2.sizes());
  CRESSET_CHECK(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1), "bmm: shapes ", self.sizes(), " and ", mat2.sizes(), " do not fit");
  CRESSET_CHECK(is_sparse(self) && !is_sparse(mat2), "bmm: expected a sparse and a dense batch, got layouts ", self.layout(), " and ", mat2.layout());
  const Tensor coo = self.layout() == Layout::Sparse ? self.detach() : self.detach().to_sparse();
  const SparseParts& p = sparse_parts(coo);
  CRESSET_CHECK(p.dense_dim == 0, "bmm: expected a tensor without dense dimensions, got ", p.dense_dim);
  const int64_t n = self.size(0), rows = self.size(1), inner = self.size(2), columns = mat2.size(2);
  const Tensor batch = p.indices.select(0, 0);
  const Tensor positions = cresset::stack({batch * rows + p.indices.select(0, 1), batch * inner + p.indices.select(0, 2)});
  const Tensor wide = make_coo({n * rows, n * inner}, positions, p.values, p.coalesced);
  return sparse::mm(wide, mat2.reshape({n * inner, columns})).view({n, rows, columns});
}

}  // namespace sparse

namespace {

using namespace sparse;

// The rows of a COO matrix that store anything, sorted.
Tensor stored_rows(const Tensor& coo) {
  const Tensor rows = coo._indices().select(0, 0);
  return rows.lacks_data() ? places(rows.ne(0)) : std::get<0>(cresset::_unique2(rows));
}

}  // namespace

namespace cpu {

Tensor _sparse_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  return sparse::addmm(self, mat1, mat2, beta, alpha);
}

Tensor _sparse_sparse_matmul(const Tensor& self, const Tensor& other) {
  CRESSET_CHECK(cresset::is_sparse(self.layout()) && cresset::is_sparse(other.layout()), "_sparse_sparse_matmul: expected two sparse matrices, got layouts ",
                self.layout(), " and ", other.layout());
  return sparse::mm(self, other);
}

namespace {

// A product for each matrix of a batch; a pattern without a batch counts for each.
Tensor sampled_batch(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  const IntArrayRef batch = first(mat1.sizes(), mat1.dim() - 2);
  const bool shared = self.dim() == 2;
  CRESSET_CHECK(batch == first(mat2.sizes(), mat2.dim() - 2) && (shared || batch == first(self.sizes(), self.dim() - 2)),
                "sampled_addmm: expected batches of one size, got shapes ", self.sizes(), ", ", mat1.sizes(), " and ", mat2.sizes());
  const SparseParts& p = sparse_parts(self);
  const IntArrayRef matrix = behind(self.sizes(), self.dim() - 2);
  auto each = [&](const Tensor& t, int64_t dims) { return (shared ? t.expand(joined(batch, t.sizes())) : t).flatten(0, dims - 1).unbind(); };
  const int64_t dims = mat1.dim() - 2;
  const std::vector<Tensor> pointers = each(p.indices, dims), plain = each(p.plain, dims), values = each(p.values, dims);
  const std::vector<Tensor> left = mat1.flatten(0, dims - 1).unbind(), right = mat2.flatten(0, dims - 1).unbind();
  std::vector<Tensor> results;
  for (size_t i = 0; i < left.size(); i++) {
    const Tensor one = make_compressed(Layout::SparseCsr, matrix, pointers[i], plain[i], values[i]);
    results.push_back(sparse_parts(cpu::sparse_sampled_addmm(one, left[i], right[i], beta, alpha)).values);
  }
  const DimVector filled = joined(batch, {p.plain.size(-1)});
  const Tensor all = results.empty() ? cresset::empty(filled, p.values.options()) : cresset::stack(results).view(filled);
  auto for_batch = [&](const Tensor& t) { return shared ? t.expand(joined(batch, t.sizes())).contiguous() : t; };
  return make_compressed(Layout::SparseCsr, joined(batch, matrix), for_batch(p.indices), for_batch(p.plain), all);
}

}  // namespace

Tensor sparse_sampled_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  CRESSET_CHECK(self.layout() == Layout::SparseCsr, "sampled_addmm: Expected self to be in CSR format, got ", title(self.layout()));
  CRESSET_CHECK(mat1.layout() == Layout::Strided && mat2.layout() == Layout::Strided, "sampled_addmm: Expected mat1 and mat2 to be dense, got layouts ",
                mat1.layout(), " and ", mat2.layout());
  CRESSET_CHECK(self.scalar_type() == mat1.scalar_type() && self.scalar_type() == mat2.scalar_type(), "sampled_addmm: Expected all of one dtype, got ",
                self.scalar_type(), ", ", mat1.scalar_type(), " and ", mat2.scalar_type());
  if (mat1.dim() > 2 && mat2.dim() > 2 && self.dim() >= 2) return sampled_batch(self, mat1, mat2, beta, alpha);
  CRESSET_CHECK(self.dim() == 2 && mat1.dim() == 2 && mat2.dim() == 2, "sampled_addmm: Expected matrices, got shapes ", self.sizes(), ", ", mat1.sizes(),
                " and ", mat2.sizes());
  CRESSET_CHECK(mat1.size(1) == mat2.size(0), "sampled_addmm: the inner sizes of mat1 and mat2 differ (", mat1.size(0), "x", mat1.size(1), " and ",
                mat2.size(0), "x", mat2.size(1), ")");
  CRESSET_CHECK(self.size(0) == mat1.size(0) && self.size(1) == mat2.size(1), "sampled_addmm: self and mat1 @ mat2 have different shapes, ", self.sizes(),
                " and (", mat1.size(0), ", ", mat2.size(1), ")");
  CRESSET_CHECK(self.device() == mat1.device() && self.device() == mat2.device(), "sampled_addmm: expected all tensors on one device, got ", self.device(),
                ", ", mat1.device(), " and ", mat2.device());
  const Tensor csr = by_rows(self);
  const SparseParts& p = sparse_parts(csr);
  const Tensor values = p.values.clone(), left = mat1.contiguous(), right = mat2.t().contiguous();
  if (lacks_data(csr)) return make_compressed(Layout::SparseCsr, self.sizes(), p.indices, p.plain, values);
  kernels::SparseRows rows = rows_of(csr);
  kernels::sampled_product(values.data_ptr(), rows, left.data_ptr(), right.data_ptr(), left.size(1), beta, alpha);
  return make_compressed(Layout::SparseCsr, self.sizes(), p.indices, p.plain, values);
}

}  // namespace cpu

namespace composite {

// The same products by dense ones.
Tensor sparse_addmm_dense(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  const Tensor product = cresset::addmm(self.to_dense(), mat1.to_dense(), mat2.to_dense(), beta, alpha);
  return cresset::is_sparse(self.layout()) ? product.to_sparse(self.layout()) : product;
}
Tensor sparse_matmul_dense(const Tensor& self, const Tensor& other) { return self.to_dense().mm(other.to_dense()).to_sparse(self.layout()); }
Tensor sampled_addmm_dense(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  return cresset::addmm(self.to_dense(), mat1, mat2, beta, alpha).sparse_mask(self);
}

Tensor _sparse_mm(const Tensor& sparse, const Tensor& dense) {
  if (cresset::is_sparse(sparse.layout()) && cresset::is_sparse(dense.layout())) return cresset::_sparse_sparse_matmul(sparse, dense);
  CRESSET_CHECK(cresset::is_sparse(sparse.layout()) || cresset::is_sparse(dense.layout()), "sparse.mm: expected a sparse matrix, got layouts ", sparse.layout(),
                " and ", dense.layout());
  CRESSET_CHECK(sparse.dim() == 2 && dense.dim() == 2, "sparse.mm: expected two matrices, got shapes ", sparse.sizes(), " and ", dense.sizes());
  const Tensor zero = cresset::zeros({}, TensorOptions(dense.scalar_type()).device(dense.device()));
  return cresset::_sparse_addmm(zero.expand({sparse.size(0), dense.size(1)}), sparse, dense, 0, 1);
}

Tensor _sparse_mm(const Tensor& sparse, const Tensor& dense, std::string_view reduce) {
  CRESSET_CHECK(reduce == "sum" || reduce == "mean" || reduce == "amax" || reduce == "amin", "sparse.mm: expected reduce to be sum, mean, amax or amin, got ",
                std::string(reduce));
  CRESSET_CHECK_NOT_IMPLEMENTED(sparse.layout() == Layout::SparseCsr, "Could not run 'aten::_sparse_mm_reduce_impl' with arguments from the '",
                                sparse.layout() == Layout::Sparse ? "SparseCPU" : "CPU", "' backend; the operator is registered for: SparseCsrCPU");
  CRESSET_CHECK(sparse.dim() == 2 && dense.dim() == 2 && sparse.size(1) == dense.size(0), "sparse.mm: shapes ", sparse.sizes(), " and ", dense.sizes(),
                " do not fit");
  const SparseParts& p = sparse_parts(sparse);
  const Tensor lengths = p.indices.diff().to(kLong);
  if (reduce == "sum" || reduce == "mean") {
    const Tensor sums = cresset::_sparse_mm(sparse, dense);
    return reduce == "sum" ? sums : sums / lengths.clamp_min(1).unsqueeze(1).to(sums.scalar_type());
  }
  // Every product by itself, then the extremes of each row; rows without any are 0.
  const Tensor rows = expanded(p.indices, p.nnz()).to(kLong);
  const Tensor products = sparse.values().unsqueeze(1) * dense.index_select(0, p.plain.to(kLong));
  const Tensor at = rows.unsqueeze(1).expand(products.sizes());
  // The target of a reduction never equals the result, with which it would share the gradient.
  const Scalar start = is_floating_type(products.scalar_type()) ? Scalar(std::nan("")) : Scalar(0);
  const Tensor extremes =
      cresset::full({sparse.size(0), dense.size(1)}, start, products.options()).scatter_reduce(0, at, products, reduce, /*include_self=*/false);
  return extremes.masked_fill(lengths.eq(0).unsqueeze(1), 0);
}

Tensor smm(const Tensor& self, const Tensor& mat2) {
  CRESSET_CHECK(self.layout() == Layout::Sparse, "smm: expected a COO matrix, got layout ", self.layout());
  return cresset::sspaddmm(cresset::sparse_coo_tensor({self.size(0), mat2.size(1)}, TensorOptions(mat2.scalar_type()).device(mat2.device())), self, mat2, 0, 1);
}

Tensor hspmm(const Tensor& mat1, const Tensor& mat2) {
  CRESSET_CHECK(mat1.layout() == Layout::Sparse, "hspmm: expected a COO matrix, got layout ", mat1.layout());
  const Tensor rows = stored_rows(mat1);
  return cresset::_sparse_coo_tensor_unsafe(rows.unsqueeze(0), cresset::mm(mat1, mat2).index_select(0, rows), {mat1.size(0), mat2.size(1)}, {}, true);
}

Tensor sspaddmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  CRESSET_CHECK(self.layout() == Layout::Sparse && mat1.layout() == Layout::Sparse && mat2.layout() == Layout::Strided,
                "sspaddmm: expected a COO tensor, a COO matrix and a dense matrix, got layouts ", self.layout(), ", ", mat1.layout(), " and ", mat2.layout());
  // Whole rows where mat1 has any.
  const Tensor rows = stored_rows(mat1);
  const int64_t n = mat2.size(1);
  const Tensor positions = cresset::stack({rows.repeat_interleave(n), cresset::arange(n, rows.options()).repeat({rows.numel()})});
  const Tensor values = cresset::mm(mat1, mat2).index_select(0, rows).reshape({-1}) * alpha;
  const Tensor product = cresset::_sparse_coo_tensor_unsafe(positions, values, {mat1.size(0), n}, {}, true);
  return beta.is(0) && self._nnz() == 0 ? product : self.mul(beta).add(product);
}

}  // namespace composite

}  // namespace cresset::ops
