// Sums and softmax over sparse dimensions, diagonals, gradients of embeddings: ops/sparse.toml.

#include "cresset/ops/bodies_sparse.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/sparse/sparse_math.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using namespace sparse;

const Tensor& checked_coo(const char* op, const Tensor& t) {
  CRESSET_CHECK(t.layout() == Layout::Sparse, op, ": expected a COO tensor, got layout ", title(t.layout()));
  return t;
}

// For each stored element the number of the group that a softmax over `dim` belongs to, and how many there are.
std::pair<Tensor, int64_t> groups_along(const Tensor& coo, int64_t dim) {
  const SparseParts& p = sparse_parts(coo);
  std::vector<Tensor> rows;
  DimVector sizes;
  for (int64_t d = 0; d < p.sparse_dim; d++) {
    if (d == dim) continue;
    rows.push_back(p.indices.select(0, d));
    sizes.push_back(coo.size(d));
  }
  if (rows.empty()) return {cresset::zeros({p.nnz()}, TensorOptions(kLong)), 1};
  const Tensor flat = flat_positions(cresset::stack(rows), sizes);
  const auto [unique, inverse, counts] = cresset::_unique2(flat, true, true);
  return {inverse, unique.numel()};
}

// Softmax of the stored values: what is not stored counts as minus infinity.
Tensor softmax_values(const Tensor& coo, int64_t dim, bool log) {
  const SparseParts& p = sparse_parts(coo);
  const Tensor values = coo.values();
  if (dim >= p.sparse_dim) return log ? values.log_softmax(dim - p.sparse_dim + 1) : values.softmax(dim - p.sparse_dim + 1);
  if (p.nnz() == 0 || lacks_data(coo)) return values;
  const auto [group, count] = groups_along(coo, dim);
  DimVector shape(values.sizes());
  shape[0] = count;
  DimVector thin(shape.size(), 1);
  thin[0] = p.nnz();
  const Tensor at = group.view(thin).expand(values.sizes());
  const Tensor most = cresset::zeros(shape, values.options()).scatter_reduce(0, at, values.detach(), "amax", /*include_self=*/false).index_select(0, group);
  const Tensor shifted = values - most, powers = shifted.exp();
  const Tensor sums = cresset::zeros(shape, values.options()).index_add(0, group, powers).index_select(0, group);
  return log ? shifted - sums.log() : powers / sums;
}

Tensor softmax_of(const char* op, const Tensor& self, int64_t dim, bool log) {
  CRESSET_CHECK_NOT_IMPLEMENTED(self.layout() == Layout::Sparse, "Could not run 'aten::", op, "' with arguments from the '",
                                is_compressed(self.layout()) ? "SparseCsrCPU" : "CPU", "' backend; the operator is registered for: SparseCPU");
  CRESSET_CHECK(is_floating_type(self.scalar_type()), op, ": expected a floating point tensor, got dtype ", self.scalar_type());
  const Tensor coo = self.coalesce();
  return sparse::with_values(coo, softmax_values(coo, wrap_dim(dim, self.dim()), log));
}

Tensor in_dtype(const Tensor& t, std::optional<ScalarType> dtype) { return dtype ? t.to(*dtype) : t; }

}  // namespace

namespace cpu {

Tensor _sparse_sum(const Tensor& self, IntArrayRef dim) {
  checked_coo("_sparse_sum", self);
  return sparse::sum_dims(self.coalesce(), dim, false, std::nullopt);
}
Tensor _sparse_softmax(const Tensor& self, int64_t dim, bool) { return softmax_of("_sparse_softmax", self, dim, false); }
Tensor _sparse_log_softmax(const Tensor& self, int64_t dim, bool) { return softmax_of("_sparse_log_softmax", self, dim, true); }

}  // namespace cpu

