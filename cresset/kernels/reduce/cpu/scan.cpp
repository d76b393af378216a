#include "cresset/kernels/reduce/cpu/scan.h"

#include <algorithm>

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/pointwise/wide_unsigned.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> using Accumulator = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <bool product, class A> CRESSET_ALWAYS_INLINE A join(A a, A b) {
  if constexpr (product) return a * b;
  else return a + b;
}
// Integers wrap around.
template <bool product> CRESSET_ALWAYS_INLINE int64_t join(int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return static_cast<int64_t>(product ? x * y : x + y);
}

// In order, one element after another.
template <bool product, class In, class T> void row(const In* in, int64_t in_step, T* out, int64_t out_step, int64_t n) {
  using A = Accumulator<T>;
  A acc = product ? 1 : 0;
  for (int64_t j = 0; j < n; j++) {
    acc = join<product>(acc, static_cast<A>(in[j * in_step]));
    out[j * out_step] = static_cast<T>(acc);
  }
}

// The lanes moved up by `by`, with ones from the front of `fill`.
template <int by, class V, size_t... i> CRESSET_ALWAYS_INLINE V moved_up(V v, V fill, std::index_sequence<i...>) {
  constexpr int lanes = static_cast<int>(sizeof...(i));
  return __builtin_shufflevector(fill, v, (static_cast<int>(i) < by ? static_cast<int>(i) : lanes + static_cast<int>(i) - by)...);
}
template <class V, size_t... i> CRESSET_ALWAYS_INLINE V last_lane(V v, std::index_sequence<i...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(i * 0 + sizeof...(i) - 1))...);
}

// A vector of floats at a time: a scan within it, then what came before. Doubles are exact enough for the order not to matter.
template <bool product> void row_of_floats(const float* in, float* out, int64_t n) {
  constexpr int lanes = kLanes<double>;
  using Floats = Vec<float, lanes>;
  constexpr auto all = std::make_index_sequence<lanes>();
  const VecD none = splat(product ? 1.0 : 0.0);
  VecD before = none;
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    VecD x = __builtin_convertvector(load_raw<Floats>(in + j), VecD);
    x = join<product>(x, moved_up<1>(x, none, all));
    if constexpr (lanes > 2) x = join<product>(x, moved_up<2>(x, none, all));
    if constexpr (lanes > 4) x = join<product>(x, moved_up<4>(x, none, all));
    store_raw(out + j, __builtin_convertvector(join<product>(before, x), Floats));
    before = join<product>(before, last_lane(x, all));
  }
  double acc = before[0];
  for (; j < n; j++) {
    acc = join<product>(acc, static_cast<double>(in[j]));
    out[j] = static_cast<float>(acc);
  }
}

template <bool product, class In, class T> void columns(const ScanProblem& p) {
  using A = Accumulator<T>;
  constexpr int64_t kColumns = 512;
  A acc[kColumns];
  for (int64_t c0 = 0; c0 < p.columns; c0 += kColumns) {
    const int64_t count = std::min(kColumns, p.columns - c0);
    std::fill_n(acc, count, A(product ? 1 : 0));
    for (int64_t j = 0; j < p.length; j++) {
      const In* in = static_cast<const In*>(p.in) + j * p.in_step + c0;
      T* out = static_cast<T*>(p.out) + j * p.out_step + c0;
      for (int64_t c = 0; c < count; c++) {
        acc[c] = join<product>(acc[c], static_cast<A>(in[c]));
        out[c] = static_cast<T>(acc[c]);
      }
    }
  }
}

template <bool product, class In, class T> void scan_of(const ScanProblem& p) {
  if (p.columns > 1) return columns<product, In, T>(p);
  if constexpr (std::is_same_v<T, float>) {
    if (p.in_step == 1 && p.out_step == 1) return row_of_floats<product>(static_cast<const float*>(p.in), static_cast<float*>(p.out), p.length);
  }
  row<product>(static_cast<const In*>(p.in), p.in_step, static_cast<T*>(p.out), p.out_step, p.length);
}

template <class In, class T = In> void scan_of(const ScanProblem& p) {
  if constexpr (left_to_baseline<In>) isa_baseline::scan(p);
  else if (p.product) scan_of<true, In, T>(p);
  else scan_of<false, In, T>(p);
}

}  // namespace

void scan(const ScanProblem& p) {
  switch (p.in_dtype) {
    case ScalarType::Double: return scan_of<double>(p);
    case ScalarType::Half: return scan_of<Half>(p);
    case ScalarType::BFloat16: return scan_of<BFloat16>(p);
    case ScalarType::Float: return scan_of<float>(p);
    case ScalarType::Bool:
    case ScalarType::Byte: return scan_of<uint8_t, int64_t>(p);
    case ScalarType::Char: return scan_of<int8_t, int64_t>(p);
    case ScalarType::Short: return scan_of<int16_t, int64_t>(p);
    case ScalarType::UInt16: return scan_of<uint16_t, int64_t>(p);
    case ScalarType::Int: return scan_of<int32_t, int64_t>(p);
    case ScalarType::UInt32: return scan_of<uint32_t, int64_t>(p);
    default: return scan_of<int64_t>(p);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
