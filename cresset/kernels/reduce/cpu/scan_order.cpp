#include <algorithm>
#include <limits>

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/pointwise/wide_unsigned.h"
#include "cresset/kernels/reduce/cpu/scan.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> CRESSET_ALWAYS_INLINE bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<Compute<T>>) return static_cast<Compute<T>>(x) != static_cast<Compute<T>>(x);
  else return false;
}

// Whether x, after `best`, is the new extreme: false at a NaN that only another NaN replaces.
template <bool is_max, class T> CRESSET_ALWAYS_INLINE bool replaces(T x, T best) { return is_nan(x) | (is_max ? x >= best : x <= best); }

template <class T> struct Best {
  T value;
  int64_t index;
};

template <bool is_max, class T> Best<T> steps(const ScanOrderProblem& p, int64_t begin, int64_t end, Best<T> best) {
  const T* in = static_cast<const T*>(p.in);
  T* out = static_cast<T*>(p.out);
  for (int64_t j = begin; j < end; j++) {
    const T x = in[j * p.in_step];
    if (replaces<is_max>(x, best.value)) best = {x, j};
    out[j * p.out_step] = best.value;
    if (p.indices) p.indices[j * p.index_step] = best.index;
  }
  return best;
}

// Most blocks of a row hold no new extreme.
template <bool is_max, class T> void row(const ScanOrderProblem& p) {
  const T* in = static_cast<const T*>(p.in);
  T* out = static_cast<T*>(p.out);
  Best<T> best{in[0], 0};
  const bool dense = p.in_step == 1 && p.out_step == 1 && (!p.indices || p.index_step == 1);
  if (!dense) return void(steps<is_max>(p, 0, p.length, best));
  constexpr int64_t kBlock = 64;
  for (int64_t j = 0; j < p.length; j += kBlock) {
    const int64_t n = std::min(kBlock, p.length - j);
    unsigned any = n < kBlock;
    if (n == kBlock)
      for (int64_t i = 0; i < kBlock; i++) any |= replaces<is_max>(in[j + i], best.value);
    if (any) {
      best = steps<is_max>(p, j, j + n, best);
      continue;
    }
    std::fill_n(out + j, kBlock, best.value);
    if (p.indices) std::fill_n(p.indices + j, kBlock, best.index);
  }
}

// Places are counted in 32 bits, so that they are as wide as most values.
template <bool is_max, class T> void columns(const ScanOrderProblem& p) {
  constexpr int64_t kColumns = 512;
  Compute<T> best[kColumns];
  int32_t index[kColumns];
  for (int64_t c0 = 0; c0 < p.columns; c0 += kColumns) {
    const int64_t count = std::min(kColumns, p.columns - c0);
    for (int64_t j = 0; j < p.length; j++) {
      const T* in = static_cast<const T*>(p.in) + j * p.in_step + c0;
      T* out = static_cast<T*>(p.out) + j * p.out_step + c0;
      const auto place = static_cast<int32_t>(j);
      for (int64_t c = 0; c < count; c++) {
        const auto x = static_cast<Compute<T>>(in[c]);
        const bool take = j == 0 || replaces<is_max>(x, best[c]);
        best[c] = take ? x : best[c];
        index[c] = take ? place : index[c];
        out[c] = static_cast<T>(best[c]);
      }
      if (!p.indices) continue;
      int64_t* indices = p.indices + j * p.index_step + c0;
      for (int64_t c = 0; c < count; c++) indices[c] = index[c];
    }
  }
}

template <bool is_max, class T> void scan_order_of(ScanOrderProblem p) {
  if (p.columns > 1 && p.length <= std::numeric_limits<int32_t>::max()) return columns<is_max, T>(p);
  const T* in = static_cast<const T*>(p.in);
  T* out = static_cast<T*>(p.out);
  for (int64_t c = 0; c < p.columns; c++) {
    p.in = in + c;
    p.out = out + c;
    row<is_max, T>(p);
    if (p.indices) p.indices++;
  }
}

template <class T> void scan_order_of(const ScanOrderProblem& p) {
  if constexpr (left_to_baseline<T>) isa_baseline::scan_order(p);
  else if (p.is_max) scan_order_of<true, T>(p);
  else scan_order_of<false, T>(p);
}

}  // namespace

void scan_order(const ScanOrderProblem& p) {
  switch (p.dtype) {
    case ScalarType::Float: return scan_order_of<float>(p);
    case ScalarType::Double: return scan_order_of<double>(p);
    case ScalarType::Half: return scan_order_of<Half>(p);
    case ScalarType::BFloat16: return scan_order_of<BFloat16>(p);
    case ScalarType::Bool:
    case ScalarType::Byte: return scan_order_of<uint8_t>(p);
    case ScalarType::Char: return scan_order_of<int8_t>(p);
    case ScalarType::Short: return scan_order_of<int16_t>(p);
    case ScalarType::UInt16: return scan_order_of<uint16_t>(p);
    case ScalarType::Int: return scan_order_of<int32_t>(p);
    case ScalarType::UInt32: return scan_order_of<uint32_t>(p);
    case ScalarType::Long: return scan_order_of<int64_t>(p);
    default: return scan_order_of<uint64_t>(p);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
