#pragma once
// Shared by the kernel tests: arrays of any dtype and layout, and loops over instruction sets and thread counts.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/element.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels::testing {

using Shape = std::vector<int64_t>;
using C = complex<double>;

inline constexpr ScalarType kAllDTypes[] = {kByte,         kChar,          kShort, kInt,      kLong,   kHalf,   kFloat, kDouble,
                                            kComplexFloat, kComplexDouble, kBool,  kBFloat16, kUInt16, kUInt32, kUInt64};
inline constexpr ScalarType kFloatDTypes[] = {kHalf, kBFloat16, kFloat, kDouble};

// Unit roundoff of the dtype that results are stored in, twice.
inline double epsilon(ScalarType t) {
  switch (t) {
    case kHalf: return 0x1p-10;
    case kBFloat16: return 0x1p-7;
    case kFloat:
    case kComplexFloat: return 0x1p-23;
    case kDouble:
    case kComplexDouble: return 0x1p-52;
    default: return 0;
  }
}

// Runs body once for each instruction set that this CPU has.
template <class F> void for_each_isa(F body) {
  const int before = detail::g_isa;
  for (int isa = before; isa >= 0; isa--) {
    detail::g_isa = isa;
    SCOPED_TRACE(std::string("instruction set ") + isa_name());
    body();
    if (::testing::Test::HasFatalFailure()) break;
  }
  detail::g_isa = before;
}

// Strides in bytes; the storage may be larger than the shape needs.
struct Array {
  ScalarType dtype;
  Shape shape, strides;
  std::vector<char> storage;
  int64_t offset = 0;

  Array(ScalarType t, Shape s, int64_t pad = 0) : dtype(t), shape(std::move(s)), strides(shape.size()) {
    int64_t n = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = n * size();
      n *= shape[d] + (d + 1 == shape.size() ? pad : 0);
    }
    storage.assign(static_cast<size_t>(n * size() + 64), char(0x5a));
  }

  int64_t size() const { return static_cast<int64_t>(element_size(dtype)); }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
  char* data() { return storage.data() + offset; }
  const char* data() const { return storage.data() + offset; }
  template <class T> T* as() { return reinterpret_cast<T*>(data()); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(data()); }

  // The byte offset of the i-th element in row-major order.
  int64_t at(int64_t i) const {
    int64_t bytes = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      bytes += i % shape[d] * strides[d];
      i /= shape[d];
    }
    return bytes;
  }
  template <class A> A get(int64_t i) const { return load_fn<A>(dtype)(data() + at(i)); }
  template <class A> void set(int64_t i, A v) { store_fn<A>(dtype)(data() + at(i), v); }

  // Dimensions in another order, over the same bytes.
  Array permuted(const std::vector<int>& order) const {
    Array a = *this;
    for (size_t d = 0; d < order.size(); d++) {
      a.shape[d] = shape[order[d]];
      a.strides[d] = strides[order[d]];
    }
    return a;
  }
  // Every second element along a dimension.
  Array halved(size_t dim) const {
    Array a = *this;
    a.shape[dim] = (shape[dim] + 1) / 2;
    a.strides[dim] *= 2;
    return a;
  }
  // A dimension repeated without memory.
  Array expanded(size_t dim, int64_t n) const {
    Array a = *this;
    a.shape[dim] = n;
    a.strides[dim] = 0;
    return a;
  }
};

// Numbers that every dtype holds exactly where `small`, with repetitions; else uniform in [-1, 1) for floating dtypes.
inline void fill(Array& a, unsigned seed, bool small = false) {
  std::mt19937 random(seed);
  for (int64_t i = 0; i < a.numel(); i++) {
    const double u = static_cast<double>(random() >> 8) / (1 << 24), v = static_cast<double>(random() >> 8) / (1 << 24);
    const bool is_signed = is_signed_type(a.dtype);
    const auto whole = [&](double x) { return std::floor(x * 7) - (is_signed ? 3 : 0); };
    if (is_integral_type(a.dtype, true) || small) a.set<C>(i, C(whole(u), is_complex_type(a.dtype) ? whole(v) : 0));
    else a.set<C>(i, C(2 * u - 1, 2 * v - 1));
  }
}

// Elements with a NaN only where the other has one, and close by the dtype's precision times `ulps`, relative to max(1, |expected|).
inline void expect_close(const Array& got, const Array& expected, double ulps, const std::string& what = "") {
  ASSERT_EQ(got.shape, expected.shape) << what;
  const double tolerance = epsilon(got.dtype) * ulps;
  for (int64_t i = 0; i < got.numel(); i++) {
    const C g = got.get<C>(i), e = expected.get<C>(i);
    for (const auto& [x, y] : {std::pair{g.real(), e.real()}, std::pair{g.imag(), e.imag()}}) {
      if (std::isnan(y)) {
        ASSERT_TRUE(std::isnan(x)) << what << " element " << i << " of " << dtype_name(got.dtype) << ": got " << x << ", expected NaN";
      } else if (std::isinf(y)) {
        ASSERT_EQ(x, y) << what << " element " << i << " of " << dtype_name(got.dtype);
      } else {
        ASSERT_LE(std::fabs(x - y), tolerance * std::fmax(1.0, std::fabs(y)))
            << what << " element " << i << " of " << dtype_name(got.dtype) << ": got " << x << ", expected " << y;
      }
    }
  }
}

// Runs body on one and on several threads and expects the bytes it leaves in `out` to be the same.
template <class F> void expect_same_on_threads(Array& out, F body) {
  const int before = get_num_threads();
  set_num_threads(1);
  body();
  const std::vector<char> one = out.storage;
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    std::fill(out.storage.begin(), out.storage.end(), char(0));
    body();
    Array single = out;
    single.storage = one;
    for (int64_t i = 0; i < out.numel(); i++) {
      if (std::memcmp(out.data() + out.at(i), single.data() + single.at(i), static_cast<size_t>(out.size()))) {
        set_num_threads(before);
        FAIL() << "element " << i << " differs between 1 and " << threads << " threads";
      }
    }
  }
  set_num_threads(before);
}

}  // namespace cresset::kernels::testing
