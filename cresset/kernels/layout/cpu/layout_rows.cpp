#include "cresset/kernels/layout/cpu/layout_rows.h"
#include "cresset/kernels/cpu/item.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace cresset::kernels::CRESSET_ISA {

namespace {

// Rows of a fixed number of bytes.
template <int kBytes> void copy_fixed(const CopyTable& t) {
  char* to = t.to;
  const char* from = t.from;
  for (int64_t r = 0; r < t.rows; r++, to += t.to_row, from += t.from_row) std::memcpy(to, from, kBytes);
}

// Rows of kBytes to 4 * kBytes bytes by overlapping moves.
template <int kBytes> void copy_overlapping(const CopyTable& t, int64_t bytes) {
  char* to = t.to;
  const char* from = t.from;
  for (int64_t r = 0; r < t.rows; r++, to += t.to_row, from += t.from_row) {
    for (int64_t b = 0; b + kBytes < bytes; b += kBytes) std::memcpy(to + b, from + b, kBytes);
    std::memcpy(to + bytes - kBytes, from + bytes - kBytes, kBytes);
  }
}

void copy_contiguous_rows(const CopyTable& t, int64_t bytes) {
  switch (bytes) {
    case 1: return copy_fixed<1>(t);
    case 2: return copy_fixed<2>(t);
    case 4: return copy_fixed<4>(t);
    case 8: return copy_fixed<8>(t);
    case 16: return copy_fixed<16>(t);
    case 32: return copy_fixed<32>(t);
    case 64: return copy_fixed<64>(t);
    default: break;
  }
  if (bytes < 4) return copy_overlapping<1>(t, bytes);
  if (bytes < 16) return copy_overlapping<4>(t, bytes);
  if (bytes < 64) return copy_overlapping<16>(t, bytes);
  if (bytes < 512) return copy_overlapping<64>(t, bytes);
  for (int64_t r = 0; r < t.rows; r++) std::memcpy(t.to + r * t.to_row, t.from + r * t.from_row, static_cast<size_t>(bytes));
}

template <class T> void copy_rows(const CopyTable& t) {
  constexpr int64_t kItem = sizeof(T);
  const int64_t n = t.n;
  if (t.to_step == kItem && t.from_step == kItem) return copy_contiguous_rows(t, n * kItem);
  for (int64_t r = 0; r < t.rows; r++) {
    T* to = reinterpret_cast<T*>(t.to + r * t.to_row);
    const T* from = reinterpret_cast<const T*>(t.from + r * t.from_row);
    if (t.to_step == kItem && t.from_step == -kItem) {
      for (int64_t i = 0; i < n; i++) to[i] = from[-i];
    } else if (t.to_step == kItem && t.from_step == 0) {
      std::fill_n(to, n, *from);
    } else {
      const int64_t so = t.to_step / kItem, si = t.from_step / kItem;
#pragma GCC unroll 4
      for (int64_t i = 0; i < n; i++) to[i * so] = from[i * si];
    }
  }
}

template <class T> void fill_rows(const CopyTable& t) {
  T value;
  std::memcpy(&value, t.from, sizeof value);
  for (int64_t r = 0; r < t.rows; r++) {
    T* to = reinterpret_cast<T*>(t.to + r * t.to_row);
    const int64_t so = t.to_step / static_cast<int64_t>(sizeof(T)), n = t.n;
    if (so == 1) std::fill_n(to, n, value);
    else
      for (int64_t i = 0; i < n; i++) to[i * so] = value;
  }
}

// Blocks of `kLanes` start from a base rounded to T; what is left after the last pair of blocks is computed directly.
template <class T, class A, int kLanes> void arange(T* out, int64_t n, A start, A step) {
  const auto direct = [=](int64_t i) { return static_cast<T>(std::fma(step, static_cast<A>(i), start)); };
  const int64_t blocked = n / (2 * kLanes) * (2 * kLanes);
  for (int64_t b = 0; b < blocked; b += kLanes) {
    const A base = static_cast<A>(direct(b));
    for (int k = 0; k < kLanes; k++) out[b + k] = static_cast<T>(std::fma(step, static_cast<A>(k), base));
  }
  for (int64_t i = blocked; i < n; i++) out[i] = direct(i);
}

template <class T> void arange_of(void* out, int64_t n, uint64_t start, uint64_t step) {
  T* to = static_cast<T*>(out);
  const T first = static_cast<T>(start), by = static_cast<T>(step);
  for (int64_t i = 0; i < n; i++) to[i] = static_cast<T>(first + by * static_cast<T>(i));
}

// out[i] = origin + step * (first + i), each operation rounded as T does it.
template <class T> void line(T* out, int64_t n, T origin, T step, int64_t first) {
  constexpr int64_t kBlock = 1024;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int count = static_cast<int>(std::min(kBlock, n - b));
    const double base = static_cast<double>(first + b);
    for (int i = 0; i < count; i++) {
      const double k = base + i;
      if constexpr (sizeof(T) == 2) out[b + i] = origin + step * T(static_cast<float>(k));
      else out[b + i] = std::fma(step, static_cast<T>(k), origin);
    }
  }
}

template <class T> void linspace(T* out, int64_t n, T start, T end) {
  T step;
  if constexpr (sizeof(T) == 2) step = (end - start) / T(static_cast<float>(n - 1));
  else step = (end - start) / static_cast<T>(n - 1);
  // From the start up to the middle, and from the end down to it.
  line<T>(out, n / 2, start, step, 0);
  line<T>(out + n / 2, n - n / 2, end, step, n / 2 - (n - 1));
}

}  // namespace

void copy_table(int64_t item, const CopyTable& table) {
  visit_item(item, [&](auto tag) { copy_rows<decltype(tag)>(table); });
}

void fill_table(int64_t item, const CopyTable& table) {
  visit_item(item, [&](auto tag) { fill_rows<decltype(tag)>(table); });
}

void arange_floating(ScalarType t, void* out, int64_t n, double start, double step) {
  const float first = static_cast<float>(start), by = static_cast<float>(step);
  if (t == ScalarType::Half) arange<Half, float, 16>(static_cast<Half*>(out), n, first, by);
  else if (t == ScalarType::BFloat16) arange<BFloat16, float, 16>(static_cast<BFloat16*>(out), n, first, by);
  else if (t == ScalarType::Float) arange<float, double, 8>(static_cast<float*>(out), n, start, step);
  else arange<double, double, 4>(static_cast<double*>(out), n, start, step);
}

void arange_integral(ScalarType t, void* out, int64_t n, uint64_t start, uint64_t step) {
  switch (element_size(t)) {
    case 1: return arange_of<uint8_t>(out, n, start, step);
    case 2: return arange_of<uint16_t>(out, n, start, step);
    case 4: return arange_of<uint32_t>(out, n, start, step);
    default: return arange_of<uint64_t>(out, n, start, step);
  }
}

void linspace_floating(ScalarType t, void* out, int64_t n, double start, double end) {
  const float first = static_cast<float>(start), last = static_cast<float>(end);
  if (t == ScalarType::Half) linspace<Half>(static_cast<Half*>(out), n, first, last);
  else if (t == ScalarType::BFloat16) linspace<BFloat16>(static_cast<BFloat16*>(out), n, first, last);
  else if (t == ScalarType::Float) linspace<float>(static_cast<float*>(out), n, first, last);
  else linspace<double>(static_cast<double*>(out), n, start, end);
}

}  // namespace cresset::kernels::CRESSET_ISA
