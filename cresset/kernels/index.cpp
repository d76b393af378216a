// Advanced indexing, take and put.
#include "cresset/kernels/index.h"

#include <cstring>

#include "cresset/kernels/common/index_check.h"

namespace cresset::kernels {

namespace {

// How the dimensions of self and of the indices' common shape lie in the result.
struct Layout {
  DimVector common;    // the indices' common shape
  DimVector slices;    // dimensions of self that are not indexed
  DimVector indexed;
  size_t position = 0;  // of the common shape in the result
};

Layout layout_of(IntArrayRef self_sizes, ArrayRef<Strided> indices, const char* op) {
  CRESSET_CHECK_INDEX(indices.size() <= self_sizes.size(), op, ": too many indices for tensor of dimension ", self_sizes.size(),
                      ", got ", indices.size());
  Layout l;
  bool adjacent = true;
  for (size_t d = 0; d < self_sizes.size(); d++) {
    if (d >= indices.size() || !indices[d].defined()) {
      l.slices.push_back(static_cast<int64_t>(d));
      continue;
    }
    if (l.indexed.empty()) {
      l.position = d;
      l.common = indices[d].sizes;
    } else {
      adjacent &= l.indexed.back() + 1 == static_cast<int64_t>(d);
      CRESSET_CHECK_INDEX(indices[d].sizes == IntArrayRef(l.common), op, ": indices have different shapes ", IntArrayRef(l.common),
                          " and ", indices[d].sizes, ", expected them broadcast");
    }
    l.indexed.push_back(static_cast<int64_t>(d));
  }
  if (!adjacent) l.position = 0;
  return l;
}

// Sizes or strides over the result: those of self where sliced, `common` in the middle.
DimVector over_result(const Layout& l, IntArrayRef self_values, IntArrayRef common) {
  DimVector v;
  for (size_t i = 0; i < l.position; i++) v.push_back(self_values[static_cast<size_t>(l.slices[i])]);
  v.append(common.begin(), common.end());
  for (size_t i = l.position; i < l.slices.size(); i++) v.push_back(self_values[static_cast<size_t>(l.slices[i])]);
  return v;
}

// The walk over the result: operand 0 is the dense side, 1 self's slice, and 2, 3, ... the indices.
struct IndexedWalk {
  struct Axis { int64_t size, step; };
  StridedWalk walk;
  SmallVector<Axis, 4> axes;

  IndexedWalk(const char* op, const Strided& dense, const Strided& self, ArrayRef<Strided> indices, bool writes_self)
      : walk(dense.sizes) {
    const Layout l = layout_of(self.sizes, indices, op);
    const DimVector shape = over_result(l, self.sizes, l.common);
    CRESSET_CHECK(dense.sizes == IntArrayRef(shape), op, ": shape mismatch, got values of shape ", dense.sizes,
                  " for an indexing result of shape ", IntArrayRef(shape));
    for (int64_t d : l.indexed)
      check_index<IndexError>(op, indices[static_cast<size_t>(d)], self.sizes[static_cast<size_t>(d)], d, true);
    const DimVector none(l.common.size(), 0), no_slice(self.sizes.size(), 0);
    walk.add(dense);
    walk.add(self.data, over_result(l, self.strides, none), self.item());
    for (int64_t d : l.indexed) {
      const Strided& ix = indices[static_cast<size_t>(d)];
      walk.add(ix.data, over_result(l, no_slice, ix.strides), ix.item());
      axes.push_back({self.sizes[static_cast<size_t>(d)], self.strides[static_cast<size_t>(d)] * self.item()});
    }
    // Writes along the common shape may meet.
    for (size_t d = 0; writes_self && d < l.common.size(); d++) walk.mark_ordered(static_cast<int64_t>(l.position + d));
    walk.plan();
  }
};

constexpr int64_t kBlock = 256;

// offsets[i] = the byte offset in self that the indices of elements [0, n) name.
template <class I>
void offsets_of(int64_t* offsets, char* const* index, const int64_t* steps, ArrayRef<IndexedWalk::Axis> axes, int64_t n) {
  for (size_t a = 0; a < axes.size(); a++) {
    const int64_t size = axes[a].size, step = axes[a].step, stride = steps[a];
    const char* p = index[a];
    for (int64_t i = 0; i < n; i++) {
      const int64_t v = *reinterpret_cast<const I*>(p + i * stride);
      const int64_t offset = (v + ((v >> 63) & size)) * step;
      offsets[i] = a == 0 ? offset : offsets[i] + offset;
    }
  }
}

// Calls f(dense element, self element) for a row; `slice` runs where no index varies along it.
template <class T, class I, class F>
void indexed_row(char* const* p, const int64_t* s, int64_t n, ArrayRef<IndexedWalk::Axis> axes, F f) {
  bool varies = false;
  for (size_t a = 0; a < axes.size(); a++) varies |= s[2 + a] != 0;
  int64_t offsets[kBlock];
  char *dense = p[0], *self = p[1];
  const int64_t s0 = s[0], s1 = s[1];
  if (!varies) {
    offsets_of<I>(offsets, p + 2, s + 2, axes, 1);
    self += axes.empty() ? 0 : offsets[0];
    if (s0 == sizeof(T) && s1 == sizeof(T)) {
      T *d = reinterpret_cast<T*>(dense), *x = reinterpret_cast<T*>(self);
      for (int64_t i = 0; i < n; i++) f(d[i], x[i]);
      return;
    }
    for (; n > 0; n--, dense += s0, self += s1) f(*reinterpret_cast<T*>(dense), *reinterpret_cast<T*>(self));
    return;
  }
  SmallVector<char*, 4> index(p + 2, p + 2 + axes.size());
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t m = std::min(kBlock, n - b);
    offsets_of<I>(offsets, index.data(), s + 2, axes, m);
    for (int64_t i = 0; i < m; i++, dense += s0, self += s1)
      f(*reinterpret_cast<T*>(dense), *reinterpret_cast<T*>(self + offsets[i]));
    for (size_t a = 0; a < axes.size(); a++) index[a] += m * s[2 + a];
  }
}

ScalarType index_dtype(ArrayRef<Strided> indices, const char* op) {
  ScalarType t = ScalarType::Undefined;
  for (const Strided& ix : indices) {
    if (!ix.defined()) continue;
    CRESSET_CHECK_INDEX(t == ScalarType::Undefined || t == ix.dtype, op, ": expected indices of one dtype, got ", t, " and ", ix.dtype);
    t = ix.dtype;
  }
  return t == ScalarType::Undefined ? ScalarType::Long : t;
}

template <class T>
void add_to(T& a, T b) {
  if constexpr (std::is_same_v<T, bool>) a = a || b;
  else if constexpr (std::is_integral_v<T>) a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else a += b;
}

// Byte offset in self of a flat row-major position.
int64_t offset_of(const Strided& self, int64_t position) {
  int64_t offset = 0;
  for (size_t d = self.sizes.size(); d-- > 0;) {
    offset += position % self.sizes[d] * self.strides[d];
    position /= self.sizes[d];
  }
  return offset * self.item();
}

// Calls f(dense element, self element) for each position, in row-major order if self is written.
template <class T, class F>
void for_each_position(const Strided& dense, const Strided& self, const Strided& index, bool writes_self, F f) {
  const WideIndex wide(index, "take");
  StridedWalk walk(index.sizes);
  walk.add(dense);
  walk.add(wide.get());
  for (int64_t d = 0; writes_self && d < index.dim(); d++) walk.mark_ordered(d);
  walk.plan();
  const int64_t numel = self.numel();
  const bool flat = self.is_contiguous();
  walk.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
      int64_t v = *reinterpret_cast<const int64_t*>(p[1] + i * s[1]);
      if (v < 0) v += numel;
      const int64_t offset = flat ? v * static_cast<int64_t>(sizeof(T)) : offset_of(self, v);
      f(*reinterpret_cast<T*>(p[0] + i * s[0]), *reinterpret_cast<T*>(static_cast<char*>(self.data) + offset));
    }
  });
}

