// Kernels driven by a mask: counting, coordinates, selection and filling.

#include <cstring>

#include "cresset/kernels/index.h"

namespace cresset::kernels {

namespace {

template <class T>
bool is_nonzero(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return (v.x & 0x7fffu) != 0;
  else if constexpr (is_complex<T>::value) return v.real() != 0 || v.imag() != 0;
  else return v != T(0);
}

// A walk in row-major order on the calling thread.
StridedWalk ordered_walk(IntArrayRef sizes, ArrayRef<Strided> operands) {
  StridedWalk walk(sizes);
  for (const Strided& a : operands) walk.add(a);
  for (size_t d = 0; d < sizes.size(); d++) walk.mark_ordered(static_cast<int64_t>(d));
  walk.plan(true);
  return walk;
}

void check_mask(const char* op, const Strided& self, const Strided& mask) {
  CRESSET_CHECK(mask.dtype == ScalarType::Bool || mask.dtype == ScalarType::Byte, op, ": expected a mask of dtype bool, got ", mask.dtype);
  CRESSET_CHECK(mask.sizes == self.sizes, op, ": expected mask and self broadcast to one shape, got ", mask.sizes, " and ", self.sizes);
}

}  // namespace

int64_t count_nonzero(const Strided& x) {
  const StridedWalk walk = ordered_walk(x.sizes, x);
  int64_t count = 0;
  visit_dtype(x.dtype, "count_nonzero", [&](auto tag) {
    using T = decltype(tag);
    walk.run([&count](char* const* p, const int64_t* s, int64_t n) {
      int64_t c = 0;
      for (int64_t i = 0; i < n; i++) c += is_nonzero(*reinterpret_cast<const T*>(p[0] + i * s[0]));
      count += c;
    });
  });
  return count;
}

void nonzero(int64_t* out, const Strided& x) {
  const size_t dims = x.sizes.size();
  if (dims == 0) return;
  const StridedWalk walk = ordered_walk(x.sizes, x);
  int64_t position = 0;
  visit_dtype(x.dtype, "nonzero", [&](auto tag) {
    using T = decltype(tag);
    walk.run([&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++, position++) {
        if (!is_nonzero(*reinterpret_cast<const T*>(p[0] + i * s[0]))) continue;
        int64_t rest = position;
        for (size_t d = dims; d-- > 0;) {
          out[d] = rest % x.sizes[d];
          rest /= x.sizes[d];
        }
        out += dims;
      }
    });
  });
}

void masked_select(void* out, const Strided& self, const Strided& mask) {
  check_mask("masked_select", self, mask);
  const StridedWalk walk = ordered_walk(self.sizes, {self, mask});
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* to = static_cast<T*>(out);
    walk.run([&to](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        if (p[1][i * s[1]]) *to++ = *reinterpret_cast<const T*>(p[0] + i * s[0]);
    });
  });
}

void masked_fill(const Strided& self, const Strided& mask, const Scalar& value) {
  check_mask("masked_fill", self, mask);
  const Bytes16 bytes = element_bytes(value, self.dtype);
  StridedWalk walk(self.sizes);
  walk.add(self);
  walk.add(mask);
  walk.plan();
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    T v;
    std::memcpy(&v, &bytes, sizeof v);
    walk.run([v](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        if (p[1][i * s[1]]) *reinterpret_cast<T*>(p[0] + i * s[0]) = v;
    });
  });
}

void masked_scatter(const Strided& self, const Strided& mask, const void* source, int64_t source_numel) {
  check_mask("masked_scatter", self, mask);
  const int64_t needed = count_nonzero(mask);
  CRESSET_CHECK(needed <= source_numel, "masked_scatter: number of elements of source < number of ones in mask, got ", source_numel,
                " and ", needed);
  const StridedWalk walk = ordered_walk(self.sizes, {self, mask});
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* from = static_cast<const T*>(source);
    walk.run([&from](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        if (p[1][i * s[1]]) *reinterpret_cast<T*>(p[0] + i * s[0]) = *from++;
    });
  });
}

}  // namespace cresset::kernels
