#pragma once
// Rows as pooling wants them: split by position modulo the stride and padded, so that every tap of the kernel is a contiguous load.

#include <algorithm>
#include <memory>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/pool/pool.h"

namespace cresset::kernels::CRESSET_ISA {

inline int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

template <class A, class T> CRESSET_ALWAYS_INLINE A read_as(T v) {
  if constexpr (std::is_same_v<Compute<T>, float>) return static_cast<A>(static_cast<float>(v));
  else return static_cast<A>(v);
}

template <class A, class T> void load_row(const T* src, int64_t n, A* dst) {
  int64_t i = 0;
  for (; i + kLanes<A> <= n; i += kLanes<A>) store(dst + i, load<A>(src + i));
  for (; i < n; i++) dst[i] = read_as<A>(src[i]);
}

template <class A, class T> void add_row(const T* src, int64_t n, A* dst) {
  int64_t i = 0;
  for (; i + kLanes<A> <= n; i += kLanes<A>) store(dst + i, load<A>(dst + i) + load<A>(src + i));
  for (; i < n; i++) dst[i] += read_as<A>(src[i]);
}

template <class A, class T> void store_row(const A* src, int64_t n, T* dst) {
  int64_t i = 0;
  if constexpr (std::is_same_v<Compute<T>, A>)
    for (; i + kLanes<A> <= n; i += kLanes<A>) store(dst + i, load<A>(src + i));
  for (; i < n; i++) dst[i] = static_cast<T>(src[i]);
}

// The taps of one row: input position w * stride + k * dilation - padding lies at phase * length + w + shift.
struct Taps {
  struct Tap {
    int64_t at;      // where output 0 finds its element in the split row
    int64_t offset;  // its position in the input row
  };

  Taps(const PoolShape& s, int lanes) : width(s.in[2]), stride(s.stride[2]) {
    const int64_t last = (s.kernel[2] - 1) * s.dilation[2] - s.padding[2];
    first_shift = floor_div(-s.padding[2], stride);
    length = (s.out[2] + lanes - 1) / lanes * lanes + floor_div(last, stride) - first_shift + 1;
    for (int64_t k = 0; k < s.kernel[2]; k++) {
      const int64_t offset = k * s.dilation[2] - s.padding[2], shift = floor_div(offset, stride);
      taps.push_back({(offset - shift * stride) * length + shift - first_shift, offset});
    }
  }
  // Elements of a split row.
  int64_t size() const { return stride * length; }
  // Where input position `phase` stands in its phase, and how many positions the phase has.
  int64_t begin() const { return -first_shift; }
  int64_t count(int64_t phase) const { return std::min((width - phase + stride - 1) / stride, length - begin()); }

