#include "cresset/kernels/index/cpu/index_rows.h"
#include "cresset/kernels/cpu/item.h"
#include "cresset/kernels/layout/cpu/layout_rows.h"

#include <cstring>
#include <type_traits>

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class I> int64_t place(const char* index, int64_t wrap) {
  const int64_t v = *reinterpret_cast<const I*>(index);
  return v + ((v >> 63) & wrap);
}

// Copies a short row by overlapping moves of fixed size.
template <int kBytes> void copy_overlapping(char* to, const char* from, int64_t bytes) {
  for (int64_t b = 0; b + kBytes <= bytes; b += kBytes) std::memcpy(to + b, from + b, kBytes);
  std::memcpy(to + bytes - kBytes, from + bytes - kBytes, kBytes);
}

void copy_row(char* to, const char* from, int64_t bytes) {
  if (bytes > 2048) std::memcpy(to, from, static_cast<size_t>(bytes));
  else if (bytes >= 64) copy_overlapping<64>(to, from, bytes);
  else if (bytes >= 16) copy_overlapping<16>(to, from, bytes);
  else if (bytes >= 4) copy_overlapping<4>(to, from, bytes);
  else
    for (int64_t b = 0; b < bytes; b++) to[b] = from[b];
}

// Rows of base picked by one index each.
template <class I> void copy_rows(const IndexTable& t, int64_t bytes) {
  constexpr int64_t kAhead = 4;
  for (int64_t r = 0; r < t.rows; r++) {
    if (bytes <= 1024 && r + kAhead < t.rows) {
      const char* next = t.base + (r + kAhead) * t.base_row + place<I>(t.index + (r + kAhead) * t.index_row, t.wrap) * t.step;
      for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(next + b);
    }
    const char* from = t.base + r * t.base_row + place<I>(t.index + r * t.index_row, t.wrap) * t.step;
    copy_row(t.dense + r * t.dense_row, from, bytes);
  }
}

// Calls f(dense element, base element) in order, with the steps as constants where they are the usual ones.
template <class T, class I, bool kWraps, class F> void for_rows(const IndexTable& t, F f) {
  const int64_t n = t.n, step = t.step, wrap = t.wrap;
  const bool contiguous = t.dense_step == sizeof(T);
  const auto place_of = [wrap](I index) {
    const int64_t v = index;
    return kWraps ? v + ((v >> 63) & wrap) : v;
  };
  for (int64_t r = 0; r < t.rows; r++) {
    char *d = t.dense + r * t.dense_row, *b = t.base + r * t.base_row;
    const char* x = t.index + r * t.index_row;
    T* dense = reinterpret_cast<T*>(d);
    const I* index = reinterpret_cast<const I*>(x);
    if (contiguous && t.index_step == 0 && t.base_step == sizeof(T)) {
      T* base = reinterpret_cast<T*>(b + place<I>(x, t.wrap) * step);
      for (int64_t i = 0; i < n; i++) f(dense[i], base[i]);
    } else if (contiguous && t.index_step == sizeof(I) && t.base_step == 0 && step == sizeof(T)) {
      T* base = reinterpret_cast<T*>(b);
#pragma GCC unroll 4
      for (int64_t i = 0; i < n; i++) f(dense[i], base[place_of(index[i])]);
    } else if (contiguous && t.index_step == sizeof(I) && t.base_step == sizeof(T)) {
      T* base = reinterpret_cast<T*>(b);
      const int64_t items = step / static_cast<int64_t>(sizeof(T));
#pragma GCC unroll 4
      for (int64_t i = 0; i < n; i++) f(dense[i], base[i + place_of(index[i]) * items]);
    } else {
#pragma GCC unroll 4
      for (int64_t i = 0; i < n; i++)
        f(*reinterpret_cast<T*>(d + i * t.dense_step),
          *reinterpret_cast<T*>(b + i * t.base_step + place_of(*reinterpret_cast<const I*>(x + i * t.index_step)) * step));
    }
  }
}

// Accumulator type of sums.
template <class T> struct Sum { using type = T; };
template <> struct Sum<Half> { using type = float; };
template <> struct Sum<BFloat16> { using type = float; };

template <class T> void scatter_add(const IndexTable& table, const Scalar* alpha) {
  using A = typename Sum<T>::type;
  const A factor = alpha ? alpha->as<A>() : A(1);
  if constexpr (std::is_integral_v<T>) {
    const uint64_t by = static_cast<uint64_t>(factor);
    for_rows<T, int64_t, true>(table,
                               [by](const T& dense, T& base) { base = static_cast<T>(static_cast<uint64_t>(base) + by * static_cast<uint64_t>(dense)); });
  } else if (!is_complex<T>::value || (alpha && !alpha->equal(1))) {
    for_rows<T, int64_t, true>(table, [factor](const T& dense, T& base) { base = static_cast<T>(static_cast<A>(base) + factor * static_cast<A>(dense)); });
  } else {
    // An infinite part would make NaN of the other one in a complex product with 1.
    for_rows<T, int64_t, true>(table, [](const T& dense, T& base) { base += dense; });
  }
}

