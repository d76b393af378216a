#include "cresset/kernels/layout/cpu/transpose.h"

#include <cstring>
#include <utility>

#include "cresset/base/macros.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cresset::kernels::CRESSET_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 4;
#elif defined(__AVX2__)
constexpr int kLanes = 2;
#else
constexpr int kLanes = 1;
#endif

// A tile of W x W elements in registers, a row being `lanes` lanes of 16 bytes: first each lane's square of 16 / size elements is
// transposed by interleaving, then the lanes themselves.
template <class T, int lanes> struct Tile {
  static constexpr int kPerLane = 16 / sizeof(T), kWidth = kPerLane * lanes;
  typedef T V __attribute__((vector_size(16 * lanes)));

  // Interleaves runs of `run` elements from the lower or upper half of each lane of a and b.
  template <int run, bool upper, size_t... I> CRESSET_ALWAYS_INLINE static V interleave(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, pick(static_cast<int>(I), run, upper)...);
  }
  static constexpr int pick(int i, int run, bool upper) {
    const int lane = i / kPerLane, in_lane = i % kPerLane, pair = in_lane / (2 * run), from_b = in_lane / run % 2;
    return from_b * kWidth + lane * kPerLane + (upper ? kPerLane / 2 : 0) + pair * run + in_lane % run;
  }
  template <int run, bool upper> CRESSET_ALWAYS_INLINE static V interleave(V a, V b) {
    return interleave<run, upper>(a, b, std::make_index_sequence<kWidth>{});
  }
  // Two chosen lanes of a, then two of b (one and one with two lanes).
  template <int first, int step, size_t... I> CRESSET_ALWAYS_INLINE static V lanes_of(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, pick_lane(static_cast<int>(I), first, step)...);
  }
  static constexpr int pick_lane(int i, int first, int step) {
    const int lane = i / kPerLane, half = lanes / 2;
    return lane / half * kWidth + (first + lane % half * step) * kPerLane + i % kPerLane;
  }
  template <int first, int step> CRESSET_ALWAYS_INLINE static V lanes_of(V a, V b) { return lanes_of<first, step>(a, b, std::make_index_sequence<kWidth>{}); }

  // Perfect shuffles: after log2(kPerLane) rounds of interleaving row i with row i + kPerLane / 2, the square is transposed.
  CRESSET_ALWAYS_INLINE static void transpose_lanes(V* v) {
    V t[kPerLane];
    for (int round = 1; round < kPerLane; round *= 2) {
      for (int i = 0; i < kPerLane / 2; i++) {
        t[2 * i] = interleave<1, false>(v[i], v[i + kPerLane / 2]);
        t[2 * i + 1] = interleave<1, true>(v[i], v[i + kPerLane / 2]);
      }
      for (int i = 0; i < kPerLane; i++) v[i] = t[i];
    }
  }

  template <bool stream> CRESSET_ALWAYS_INLINE static void run(char* dst, int64_t dst_stride, const char* src, int64_t src_stride) {
    V v[kWidth];
#pragma GCC unroll 64
    for (int i = 0; i < kWidth; i++) std::memcpy(&v[i], src + i * src_stride, sizeof(V));
#pragma GCC unroll 4
    for (int g = 0; g < lanes; g++) transpose_lanes(v + g * kPerLane);
#pragma GCC unroll 64
    for (int j = 0; j < kPerLane; j++) {
      if constexpr (lanes == 1) {
        store<stream>(dst + j * dst_stride, v[j]);
      } else if constexpr (lanes == 2) {
        store<stream>(dst + j * dst_stride, lanes_of<0, 1>(v[j], v[kPerLane + j]));
        store<stream>(dst + (kPerLane + j) * dst_stride, lanes_of<1, 1>(v[j], v[kPerLane + j]));
      } else {
        const V a = lanes_of<0, 1>(v[j], v[kPerLane + j]), b = lanes_of<0, 1>(v[2 * kPerLane + j], v[3 * kPerLane + j]);
        const V c = lanes_of<2, 1>(v[j], v[kPerLane + j]), d = lanes_of<2, 1>(v[2 * kPerLane + j], v[3 * kPerLane + j]);
        store<stream>(dst + j * dst_stride, lanes_of<0, 2>(a, b));
        store<stream>(dst + (kPerLane + j) * dst_stride, lanes_of<1, 2>(a, b));
        store<stream>(dst + (2 * kPerLane + j) * dst_stride, lanes_of<0, 2>(c, d));
        store<stream>(dst + (3 * kPerLane + j) * dst_stride, lanes_of<1, 2>(c, d));
      }
    }
  }

  template <bool stream> CRESSET_ALWAYS_INLINE static void store(char* dst, V v) {
#if defined(__AVX512F__)
    if constexpr (stream && lanes == 4) return _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), reinterpret_cast<__m512i>(v));
