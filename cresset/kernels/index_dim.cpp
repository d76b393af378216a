// Indexing whole slices of one dimension, and embeddings.

#include <cstring>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/index.h"

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
  CRESSET_CHECK_INDEX(same, op, ": shapes do not fit, got self ", self.sizes, ", index ", index.sizes, " and ", slices.sizes,
                      " for dimension ", dim);
}

// Calls f(self element, slice element) for every element of `slices`, those of one place of self in the index's order.
template <class T, class F>
void for_each_slice(const Strided& self, int64_t dim, const Strided& index, const Strided& slices, F f) {
  const int64_t size = self.sizes[static_cast<size_t>(dim)], step = self.strides[static_cast<size_t>(dim)] * self.item();
  StridedWalk walk(slices.sizes);
  walk.add(slices);
  walk.add(self.data, without(self.strides, dim), self.item());
  walk.add(index.data, index_strides(index, self.dim(), dim), index.item());
  walk.mark_ordered(dim);
  walk.plan();
  walk.run([=](char* const* p, const int64_t* s, int64_t n) {
    const char *from = p[0], *ix = p[2];
    char* to = p[1];
    const int64_t s0 = s[0], s1 = s[1], s2 = s[2];
    const auto target = [=](const char* at) {
      const int64_t v = *reinterpret_cast<const int64_t*>(at);
      return (v < 0 ? v + size : v) * step;
    };
    if (s2 == 0) {
      to += target(ix);
      if (s0 == sizeof(T) && s1 == sizeof(T)) {
        T* row = reinterpret_cast<T*>(to);
        const T* in = reinterpret_cast<const T*>(from);
        for (int64_t i = 0; i < n; i++) f(row[i], in[i]);
        return;
      }
      for (; n > 0; n--, from += s0, to += s1) f(*reinterpret_cast<T*>(to), *reinterpret_cast<const T*>(from));
      return;
    }
    for (; n > 0; n--, from += s0, to += s1, ix += s2)
      f(*reinterpret_cast<T*>(to + target(ix)), *reinterpret_cast<const T*>(from));
  });
}

template <class I>
void select(const Strided& out, const Strided& self, int64_t dim, const Strided& index) {
  const int64_t step = self.strides[static_cast<size_t>(dim)] * self.item();
  StridedWalk walk(out.sizes);
  walk.add(out);
  walk.add(self.data, without(self.strides, dim), self.item());
  walk.add(index.data, index_strides(index, self.dim(), dim), index.item());
  walk.plan();
  visit_size(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    walk.run([step](char* const* p, const int64_t* s, int64_t n) {
      const char *from = p[1], *ix = p[2];
      char* to = p[0];
      const int64_t s0 = s[0], s1 = s[1], s2 = s[2];
      if (s2 == 0) {
        from += static_cast<int64_t>(*reinterpret_cast<const I*>(ix)) * step;
        if (s0 == sizeof(T) && s1 == sizeof(T)) {
          std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
          return;
        }
        for (; n > 0; n--, to += s0, from += s1) *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
        return;
      }
      for (; n > 0; n--, to += s0, from += s1, ix += s2)
        *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from + static_cast<int64_t>(*reinterpret_cast<const I*>(ix)) * step);
    });
  });
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

template <class T>
T divided(T v, int64_t count) {
  if constexpr (is_complex<T>::value) {
    using V = typename T::value_type;
    return T(v.real() / static_cast<V>(count), v.imag() / static_cast<V>(count));
  } else {
    return v / static_cast<T>(count);
  }
}

