// Sparse tensors in other shapes.

#include <algorithm>

#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/sparse/sparse_math.h"
#include "cresset/ops/support.h"

namespace cresset::ops::sparse {

namespace {

DimVector without(IntArrayRef sizes, int64_t d) {
  DimVector rest;
  for (size_t i = 0; i < sizes.size(); i++)
    if (static_cast<int64_t>(i) != d) rest.push_back(sizes[i]);
  return rest;
}

DimVector with(IntArrayRef sizes, int64_t d, int64_t n) {
  DimVector all(sizes);
  all[static_cast<size_t>(d)] = n;
  return all;
}

Tensor row_without(const Tensor& positions, int64_t d) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < positions.size(0); i++)
    if (i != d) rows.push_back(positions.select(0, i));
  return rows.empty() ? positions.narrow(0, 0, 0) : cresset::stack(rows);
}

Tensor with_row(const Tensor& positions, int64_t d, const Tensor& row) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < positions.size(0); i++) rows.push_back(i == d ? row : positions.select(0, i));
  return cresset::stack(rows);
}

Layout turned(Layout l) {
  switch (l) {
    case Layout::SparseCsr: return Layout::SparseCsc;
    case Layout::SparseCsc: return Layout::SparseCsr;
    case Layout::SparseBsr: return Layout::SparseBsc;
    default: return Layout::SparseBsr;
  }
}

const SparseParts& coo(const char* op, const Tensor& t) {
  CRESSET_CHECK_NOT_IMPLEMENTED(t.layout() == Layout::Sparse, op, ": not implemented for the layout ", t.layout());
  return sparse_parts(t);
}

}  // namespace

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
  if (a == b) return cloned(self);
  if (self.layout() == Layout::Sparse) {
    DimVector dims;
    for (int64_t d = 0; d < self.dim(); d++) dims.push_back(d == a ? b : d == b ? a : d);
    return sparse::permute(self, dims);
  }
  const SparseParts& p = sparse_parts(self);
  const int64_t batch = p.batch_dim(), low = std::min(a, b), high = std::max(a, b);
  CRESSET_CHECK(low == batch && high == batch + 1, "transpose: a ", title(self.layout()), " tensor can only exchange its rows and columns, dimensions ", batch,
                " and ", batch + 1, ", got ", dim0, " and ", dim1);
  DimVector sizes(self.sizes());
  std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
  // The same pointers, read by columns instead of by rows.
  return make_compressed(turned(self.layout()), sizes, p.indices, p.plain, is_blocked(self.layout()) ? p.values.transpose(batch + 1, batch + 2) : p.values);
}

Tensor t(const Tensor& self) {
  CRESSET_CHECK(self.dim() <= 2, "t: expected at most 2 sparse dimensions and no dense ones, got ", self.dim(), "D");
  if (self.dim() < 2) return cloned(self);
  return sparse::transpose(self, 0, 1);
}