void check_positions(const char* op, const Strided& self, const Strided& index) {
  const int64_t numel = self.numel();
  const void* bad = find_outside(index, -numel, numel);
  CRESSET_CHECK_INDEX(!bad, op, ": out of range: tried to access index ", read_index(index, bad), " on a tensor of ", numel, " elements");
}

}  // namespace

DimVector index_shape(IntArrayRef self_sizes, ArrayRef<Strided> indices) {
  const Layout l = layout_of(self_sizes, indices, "index");
  return over_result(l, self_sizes, l.common);
}

void index(const Strided& out, const Strided& self, ArrayRef<Strided> indices) {
  const IndexedWalk w("index", out, self, indices, false);
  visit_index(index_dtype(indices, "index"), "index", [&](auto index_tag) {
    using I = decltype(index_tag);
    visit_size(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      w.walk.run([&w](char* const* p, const int64_t* s, int64_t n) {
        indexed_row<T, I>(p, s, n, w.axes, [](T& dense, const T& x) { dense = x; });
      });
    });
  });
}

void index_put(const Strided& self, ArrayRef<Strided> indices, const Strided& values, bool accumulate) {
  const IndexedWalk w("index_put", values, self, indices, true);
  visit_index(index_dtype(indices, "index_put"), "index_put", [&](auto index_tag) {
    using I = decltype(index_tag);
    if (!accumulate) {
      visit_size(self.dtype, [&](auto tag) {
        using T = decltype(tag);
        w.walk.run([&w](char* const* p, const int64_t* s, int64_t n) {
          indexed_row<T, I>(p, s, n, w.axes, [](const T& dense, T& x) { x = dense; });
        });
      });
      return;
    }
    visit_dtype(self.dtype, "index_put", [&](auto tag) {
      using T = decltype(tag);
      w.walk.run([&w](char* const* p, const int64_t* s, int64_t n) {
        indexed_row<T, I>(p, s, n, w.axes, [](const T& dense, T& x) { add_to(x, dense); });
      });
    });
  });
}

void take(const Strided& out, const Strided& self, const Strided& index) {
  check_positions("take", self, index);
  visit_size(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_position<T>(out, self, index, false, [](T& dense, const T& x) { dense = x; });
  });
}

void put(const Strided& self, const Strided& index, const Strided& source, bool accumulate) {
  check_positions("put", self, index);
  if (!accumulate) {
    visit_size(self.dtype, [&](auto tag) {
      using T = decltype(tag);
      for_each_position<T>(source, self, index, true, [](const T& dense, T& x) { x = dense; });
    });
    return;
  }
  visit_dtype(self.dtype, "put", [&](auto tag) {
    using T = decltype(tag);
    for_each_position<T>(source, self, index, true, [](const T& dense, T& x) { add_to(x, dense); });
  });
}

}  // namespace cresset::kernels