template <class T> void sum_picked(const T* rows, const int64_t* order, int64_t count, int64_t width, void* to) {
  using A = typename Sum<T>::type;
  A* sum = static_cast<A*>(to);
  const T* first = rows + order[0] * width;
  if constexpr (std::is_same_v<T, A>) std::memcpy(static_cast<void*>(sum), first, static_cast<size_t>(width) * sizeof(T));
  else
    for (int64_t c = 0; c < width; c++) sum[c] = static_cast<A>(first[c]);
  for (int64_t k = 1; k < count; k++) {
    const T* from = rows + order[k] * width;
#pragma GCC ivdep
    for (int64_t c = 0; c < width; c++) {
      if constexpr (std::is_integral_v<A>) sum[c] = static_cast<A>(static_cast<uint64_t>(sum[c]) + static_cast<uint64_t>(from[c]));
      else sum[c] += static_cast<A>(from[c]);
    }
  }
}

}  // namespace

void sum_picked_rows(ScalarType t, const void* rows, const int64_t* order, int64_t count, int64_t width, void* sum) {
  const auto run = [&](auto tag) { sum_picked(static_cast<const decltype(tag)*>(rows), order, count, width, sum); };
  switch (t) {
    // Sums wrap around, so that signed integers are added like unsigned ones.
    case ScalarType::Byte:
    case ScalarType::Char: return run(uint8_t());
    case ScalarType::Short:
    case ScalarType::UInt16: return run(uint16_t());
    case ScalarType::Int:
    case ScalarType::UInt32: return run(uint32_t());
    case ScalarType::Long:
    case ScalarType::UInt64: return run(uint64_t());
    case ScalarType::Half: return run(Half());
    case ScalarType::BFloat16: return run(BFloat16());
    case ScalarType::Float: return run(float());
    case ScalarType::Double: return run(double());
    case ScalarType::ComplexFloat: return run(complex<float>());
    default: return run(complex<double>());
  }
}

void gather_table(int64_t item, int64_t index_item, const IndexTable& t) {
  if (t.index_step == 0 && t.dense_step == item && t.base_step == item)
    return index_item == 8 ? copy_rows<int64_t>(t, t.n * item) : copy_rows<int32_t>(t, t.n * item);
  visit_item(item, [&](auto tag) {
    using T = decltype(tag);
    const auto move = [](T& dense, const T& base) { dense = base; };
    if (index_item == 4) for_rows<T, int32_t, true>(t, move);
    else if (t.wrap == 0) for_rows<T, int64_t, false>(t, move);
    else for_rows<T, int64_t, true>(t, move);
  });
}

void scatter_table(int64_t item, int64_t index_item, const IndexTable& t) {
  // One element into whole slices.
  if (t.index_step == 0 && t.dense_step == 0 && t.base_step == item) {
    for (int64_t r = 0; r < t.rows; r++) {
      const char* index = t.index + r * t.index_row;
      const int64_t to = index_item == 8 ? place<int64_t>(index, t.wrap) : place<int32_t>(index, t.wrap);
      fill_table(item, {t.base + r * t.base_row + to * t.step, t.dense + r * t.dense_row, item, 0, 0, 0, t.n, 1});
    }
    return;
  }
  visit_item(item, [&](auto tag) {
    using T = decltype(tag);
    const auto move = [](const T& dense, T& base) { base = dense; };
    if (index_item == 4) for_rows<T, int32_t, true>(t, move);
    else for_rows<T, int64_t, true>(t, move);
  });
}

void scatter_add_table(ScalarType t, const IndexTable& table, const Scalar* alpha) {
  switch (t) {
    case ScalarType::Bool:
      if (!alpha || alpha->as<bool>()) for_rows<bool, int64_t, true>(table, [](const bool& dense, bool& base) { base = base || dense; });
      return;
    // Sums wrap around, so that signed integers are added like unsigned ones.
    case ScalarType::Byte:
    case ScalarType::Char: return scatter_add<uint8_t>(table, alpha);
    case ScalarType::Short:
    case ScalarType::UInt16: return scatter_add<uint16_t>(table, alpha);
    case ScalarType::Int:
    case ScalarType::UInt32: return scatter_add<uint32_t>(table, alpha);
    case ScalarType::Long:
    case ScalarType::UInt64: return scatter_add<uint64_t>(table, alpha);
    case ScalarType::Half: return scatter_add<Half>(table, alpha);
    case ScalarType::BFloat16: return scatter_add<BFloat16>(table, alpha);
    case ScalarType::Float: return scatter_add<float>(table, alpha);
    case ScalarType::Double: return scatter_add<double>(table, alpha);
    case ScalarType::ComplexFloat: return scatter_add<complex<float>>(table, alpha);
    default: return scatter_add<complex<double>>(table, alpha);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