Tensor permute(const Tensor& self, IntArrayRef dims) {
  CRESSET_CHECK(static_cast<int64_t>(dims.size()) == self.dim(), "permute: expected each of ", self.dim(), " dimensions once, got ", dims.size());
  DimVector order, sizes;
  std::vector<bool> seen(dims.size(), false);
  for (const int64_t d : dims) {
    const int64_t w = wrap_dim(d, self.dim());
    CRESSET_CHECK(!seen[static_cast<size_t>(w)], "permute: duplicate dims are not allowed, got ", dims);
    seen[static_cast<size_t>(w)] = true;
    order.push_back(w);
    sizes.push_back(self.size(w));
  }
  if (is_compressed(self.layout())) {
    const int64_t batch = sparse_parts(self).batch_dim();
    for (size_t d = 0; d < order.size(); d++)
      CRESSET_CHECK(order[d] == static_cast<int64_t>(d) ||
                        (order[d] == 2 * batch + 1 - static_cast<int64_t>(d) && (static_cast<int64_t>(d) == batch || static_cast<int64_t>(d) == batch + 1)),
                    "permute: a ", title(self.layout()), " tensor can only exchange its rows and columns, got ", dims);
    return order[static_cast<size_t>(batch)] == batch ? cloned(self) : sparse::transpose(self, batch, batch + 1);
  }
  const SparseParts& p = sparse_parts(self);
  DimVector sparse_order, dense_order{0};
  bool moved = false;
  for (size_t d = 0; d < order.size(); d++) {
    const bool is_sparse_place = static_cast<int64_t>(d) < p.sparse_dim;
    CRESSET_CHECK(is_sparse_place == (order[d] < p.sparse_dim),
                  "permute(COO): Dense and sparse dimensions must stay in their own part; sparse dims: ", p.sparse_dim, ", dense dims: ", p.dense_dim, ", got ",
                  dims);
    if (is_sparse_place) {
      sparse_order.push_back(order[d]);
      moved = moved || order[d] != static_cast<int64_t>(d);
    } else {
      dense_order.push_back(order[d] - p.sparse_dim + 1);
    }
  }
  std::vector<Tensor> rows;
  for (const int64_t d : sparse_order) rows.push_back(p.indices.select(0, d));
  const Tensor positions = moved ? cresset::stack(rows) : p.indices;
  return make_coo(sizes, positions, p.values.permute(dense_order), p.coalesced && (!moved || (p.nnz() < 2 && !lacks_data(self))));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const SparseParts& p = coo("unsqueeze", self);
  const int64_t d = wrap_dim(dim, self.dim() + 1);
  DimVector sizes;
  for (int64_t i = 0; i <= self.dim(); i++) sizes.push_back(i == d ? 1 : self.size(i < d ? i : i - 1));
  if (d > p.sparse_dim) return make_coo(sizes, p.indices, p.values.unsqueeze(d - p.sparse_dim + 1), p.coalesced);
  const Tensor row = cresset::zeros({1, p.nnz()}, p.indices.options());
  return make_coo(sizes, cresset::cat({p.indices.narrow(0, 0, d), row, p.indices.narrow(0, d, p.sparse_dim - d)}), p.values, p.coalesced);
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  CRESSET_CHECK_INDEX(self.dim() > 0, "select: cannot be applied to a 0-dim tensor");
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  CRESSET_CHECK_INDEX(index >= -n && index < n, "select(): index ", index, " out of range for tensor of size ", self.sizes(), " at dimension ", d);
  const int64_t at = index < 0 ? index + n : index;
  if (is_compressed(self.layout())) {
    const SparseParts& p = sparse_parts(self);
    if (d < p.batch_dim())
      return make_compressed(self.layout(), without(self.sizes(), d), p.indices.select(d, at), p.plain.select(d, at), p.values.select(d, at));
    const int64_t behind = d - p.batch_dim() - 2;
    if (behind >= 0)
      return make_compressed(self.layout(), without(self.sizes(), d), p.indices, p.plain, p.values.select(p.values.dim() - p.dense_dim + behind, at));
    CRESSET_CHECK(p.batch_dim() == 0, "select: dimension ", d, " of a batch of ", self.layout(),
                  " matrices is sparse, expected one of the batch or a dense one");
    return sparse::select(self.detach().to_sparse().coalesce(), d, at);
  }
  const SparseParts& p = sparse_parts(self);
  const DimVector sizes = without(self.sizes(), d);
  if (d >= p.sparse_dim) return make_coo(sizes, p.indices, p.values.select(d - p.sparse_dim + 1, at), p.coalesced);
  const Tensor kept = places(p.indices.select(0, d).eq(at));
  const Tensor values = p.values.index_select(0, kept);
  // No sparse dimension is left: what is stored there, added.
  if (p.sparse_dim == 1) return values.sum(0).to(values.scalar_type());
  return make_coo(sizes, row_without(p.indices, d).index_select(1, kept), values, p.coalesced);
}

