#include "cresset/kernels/common/index_check.h"

#include <atomic>

#include "cresset/kernels/index/cpu/index_scan.h"

namespace cresset::kernels {

namespace {

// Broadcast dimensions hold one element only.
DimVector distinct_sizes(const Strided& a) {
  DimVector sizes(a.sizes);
  for (size_t d = 0; d < sizes.size(); d++)
    if (a.strides[d] == 0 && sizes[d] > 1) sizes[d] = 1;
  return sizes;
}

template <class I> bool outside(const char* p, int64_t step, int64_t n, int64_t low, int64_t high) {
  if (step == sizeof(I)) {
    if constexpr (sizeof(I) == 8) return call(any_outside_i64_stub)(reinterpret_cast<const int64_t*>(p), n, low, high);
    else return call(any_outside_i32_stub)(reinterpret_cast<const int32_t*>(p), n, low, high);
  }
  for (; n > 0; n--, p += step) {
    const int64_t v = *reinterpret_cast<const I*>(p);
    if (v < low || v >= high) return true;
  }
  return false;
}

}  // namespace

int64_t read_index(const Strided& index, const void* element) {
  return index.dtype == ScalarType::Int ? *static_cast<const int32_t*>(element) : *static_cast<const int64_t*>(element);
}

const void* find_outside(const Strided& index, int64_t low, int64_t high) {
  const DimVector sizes = distinct_sizes(index);
  StridedWalk walk(sizes);
  walk.add(index);
  walk.plan();
  return visit_index(index.dtype, "index", [&](auto tag) -> const void* {
    using I = decltype(tag);
    std::atomic<bool> bad{false};
    walk.run(
        [&](char* const* p, const int64_t* s, int64_t n) {
          if (outside<I>(p[0], s[0], n, low, high)) bad = true;
        },
        1 << 17);
    if (!bad) return nullptr;
    StridedWalk ordered(sizes);
    ordered.add(index);
    for (int64_t d = 0; d < index.dim(); d++) ordered.mark_ordered(d);
    ordered.plan(true);
    const void* first = nullptr;
    ordered.run([&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n && !first; i++) {
        const I* at = reinterpret_cast<const I*>(p[0] + i * s[0]);
        if (*at < low || *at >= high) first = at;
      }
    });
    return first;
  });
}

WideIndex::WideIndex(const Strided& index, const char* op) : view_(index) {
  visit_index(index.dtype, op, [](auto) {});
  if (index.dtype == ScalarType::Long) return;
  copy_.resize(static_cast<size_t>(index.numel()));
  strides_ = contiguous_strides(index.sizes);
  view_ = Strided(copy_.data(), ScalarType::Long, index.sizes, strides_);
  StridedWalk walk(index.sizes);
  walk.add(view_);
  walk.add(index);
  walk.plan();
  walk.run([](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; i++) *reinterpret_cast<int64_t*>(p[0] + i * s[0]) = *reinterpret_cast<const int32_t*>(p[1] + i * s[1]);
  });
}

}  // namespace cresset::kernels
