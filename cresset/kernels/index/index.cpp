// Advanced indexing, take and put.
#include "cresset/kernels/index/index.h"

#include <vector>

#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/common/index_tables.h"

namespace cresset::kernels {

namespace {

// How the dimensions of self and of the indices' common shape lie in the result.
struct Layout {
  DimVector common;  // the indices' common shape
  DimVector slices;  // dimensions of self that are not indexed
  DimVector indexed;
  size_t position = 0;  // of the common shape in the result
};

Layout layout_of(IntArrayRef self_sizes, ArrayRef<Strided> indices, const char* op) {
  CRESSET_CHECK_INDEX(indices.size() <= self_sizes.size(), op, ": more indices than dimensions of the tensor, ", self_sizes.size(), ", got ", indices.size());
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
      CRESSET_CHECK_INDEX(indices[d].sizes == IntArrayRef(l.common), op, ": indices have different shapes ", IntArrayRef(l.common), " and ", indices[d].sizes,
                          ", expected them broadcast");
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

ScalarType index_dtype(ArrayRef<Strided> indices, const char* op) {
  ScalarType t = ScalarType::Undefined;
  for (const Strided& ix : indices) {
    if (!ix.defined()) continue;
    CRESSET_CHECK_INDEX(t == ScalarType::Undefined || t == ix.dtype, op, ": expected indices of one dtype, got ", t, " and ", ix.dtype);
    t = ix.dtype;
  }
  visit_index(t == ScalarType::Undefined ? ScalarType::Long : t, op, [](auto) {});
  return t;
}

// An indexing of self, checked, as one index array over the result: the only one given, or the offsets that several add up to.
class IndexPlan {
 public:
  IndexPlan(const char* op, const Strided& dense, const Strided& self, ArrayRef<Strided> indices, bool wide)
      : self_(self), layout_(layout_of(self.sizes, indices, op)) {
    const DimVector shape = over_result(layout_, self.sizes, layout_.common);
    CRESSET_CHECK(dense.sizes == IntArrayRef(shape), op, ": shape mismatch, got values of shape ", dense.sizes, " for an indexing result of shape ",
                  IntArrayRef(shape));
    const ScalarType t = index_dtype(indices, op);
    for (int64_t d : layout_.indexed) check_index<IndexError>(op, indices[static_cast<size_t>(d)], self.sizes[static_cast<size_t>(d)], d, true);
    if (layout_.indexed.size() == 1 && !(wide && t == ScalarType::Int)) {
      const size_t d = static_cast<size_t>(layout_.indexed[0]);
      index_ = indices[d];
      step_ = self.strides[d];
      wrap_ = self.sizes[d];
      return;
    }
    int64_t n = 1;
    for (int64_t s : layout_.common) n *= s;
    offsets_.assign(static_cast<size_t>(n), 0);
    offset_strides_ = contiguous_strides(layout_.common);
    index_ = Strided(offsets_.data(), ScalarType::Long, layout_.common, offset_strides_);
    for (int64_t d : layout_.indexed) add_offsets(indices[static_cast<size_t>(d)], self.sizes[static_cast<size_t>(d)], self.strides[static_cast<size_t>(d)]);
  }

  const Strided& index() const { return index_; }

  // Calls kernel(table) over the result, whose elements are those of `dense`.
  template <class F> void run(const Strided& dense, bool writes_self, F kernel) const {
    const DimVector none(layout_.common.size(), 0), no_slice(self_.sizes.size(), 0);
    const DimVector base = over_result(layout_, self_.strides, none), over = over_result(layout_, no_slice, index_.strides);
    const int64_t first = static_cast<int64_t>(layout_.position), last = first + static_cast<int64_t>(layout_.common.size());
    // Writes along the common shape may meet.
    for_each_table(dense, {self_.data, base, step_, wrap_}, index_, over, first, writes_self ? last : first, kernel);
  }

 private:
  void add_offsets(const Strided& index, int64_t size, int64_t step) {
    StridedWalk walk(layout_.common);
    walk.add(index_);
    walk.add(index);
    walk.plan();
    visit_index(index.dtype, "index", [&](auto tag) {
      using I = decltype(tag);
      walk.run([=](char* const* p, const int64_t* s, int64_t n) {
        for (int64_t i = 0; i < n; i++) {
          const int64_t v = *reinterpret_cast<const I*>(p[1] + i * s[1]);
          *reinterpret_cast<int64_t*>(p[0] + i * s[0]) += (v + ((v >> 63) & size)) * step;
        }
      });
    });
  }

  const Strided& self_;
  Layout layout_;
  Strided index_;
  int64_t step_ = 1, wrap_ = 0;
  std::vector<int64_t> offsets_;
  DimVector offset_strides_;
};

template <class T> void add_to(T& a, T b) {
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
template <class T, class F> void for_each_position(const Strided& dense, const Strided& self, const Strided& index, bool writes_self, F f) {
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

IndexStrides index_strides(IntArrayRef self_sizes, IntArrayRef self_strides, ArrayRef<Strided> indices) {
  const Layout l = layout_of(self_sizes, indices, "index");
  return {over_result(l, self_strides, DimVector(l.common.size(), 0)), l.position};
}

void index(const Strided& out, const Strided& self, ArrayRef<Strided> indices) {
  const IndexPlan plan("index", out, self, indices, false);
  const auto kernel = call(gather_table_stub);
  plan.run(out, false, [&](const IndexTable& table) { kernel(out.item(), plan.index().item(), table); });
}

void index_put(const Strided& self, ArrayRef<Strided> indices, const Strided& values, bool accumulate) {
  const IndexPlan plan("index_put", values, self, indices, accumulate);
  if (accumulate) {
    const auto kernel = call(scatter_add_table_stub);
    return plan.run(values, true, [&](const IndexTable& table) { kernel(self.dtype, table, nullptr); });
  }
  const auto kernel = call(scatter_table_stub);
  plan.run(values, true, [&](const IndexTable& table) { kernel(self.item(), plan.index().item(), table); });
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