Tensor squeeze(const Tensor& self, int64_t dim) {
  const SparseParts& p = coo("squeeze", self);
  const int64_t d = wrap_dim(dim, self.dim());
  if (self.dim() == 0 || self.size(d) != 1) return self.detach();
  const DimVector sizes = without(self.sizes(), d);
  if (d >= p.sparse_dim) return make_coo(sizes, p.indices, p.values.squeeze(d - p.sparse_dim + 1), p.coalesced);
  return make_coo(sizes, row_without(p.indices, d), p.values, p.coalesced);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  std::vector<Tensor> slices;
  for (int64_t i = 0; i < self.size(dim); i++) slices.push_back(sparse::select(self, dim, i));
  return slices;
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const SparseParts& p = coo("index_select", self);
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  CRESSET_CHECK_INDEX(index.dim() <= 1 && index.layout() == Layout::Strided, "index_select(): index must be a dense vector, got shape ", index.sizes());
  CRESSET_CHECK_INDEX(index.scalar_type() == kLong || index.scalar_type() == kInt, "index_select(): expected an index of dtype int64 or int32, got ",
                      index.scalar_type());
  const Tensor wanted = index.to(kLong).reshape({-1}).contiguous();
  const bool known = !lacks_data(wanted) && !lacks_data(self);
  for (int64_t k = 0; known && k < wanted.numel(); k++) {
    const int64_t i = wanted.data_ptr<int64_t>()[k];
    CRESSET_CHECK_INDEX(i >= -n && i < n, "index_select(): index ", i, " contains an element out of range for dimension ", d, " of size ", n);
  }
  const DimVector sizes = with(self.sizes(), d, wanted.numel());
  const Tensor in_range = wanted.remainder(std::max<int64_t>(n, 1));
  if (d >= p.sparse_dim) return make_coo(sizes, p.indices, p.values.index_select(d - p.sparse_dim + 1, in_range), p.coalesced);
  if (!known) {
    const Tensor kept = places(cresset::empty({p.nnz() * wanted.numel()}, TensorOptions(kBool).device(self.device())));
    return make_coo(sizes, p.indices.index_select(1, kept), p.values.index_select(0, kept), p.coalesced);
  }
  // For each wanted place the stored elements there, in their order.
  const auto [sorted, order] = cresset::sort(p.indices.select(0, d), /*stable=*/true, 0, false);
  const Tensor from = cresset::searchsorted(sorted, in_range), to = cresset::searchsorted(sorted, in_range, false, /*right=*/true), counts = to - from;
  const Tensor place = cresset::arange(wanted.numel(), TensorOptions(kLong)).repeat_interleave(counts);
  const Tensor begins = from - (counts.cumsum(0) - counts);
  const Tensor element = order.index_select(0, begins.index_select(0, place) + cresset::arange(place.numel(), TensorOptions(kLong)));
  const Tensor found = make_coo(sizes, with_row(p.indices.index_select(1, element), d, place), p.values.index_select(0, element), false);
  return p.coalesced ? coalesced(found) : found;
}

Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  const SparseParts& p = coo("narrow_copy", self);
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  CRESSET_CHECK_INDEX(start >= -n && start <= n, "narrow_copy: start ", start, " is out of range for dimension ", d, " of size ", n);
  const int64_t from = start < 0 ? start + n : start;
  CRESSET_CHECK(length >= 0 && from + length <= n, "start (", from, ") + length (", length, ") exceeds dimension size (", n, ").");
  const DimVector sizes = with(self.sizes(), d, length);
  if (d >= p.sparse_dim) return make_coo(sizes, p.indices, p.values.narrow(d - p.sparse_dim + 1, from, length).clone(), p.coalesced);
  const Tensor row = p.indices.select(0, d), kept = places(row.ge(from).logical_and(row.lt(from + length)));
  return make_coo(sizes, with_row(p.indices, d, row - from).index_select(1, kept), p.values.index_select(0, kept), p.coalesced);
}

Tensor cat(TensorList tensors, int64_t dim) {
  CRESSET_CHECK_VALUE(!tensors.empty(), "cat: expected a non-empty list of tensors");
  ScalarType dtype = tensors[0].scalar_type();
  for (const Tensor& t : tensors) {
    CRESSET_CHECK(t.layout() == Layout::Sparse, "Concatenating sparse tensors, but a dense tensor was found: expected Sparse, got ", title(t.layout()));
    dtype = promote_types(dtype, t.scalar_type());
  }
  const Tensor& head = tensors[0];
  const SparseParts& p = sparse_parts(head);
  const int64_t d = wrap_dim(dim, head.dim());
  std::vector<Tensor> positions, values;
  int64_t total = 0;
  for (size_t k = 0; k < tensors.size(); k++) {
    const Tensor& t = tensors[k];
    const SparseParts& q = sparse_parts(t);
    CRESSET_CHECK(q.sparse_dim == p.sparse_dim && q.dense_dim == p.dense_dim, "All tensors must have the same number of sparse and dense dimensions: got ",
                  p.sparse_dim, " and ", p.dense_dim, ", but tensor at position ", k, " has ", q.sparse_dim, " and ", q.dense_dim);
    CRESSET_CHECK(without(t.sizes(), d) == without(head.sizes(), d), "cat: the shapes differ: ", head.sizes(), " (outside the dimension that is joined), ",
                  "but found shape: ", t.sizes());
    total += t.size(d);
  }
  const DimVector sizes = with(head.sizes(), d, total);
  int64_t before = 0;
  for (const Tensor& t : tensors) {
    const SparseParts& q = sparse_parts(t);
    const Tensor cast = q.values.to(dtype);
    if (d < p.sparse_dim) {
      positions.push_back(with_row(q.indices, d, q.indices.select(0, d) + before));
      values.push_back(cast);
    } else {
      // Zeros stand for the other tensors' parts of each value.
      const int64_t at = d - p.sparse_dim + 1;
      Tensor wide = cresset::zeros(with(cast.sizes(), at, total), cast.options());
      wide.narrow(at, before, t.size(d)).copy_(cast);
      positions.push_back(q.indices);
      values.push_back(wide);
    }
    before += t.size(d);
  }
  return make_coo(sizes, cresset::cat(positions, 1), cresset::cat(values),
                  d == 0 && p.sparse_dim > 0 && std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return sparse_parts(t).coalesced; }));
}

}  // namespace cresset::ops::sparse
