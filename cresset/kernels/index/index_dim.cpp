// Indexing whole slices of one dimension, and embeddings.

#include <cstring>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/common/index_tables.h"
#include "cresset/kernels/index/cpu/index_rows.h"
#include "cresset/kernels/index/index.h"

namespace cresset::kernels {

namespace {

// The index's strides over self's shape: its own along dim, else 0.
DimVector index_strides(const Strided& index, int64_t dims, int64_t dim) {
  DimVector strides(static_cast<size_t>(dims), 0);
  strides[static_cast<size_t>(dim)] = index.strides[0];
  return strides;
}

DimVector without(IntArrayRef strides, int64_t dim) {
  DimVector v(strides);
  v[static_cast<size_t>(dim)] = 0;
  return v;
}

void check_slices(const char* op, const Strided& self, int64_t dim, const Strided& index, const Strided& slices) {
  CRESSET_CHECK_INDEX(index.dim() == 1, op, ": index is supposed to be a vector, got shape ", index.sizes);
  CRESSET_CHECK_INDEX(dim >= 0 && dim < self.dim(), op, ": dimension out of range, got ", dim, " for self ", self.sizes);
  bool same = slices.dim() == self.dim();
  for (int64_t d = 0; same && d < self.dim(); d++) {
    const size_t i = static_cast<size_t>(d);
    same = slices.sizes[i] == (d == dim ? index.sizes[0] : self.sizes[i]);
  }
  CRESSET_CHECK_INDEX(same, op, ": shapes do not fit, got self ", self.sizes, ", index ", index.sizes, " and ", slices.sizes, " for dimension ", dim);
}

// Runs kernel(table) over the slices that the index names, those of one place of self in the index's order.
template <class F> void for_each_slice(const Strided& self, int64_t dim, const Strided& index, const Strided& slices, bool writes_self, bool wraps, F kernel) {
  const size_t d = static_cast<size_t>(dim);
  const DimVector strides = without(self.strides, dim);
  for_each_table(slices, {self.data, strides, self.strides[d], wraps ? self.sizes[d] : 0}, index, index_strides(index, self.dim(), dim), dim,
                 writes_self ? dim + 1 : dim, kernel);
}

void write_slices(const Strided& self, int64_t dim, const Strided& index, const Strided& source, bool wraps) {
  const auto kernel = call(scatter_table_stub);
  for_each_slice(self, dim, index, source, true, wraps, [&](const IndexTable& table) { kernel(self.item(), index.item(), table); });
}

// Positions 0..n-1 grouped by row: those of row r are order[start[r]] .. order[start[r + 1] - 1], ascending.
struct Grouped {
  std::vector<int64_t> start, order;
};

Grouped group_by_row(const int64_t* index, int64_t n, int64_t rows) {
  Grouped g{std::vector<int64_t>(static_cast<size_t>(rows) + 2, 0), std::vector<int64_t>(static_cast<size_t>(n))};
  // Counts go two places up, so that the placing pass leaves each start in its own place.
  for (int64_t i = 0; i < n; i++) g.start[static_cast<size_t>(index[i]) + 2]++;
  for (size_t r = 2; r < g.start.size(); r++) g.start[r] += g.start[r - 1];
  for (int64_t i = 0; i < n; i++) g.order[static_cast<size_t>(g.start[static_cast<size_t>(index[i]) + 1]++)] = i;
  return g;
}

template <class T> struct RowSum { using type = T; };
template <> struct RowSum<Half> { using type = float; };
template <> struct RowSum<BFloat16> { using type = float; };

template <class T> T divided(T v, int64_t count) {
  if constexpr (is_complex<T>::value) {
    using V = typename T::value_type;
    return T(v.real() / static_cast<V>(count), v.imag() / static_cast<V>(count));
  } else {
    return v / static_cast<T>(count);
  }
}

// grad is contiguous (n, width).
template <class T> void sum_rows(const Strided& grad_weight, const T* grad, const Grouped& g, int64_t padding_idx, bool scale) {
  using A = typename RowSum<T>::type;
  const int64_t rows = grad_weight.sizes[0], width = grad_weight.sizes[1];
  const int64_t row_step = grad_weight.strides[0], column_step = grad_weight.strides[1];
  T* const base = static_cast<T*>(grad_weight.data);
  const auto kernel = call(sum_picked_rows_stub);
  const auto body = [&](int64_t begin, int64_t end) {
    std::vector<A> sum(static_cast<size_t>(width));
    for (int64_t r = begin; r < end; r++) {
      const int64_t first = g.start[static_cast<size_t>(r)], last = g.start[static_cast<size_t>(r) + 1];
      T* to = base + r * row_step;
      if (first == last || r == padding_idx) {
        if (column_step == 1) std::memset(static_cast<void*>(to), 0, static_cast<size_t>(width) * sizeof(T));
        else
          for (int64_t c = 0; c < width; c++) to[c * column_step] = T{};
        continue;
      }
      const int64_t count = scale ? last - first : 1;
      const bool direct = std::is_same_v<T, A> && column_step == 1 && count == 1;
      kernel(grad_weight.dtype, grad, g.order.data() + first, last - first, width, direct ? static_cast<void*>(to) : sum.data());
      if (direct) continue;
      for (int64_t c = 0; c < width; c++) {
        const A a = sum[static_cast<size_t>(c)];
        to[c * column_step] = static_cast<T>(count == 1 ? a : divided(a, count));
      }
    }
  };
  parallel_for(0, rows, 1 + 32768 / std::max<int64_t>(width, 1), body);
}

}  // namespace

void index_select(const Strided& out_any, const Strided& self_any, int64_t dim, const Strided& index_any) {
  const AtLeast1d out_1d(out_any), self_1d(self_any), index_1d(index_any);
  const Strided &out = out_1d.get(), &self = self_1d.get(), &index = index_1d.get();
  check_slices("index_select", self, dim, index, out);
  const int64_t size = self.sizes[static_cast<size_t>(dim)];
  dim == 0 ? check_index<IndexError>("index_select", index, size, dim, false) : check_index<Error>("index_select", index, size, dim, false);
  const auto kernel = call(gather_table_stub);
  for_each_slice(self, dim, index, out, false, false, [&](const IndexTable& table) { kernel(out.item(), index.item(), table); });
}

void index_copy(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& source_any) {
  const AtLeast1d self_1d(self_any), index_1d(index_any), source_1d(source_any);
  const Strided &self = self_1d.get(), &index = index_1d.get(), &source = source_1d.get();
  check_slices("index_copy", self, dim, index, source);
  check_index<IndexError>("index_copy", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  write_slices(self, dim, index, source, false);
}

void index_add(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& source_any, const Scalar& alpha) {
  const AtLeast1d self_1d(self_any), index_1d(index_any), source_1d(source_any);
  const Strided &self = self_1d.get(), &index = index_1d.get(), &source = source_1d.get();
  check_slices("index_add", self, dim, index, source);
  const int64_t size = self.sizes[static_cast<size_t>(dim)];
  self.dim() == 1 ? check_index<IndexError>("index_add", index, size, dim, false) : check_index<Error>("index_add", index, size, dim, false);
  const WideIndex wide(index, "index_add");
  const auto kernel = call(scatter_add_table_stub);
  for_each_slice(self, dim, wide.get(), source, true, false, [&](const IndexTable& table) { kernel(self.dtype, table, &alpha); });
}

void index_fill(const Strided& self_any, int64_t dim, const Strided& index_any, const Scalar& value) {
  const AtLeast1d self_1d(self_any), index_1d(index_any);
  const Strided &self = self_1d.get(), &index = index_1d.get();
  const Bytes16 bytes = element_bytes(value, self.dtype);
  DimVector sizes(self.sizes);
  const DimVector none(sizes.size(), 0);
  if (index.dim() == 1 && dim >= 0 && dim < self.dim()) sizes[static_cast<size_t>(dim)] = index.sizes[0];
  const Strided source(&bytes, self.dtype, sizes, none);
  check_slices("index_fill", self, dim, index, source);
  check_index<IndexError>("index_fill", index, self.sizes[static_cast<size_t>(dim)], dim, true);
  write_slices(self, dim, index, source, true);
}

void embedding(const Strided& out, const Strided& weight, const Strided& index) {
  CRESSET_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-d, got shape ", weight.sizes);
  check_index<IndexError>("embedding", index, weight.sizes[0], 0, false);
  DimVector row_strides(out.sizes.size(), 0), index_strides(index.strides);
  row_strides[row_strides.size() - 1] = weight.strides[1];
  index_strides.push_back(0);
  visit_index(index.dtype, "embedding", [](auto) {});
  const auto kernel = call(gather_table_stub);
  for_each_table(out, {weight.data, row_strides, weight.strides[0]}, index, index_strides, 0, 0,
                 [&](const IndexTable& table) { kernel(out.item(), index.item(), table); });
}

void embedding_backward(const Strided& grad_weight, const Strided& grad, const Strided& index, int64_t padding_idx, bool scale_grad_by_freq) {
  check_index<IndexError>("embedding_backward", index, grad_weight.sizes[0], 0, false);
  const int64_t n = index.numel(), rows = grad_weight.sizes[0];
  // Both are used in row-major order.
  std::vector<int64_t> flat(static_cast<size_t>(n));
  const DimVector flat_strides = contiguous_strides(index.sizes);
  const WideIndex wide(index, "embedding_backward");
  copy_strided(Strided(flat.data(), ScalarType::Long, index.sizes, flat_strides), wide.get());
  const Grouped g = group_by_row(flat.data(), n, rows);
  visit_dtype(grad_weight.dtype, "embedding_backward", [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) {
      CRESSET_CHECK_NOT_IMPLEMENTED(false, "embedding_backward: not implemented for bool");
    } else {
      if (grad.is_contiguous()) return sum_rows<T>(grad_weight, static_cast<const T*>(grad.data), g, padding_idx, scale_grad_by_freq);
      std::vector<T> dense(static_cast<size_t>(grad.numel()));
      const DimVector strides = contiguous_strides(grad.sizes);
      copy_strided(Strided(dense.data(), grad.dtype, grad.sizes, strides), grad);
      sum_rows<T>(grad_weight, dense.data(), g, padding_idx, scale_grad_by_freq);
    }
  });
}

}  // namespace cresset::kernels