// grad is contiguous (n, width).
template <class T>
void sum_rows(const Strided& grad_weight, const T* grad, const Grouped& g, int64_t padding_idx, bool scale) {
  using A = typename RowSum<T>::type;
  const int64_t rows = grad_weight.sizes[0], width = grad_weight.sizes[1];
  const int64_t row_step = grad_weight.strides[0], column_step = grad_weight.strides[1];
  T* const base = static_cast<T*>(grad_weight.data);
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
      const T* from = grad + g.order[static_cast<size_t>(first)] * width;
      for (int64_t c = 0; c < width; c++) sum[static_cast<size_t>(c)] = static_cast<A>(from[c]);
      for (int64_t k = first + 1; k < last; k++) {
        from = grad + g.order[static_cast<size_t>(k)] * width;
        for (int64_t c = 0; c < width; c++) {
          A& a = sum[static_cast<size_t>(c)];
          if constexpr (std::is_integral_v<A>) a = static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(from[c]));
          else a += static_cast<A>(from[c]);
        }
      }
      const int64_t count = scale ? last - first : 1;
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
  check_index<IndexError>("index_select", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  visit_index(index.dtype, "index_select", [&](auto tag) { select<decltype(tag)>(out, self, dim, index); });
}

void index_copy(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& source_any) {
  const AtLeast1d self_1d(self_any), index_1d(index_any), source_1d(source_any);
  const Strided &self = self_1d.get(), &index = index_1d.get(), &source = source_1d.get();
  check_slices("index_copy", self, dim, index, source);
  check_index<IndexError>("index_copy", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  const WideIndex wide(index, "index_copy");
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_slice<T>(self, dim, wide.get(), source, [](T& a, const T& b) { a = b; });
  });
}

void index_add(const Strided& self_any, int64_t dim, const Strided& index_any, const Strided& source_any, const Scalar& alpha) {
  const AtLeast1d self_1d(self_any), index_1d(index_any), source_1d(source_any);
  const Strided &self = self_1d.get(), &index = index_1d.get(), &source = source_1d.get();
  check_slices("index_add", self, dim, index, source);
  check_index<IndexError>("index_add", index, self.sizes[static_cast<size_t>(dim)], dim, false);
  const WideIndex wide(index, "index_add");
  visit_dtype(self.dtype, "index_add", [&](auto tag) {
    using T = decltype(tag);
    using A = typename RowSum<T>::type;
    const A factor = alpha.as<A>();
    const bool plain = alpha.equal(1);
    for_each_slice<T>(self, dim, wide.get(), source, [factor, plain](T& a, const T& b) {
      if constexpr (std::is_same_v<T, bool>) a = a || (factor && b);
      else if constexpr (std::is_integral_v<T>)
        a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(factor) * static_cast<uint64_t>(b));
      else a = static_cast<T>(static_cast<A>(a) + (plain ? static_cast<A>(b) : factor * static_cast<A>(b)));
    });
  });
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
  const WideIndex wide(index, "index_fill");
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_slice<T>(self, dim, wide.get(), source, [](T& a, const T& b) { a = b; });
  });
}

void embedding(const Strided& out, const Strided& weight, const Strided& index) {
  CRESSET_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-d, got shape ", weight.sizes);
  check_index<IndexError>("embedding", index, weight.sizes[0], 0, false);
  DimVector row_strides(out.sizes.size(), 0), index_strides(index.strides);
  row_strides[row_strides.size() - 1] = weight.strides[1];
  index_strides.push_back(0);
  const int64_t step = weight.strides[0] * weight.item();
  StridedWalk walk(out.sizes);
  walk.add(out);
  walk.add(weight.data, row_strides, weight.item());
  walk.add(index.data, index_strides, index.item());
  walk.plan();
  visit_index(index.dtype, "embedding", [&](auto index_tag) {
    using I = decltype(index_tag);
    visit_size(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      walk.run([step](char* const* p, const int64_t* s, int64_t n) {
        const char *from = p[1], *ix = p[2];
        char* to = p[0];
        if (s[2] == 0 && s[0] == sizeof(T) && s[1] == sizeof(T)) {
          std::memcpy(to, from + static_cast<int64_t>(*reinterpret_cast<const I*>(ix)) * step, static_cast<size_t>(n) * sizeof(T));
          return;
        }
        for (; n > 0; n--, to += s[0], from += s[1], ix += s[2])
          *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from + static_cast<int64_t>(*reinterpret_cast<const I*>(ix)) * step);
      });
    });
  });
}

void embedding_backward(const Strided& grad_weight, const Strided& grad, const Strided& index, int64_t padding_idx,
                        bool scale_grad_by_freq) {
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
