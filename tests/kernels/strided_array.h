#pragma once
// A small owning array for kernel tests: any dtype, any layout, element access by coordinates.

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/strided.h"

namespace cresset::kernels::testing {

using Shape = std::vector<int64_t>;

enum class Layout { contiguous, transposed, gapped };

template <class T> class Array {
 public:
  explicit Array(Shape shape, Layout layout = Layout::contiguous) : sizes(std::move(shape)), strides(sizes.size()) {
    int64_t step = layout == Layout::gapped ? 2 : 1;
    const size_t n = sizes.size();
    for (size_t i = 0; i < n; i++) {
      const size_t d = layout == Layout::transposed ? i : n - 1 - i;
      strides[d] = step;
      step *= sizes[d] + (layout == Layout::gapped ? 1 : 0);
    }
    bytes.assign(static_cast<size_t>(step + 1) * sizeof(T), 0xAB);
    for_each([&](const Shape& at) { (*this)(at) = T{}; });
  }
  Array(Shape shape, std::vector<double> values, Layout layout = Layout::contiguous) : Array(std::move(shape), layout) {
    size_t i = 0;
    for_each([&](const Shape& at) { (*this)(at) = static_cast<T>(values[i++]); });
  }

  T& operator()(const Shape& at) {
    int64_t offset = 0;
    for (size_t d = 0; d < sizes.size(); d++) offset += at[d] * strides[d];
    return reinterpret_cast<T*>(bytes.data())[offset];
  }
  const T& operator()(const Shape& at) const { return const_cast<Array&>(*this)(at); }
  T* data() { return reinterpret_cast<T*>(bytes.data()); }

  Strided view() const { return Strided(bytes.data(), dtype_of<T>, sizes, strides); }
  int64_t numel() const { return view().numel(); }

  // Coordinates in row-major order.
  void for_each(const std::function<void(const Shape&)>& f) const {
    if (numel() == 0) return;
    Shape at(sizes.size(), 0);
    for (;;) {
      f(at);
      size_t d = sizes.size();
      while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
      if (d == 0) return;
    }
  }
  std::vector<T> values() const {
    std::vector<T> v;
    for_each([&](const Shape& at) { v.push_back((*this)(at)); });
    return v;
  }
  bool same_bytes(const Array& o) const { return bytes == o.bytes; }

  template <class Rng> Array& randomize(Rng& rng, int low = -4, int high = 5) {
    for_each([&](const Shape& at) {
      const int v = low + static_cast<int>(rng() % static_cast<unsigned>(high - low));
      if constexpr (std::is_same_v<T, bool>) (*this)(at) = v > 0;
      else if constexpr (is_complex<T>::value) (*this)(at) = T(static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(v % 3));
      else (*this)(at) = static_cast<T>(v);
    });
    return *this;
  }

  Shape sizes, strides;
  std::vector<unsigned char> bytes;
};

template <class T> bool same_bits(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

template <class T> bool same_values(const Array<T>& a, const Array<T>& b) {
  if (a.sizes != b.sizes) return false;
  bool same = true;
  a.for_each([&](const Shape& at) { same &= same_bits(a(at), b(at)); });
  return same;
}

// Calls f(T{}) for all fifteen dtypes.
template <class F> void for_all_dtypes(F f) {
#define CRESSET_CALL(T, Name) f(T{});
  CRESSET_FOR_EACH_DTYPE(CRESSET_CALL)
#undef CRESSET_CALL
}

inline const Layout kLayouts[] = {Layout::contiguous, Layout::transposed, Layout::gapped};

// Runs f with one thread and with two, restoring the count.
template <class F> void with_one_and_two_threads(F f) {
  const int before = get_num_threads();
  for (int n : {1, 2}) {
    set_num_threads(n);
    f(n);
  }
  set_num_threads(before);
}

}  // namespace cresset::kernels::testing