namespace composite {

Tensor _sparse_sum(const Tensor& self) { return checked_coo("coalesce", self).coalesce().values().sum(); }
Tensor _sparse_sum(const Tensor& self, ScalarType dtype) { return checked_coo("coalesce", self).coalesce().values().sum(dtype); }
Tensor _sparse_sum(const Tensor& self, IntArrayRef dim, ScalarType dtype) { return cresset::_sparse_sum(checked_coo("coalesce", self).to(dtype), dim); }

// By the dense sum: positions that no value is left at are dropped.
Tensor sparse_sum_by_values(const Tensor& self, IntArrayRef dim) {
  const SparseParts& p = sparse_parts(checked_coo("_sparse_sum", self));
  int64_t sparse_left = p.sparse_dim;
  for (const int64_t d : dim) sparse_left -= wrap_dim(d, self.dim()) < p.sparse_dim;
  const Tensor sums = self.to_dense().sum(dim);
  return sparse_left > 0 ? sums.to_sparse(sparse_left) : sums;
}

Tensor _sparse_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) { return cresset::_sparse_softmax(in_dtype(self, dtype), dim, false); }
Tensor _sparse_log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return cresset::_sparse_log_softmax(in_dtype(self, dtype), dim, false);
}
Tensor sparse_softmax_by_values(const Tensor& self, int64_t dim, bool) { return softmax_of("_sparse_softmax", self, dim, false); }
Tensor sparse_log_softmax_by_values(const Tensor& self, int64_t dim, bool) { return softmax_of("_sparse_log_softmax", self, dim, true); }

Tensor _spdiags(const Tensor& given, const Tensor& offsets, IntArrayRef shape, std::optional<Layout> layout) {
  const Tensor diagonals = given.dim() == 1 ? given.unsqueeze(0) : given, starts = (offsets.dim() == 0 ? offsets.unsqueeze(0) : offsets).to(kLong).contiguous();
  CRESSET_CHECK(diagonals.dim() == 2, "spdiags: diagonals must be a vector or matrix, got shape ", given.sizes());
  CRESSET_CHECK(shape.size() == 2, "spdiags: output shape must be 2d, got ", shape);
  CRESSET_CHECK(offsets.scalar_type() == kLong, "spdiags: offsets must have dtype Long, got ", offsets.scalar_type());
  CRESSET_CHECK(starts.dim() == 1, "spdiags: offsets must be scalar or vector, got shape ", offsets.sizes());
  CRESSET_CHECK(starts.size(0) == diagonals.size(0), "spdiags: number of diagonals (", diagonals.size(0), ") differs from the number of offsets (",
                starts.size(0), ")");
  const Layout wanted = layout.value_or(Layout::Sparse);
  CRESSET_CHECK(wanted == Layout::Sparse || wanted == Layout::SparseCsr || wanted == Layout::SparseCsc,
                "spdiags: only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got ", title(wanted));
  if (starts.lacks_data()) shape_depends_on_data("_spdiags", "default", starts);
  std::vector<int64_t> rows, columns, from;
  for (int64_t k = 0; k < starts.numel(); k++) {
    const int64_t offset = starts.data_ptr<int64_t>()[k];
    for (int64_t other = 0; other < k; other++)
      CRESSET_CHECK(starts.data_ptr<int64_t>()[other] != offset, "spdiags: offset tensor contains duplicate values, got ", offset, " twice");
    // Column j of the matrix takes element j of the diagonal.
    const int64_t end = std::min({diagonals.size(1), shape[1], shape[0] + offset});
    for (int64_t j = std::max<int64_t>(offset, 0); j < end; j++) {
      rows.push_back(j - offset);
      columns.push_back(j);
      from.push_back(k * diagonals.size(1) + j);
    }
  }
  const Tensor positions = cresset::stack({longs(rows), longs(columns)});
  const Tensor values = diagonals.reshape({-1}).index_select(0, longs(from));
  const Tensor coo = cresset::_sparse_coo_tensor_unsafe(positions, values, shape);
  return wanted == Layout::Sparse ? coo : coo.to_sparse(wanted);
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq, bool sparse) {
  if (sparse) return cresset::embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq);
  return cresset::embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq);
}

Tensor embedding_sparse_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq) {
  CRESSET_CHECK(!scale_grad_by_freq, "embedding_backward: sparse gradients cannot be scaled by frequency, got scale_grad_by_freq=True");
  Tensor rows = indices.reshape({1, -1}).to(kLong), values = grad.reshape({rows.size(1), grad.size(-1)});
  if (padding_idx >= 0) {
    const Tensor kept = rows.select(0, 0).ne(padding_idx).nonzero().squeeze(1);
    rows = rows.index_select(1, kept);
    values = values.index_select(0, kept);
  }
  return cresset::_sparse_coo_tensor_unsafe(rows, values, {num_weights, grad.size(-1)});
}

}  // namespace composite

}  // namespace cresset::ops