#endif
    std::memcpy(dst, &v, sizeof v);
  }
};

template <class T> void plain(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++)
      *reinterpret_cast<T*>(dst + r * dst_stride + c * static_cast<int64_t>(sizeof(T))) =
          *reinterpret_cast<const T*>(src + c * src_stride + r * static_cast<int64_t>(sizeof(T)));
}

// Two arrays become the columns of a dense matrix.
template <class T> void interleave(char* dst, const char* first, const char* second, int64_t rows) {
  T* out = reinterpret_cast<T*>(dst);
  const T *a = reinterpret_cast<const T*>(first), *b = reinterpret_cast<const T*>(second);
#pragma GCC ivdep
  for (int64_t r = 0; r < rows; r++) {
    out[2 * r] = a[r];
    out[2 * r + 1] = b[r];
  }
}

template <class T, int lanes, bool stream> void tiles(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows, int64_t columns) {
  if (columns == 2 && dst_stride == 2 * sizeof(T)) return interleave<T>(dst, src, src + src_stride, rows);
  using Square = Tile<T, lanes>;
  constexpr int64_t w = Square::kWidth, size = sizeof(T);
  const int64_t whole_rows = rows / w * w, whole_columns = columns / w * w;
  for (int64_t c = 0; c < whole_columns; c += w) {
    for (int64_t r = 0; r < whole_rows; r += w)
      Square::template run<stream>(dst + r * dst_stride + c * size, dst_stride, src + c * src_stride + r * size, src_stride);
    if (whole_rows < rows)
      plain<T>(dst + whole_rows * dst_stride + c * size, dst_stride, src + c * src_stride + whole_rows * size, src_stride, rows - whole_rows, w);
  }
  if (whole_columns < columns) plain<T>(dst + whole_columns * size, dst_stride, src + whole_columns * src_stride, src_stride, rows, columns - whole_columns);
}

struct alignas(16) Bytes16 {
  uint64_t low, high;
};

}  // namespace

void transpose(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows, int64_t columns, int64_t element_size, bool stream) {
  stream = stream && kLanes == 4 && (reinterpret_cast<intptr_t>(dst) | dst_stride) % 64 == 0;
  switch (element_size) {
    case 1: return tiles<uint8_t, 1, false>(dst, dst_stride, src, src_stride, rows, columns);
    case 2: return tiles<uint16_t, 1, false>(dst, dst_stride, src, src_stride, rows, columns);
    case 4:
      if (stream) return tiles<uint32_t, kLanes, true>(dst, dst_stride, src, src_stride, rows, columns);
      return tiles<uint32_t, kLanes, false>(dst, dst_stride, src, src_stride, rows, columns);
    case 8:
      if (stream) return tiles<uint64_t, kLanes, true>(dst, dst_stride, src, src_stride, rows, columns);
      return tiles<uint64_t, kLanes, false>(dst, dst_stride, src, src_stride, rows, columns);
    default: return plain<Bytes16>(dst, dst_stride, src, src_stride, rows, columns);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