  int64_t width, stride, first_shift, length;
  std::vector<Tap> taps;
};

// Every second lane of a followed by b, from lane `part` on.
template <int part, class V, int... i> CRESSET_ALWAYS_INLINE V every_second(V a, V b, std::integer_sequence<int, i...>) {
  return shuffle<(i * 2 + part)...>(a, b);
}
// a0 b0 a1 b1 ..., from lane `from` of both on.
template <int from, class V, int... i> CRESSET_ALWAYS_INLINE V interleave(V a, V b, std::integer_sequence<int, i...>) {
  return shuffle<(from + i / 2 + i % 2 * static_cast<int>(sizeof...(i)))...>(a, b);
}

// row -> split row; `pad` fills what lies outside the input.
template <class A, class T> void split_row(const T* row, const Taps& t, A pad, A* out) {
  for (int64_t p = 0; p < t.stride; p++) {
    A* phase = out + p * t.length;
    for (int64_t j = 0; j < t.begin(); j++) phase[j] = pad;
    for (int64_t j = std::max<int64_t>(t.begin() + t.count(p), 0); j < t.length; j++) phase[j] = pad;
  }
  if (t.stride == 1) return load_row(row, t.count(0), out + t.begin());
  int64_t done = 0;
  if (t.stride == 2) {
    constexpr int L = kLanes<A>;
    constexpr auto lanes = std::make_integer_sequence<int, L>{};
    const int64_t n = t.count(1);
    A *even = out + t.begin(), *odd = even + t.length;
    for (; done + L <= n; done += L) {
      const Vec<A> a = load<A>(row + 2 * done), b = load<A>(row + 2 * done + L);
      store(even + done, every_second<0>(a, b, lanes));
      store(odd + done, every_second<1>(a, b, lanes));
    }
  }
  for (int64_t p = 0; p < t.stride; p++) {
    A* phase = out + p * t.length + t.begin();
    const int64_t n = t.count(p);
    for (int64_t j = done; j < n; j++) phase[j] = read_as<A>(row[j * t.stride + p]);
  }
}

// The way back: split row -> row.
template <class A> void join_row(const A* in, const Taps& t, A* row) {
  int64_t done = 0;
  if (t.stride == 2) {
    constexpr int L = kLanes<A>;
    constexpr auto lanes = std::make_integer_sequence<int, L>{};
    const int64_t n = t.count(1);
    const A *even = in + t.begin(), *odd = even + t.length;
    for (; done + L <= n; done += L) {
      const Vec<A> a = load<A>(even + done), b = load<A>(odd + done);
      store(row + 2 * done, interleave<0>(a, b, lanes));
      store(row + 2 * done + L, interleave<L / 2>(a, b, lanes));
    }
  }
  for (int64_t p = 0; p < t.stride; p++) {
    const A* phase = in + p * t.length + t.begin();
    const int64_t n = t.count(p);
    for (int64_t j = done; j < n; j++) row[j * t.stride + p] = phase[j];
  }
  // Positions past the end of the last window.
  for (int64_t p = 0; p < t.stride; p++)
    for (int64_t j = t.count(p); j * t.stride + p < t.width; j++) row[j * t.stride + p] = 0;
}

// Whether split rows pay: not where a row has few outputs of wide windows.
inline bool splits_well(const PoolShape& s) { return s.stride[2] <= 4 || s.out[2] >= 16; }

// 2 x 2 windows with stride 2 that all lie inside the input.
inline bool is_two_by_two(const PoolShape& s) {
  for (int d = 0; d < 3; d++) {
    const int64_t size = d == 0 ? 1 : 2;
    if (s.kernel[d] != size || s.stride[d] != size || s.padding[d] || s.dilation[d] != 1 || s.out[d] * size > s.in[d]) return false;
  }
  return true;
}

// One unit of work: some output rows of one depth of one plane.
struct RowBlock {
  int64_t plane, depth, begin, end;
};

// Calls body on blocks of output rows that cover everything, in parallel.
template <class F> void for_row_blocks(const PoolShape& s, F body) {
  if (s.planes == 0 || s.out_size() == 0) return;
  constexpr int64_t kRows = 64;
  const int64_t blocks = (s.out[1] + kRows - 1) / kRows;
  const int64_t work = s.out[2] * std::min(kRows, s.out[1]) * s.kernel[0] * s.kernel[1] * s.kernel[2];
  parallel_for(0, s.planes * s.out[0] * blocks, std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1)), [&](int64_t b, int64_t e) {
    body(e - b, [&](int64_t i) {
      const int64_t item = b + i, row = item % blocks * kRows;
      return RowBlock{item / blocks / s.out[0], item / blocks % s.out[0], row, std::min(row + kRows, s.out[1])};
    });
  });
}

// The input rows of one window dimension that exist: begin, begin + dilation, ... < end.
struct Span {
  int64_t begin, end;
  Span(const PoolShape& s, int d, int64_t out) {
    const int64_t start = out * s.stride[d] - s.padding[d];
    begin = start >= 0 ? start : start + (-start + s.dilation[d] - 1) / s.dilation[d] * s.dilation[d];
    end = std::min(start + (s.kernel[d] - 1) * s.dilation[d] + 1, s.in[d]);
  }
};

}  // namespace cresset::kernels::CRESSET_ISA
