#pragma once
// The loops behind ReduceKernel for ops whose accumulator is a number. An op says how elements map to accumulators and how those
// combine, on vectors and on single numbers alike. Reductions are trees: chains of 16 to 32 elements, joined
// pairwise or nearly so.

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/pointwise/wide_unsigned.h"
#include "cresset/kernels/reduce/cpu/reduce_kernel.h"

namespace cresset::kernels::CRESSET_ISA {

template <class T> constexpr bool is_low = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// A strided loop gains nothing from gathers and costs code size: this keeps it as it is written.
CRESSET_ALWAYS_INLINE void keep_scalar() { asm volatile(""); }

template <class A, class T> CRESSET_ALWAYS_INLINE A read(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  if constexpr (is_low<T> && !std::is_same_v<A, float>) return static_cast<A>(static_cast<float>(v));
  else return static_cast<A>(v);
}

constexpr int64_t kBlockSize = 256;

// Op: using Acc; static Acc identity(); X map(X, double param); X combine(X, X) for X = Acc and, if Op::vectors, X = Vec<Acc>.
// If Op::blocks, also map_block(const T*, n <= kBlockSize, param, Acc* out), which is faster.
template <class Op, class T> struct Reducer {
  using A = typename Op::Acc;
  static constexpr int L = Op::vectors ? kLanes<A> : 1;
  static constexpr bool kBlocks = requires { Op::blocks; };

  // A contiguous run, n <= kMaxRun.
  template <class E> static A run(const E* p, int64_t n, double param) {
    if constexpr (kBlocks) {
      A total = Op::identity(), mapped[kBlockSize];
      for (int64_t i = 0; i < n; i += kBlockSize) {
        const int64_t m = n - i < kBlockSize ? n - i : kBlockSize;
        Op::map_block(p + i, m, param, mapped);
        total = Op::combine(total, join_numbers(mapped, m));
      }
      return total;
    }
    if constexpr (Op::vectors) return run_vectors(p, n, param);
    else return run_numbers(p, n, param);
  }

  template <class E> static A run_vectors(const E* p, int64_t n, double param) {
    using V = Vec<A>;
    constexpr int kAcross = 8, kDown = 16;  // the fold below is written for eight
    A rest = Op::identity();
    int64_t i = 0;
    if (n >= L) {
      V total = splat(Op::identity());
      const auto at = [&](int64_t j) { return Op::map(load<A>(p + j), param); };
      for (; i + kAcross * kDown * L <= n; i += kAcross * kDown * L) {
        V a[kAcross];
#pragma GCC unroll 8
        for (int u = 0; u < kAcross; u++) a[u] = at(i + u * L);
        for (int k = 1; k < kDown; k++)
#pragma GCC unroll 8
          for (int u = 0; u < kAcross; u++) a[u] = Op::combine(a[u], at(i + (k * kAcross + u) * L));
        const auto pair = [&](int u) { return Op::combine(Op::combine(a[u], a[u + 4]), Op::combine(a[u + 2], a[u + 6])); };
        total = Op::combine(total, Op::combine(pair(0), pair(1)));
      }
      if (i + 4 * L <= n) {
        V a[4] = {at(i), at(i + L), at(i + 2 * L), at(i + 3 * L)};
        for (i += 4 * L; i + 4 * L <= n; i += 4 * L)
#pragma GCC unroll 4
          for (int u = 0; u < 4; u++) a[u] = Op::combine(a[u], at(i + u * L));
        total = Op::combine(total, Op::combine(Op::combine(a[0], a[1]), Op::combine(a[2], a[3])));
      }
      for (; i + L <= n; i += L) total = Op::combine(total, at(i));
      rest = fold_lanes(total, [](auto a, auto b) { return Op::combine(a, b); });
    }
    A tail = Op::identity();
    for (; i < n; i++, keep_scalar()) tail = Op::combine(tail, Op::map(read<A, E>(reinterpret_cast<const char*>(p + i)), param));
    return Op::combine(rest, tail);
  }

  template <class E> static A run_numbers(const E* p, int64_t n, double param) {
    A total = Op::identity();
    int64_t i = 0;
    while (i < n) {
      const int64_t end = i + 64 < n ? i + 64 : n;
      A a[4] = {Op::identity(), Op::identity(), Op::identity(), Op::identity()};
      for (; i + 4 <= end; i += 4)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) a[u] = Op::combine(a[u], Op::map(read<A, E>(reinterpret_cast<const char*>(p + i + u)), param));
      for (; i < end; i++) a[0] = Op::combine(a[0], Op::map(read<A, E>(reinterpret_cast<const char*>(p + i)), param));
      total = Op::combine(total, Op::combine(Op::combine(a[0], a[1]), Op::combine(a[2], a[3])));
    }
    return total;
  }

  // A tree over n <= kBlockSize numbers, in place.
  static A join_numbers(A* x, int64_t n) {
    for (int64_t i = n; i < kBlockSize; i++) x[i] = Op::identity();
    for (int64_t half = kBlockSize / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < half; i++) x[i] = Op::combine(x[i], x[i + half]);
    return x[0];
  }

  static A run_strided(const char* p, int64_t n, int64_t stride, double param) {
    A total = Op::identity(), buffer[256];
    for (int64_t i = 0; i < n; i += 256) {
      const int64_t m = n - i < 256 ? n - i : 256;
      for (int64_t j = 0; j < m; j++, keep_scalar()) buffer[j] = read<A, T>(p + (i + j) * stride);
      total = Op::combine(total, run(buffer, m, param));
    }
    return total;
  }

  // Rows of a few vectors: their lanes are folded for as many rows at once as a vector has lanes.
  static constexpr bool kShortRows = Op::vectors && sizeof(A) >= 4;

  static void inner_short(const char* in, int64_t rows, int64_t row_stride, int64_t n, double param, A* out) {
    using V = Vec<A>;
    const auto row = [&](int64_t r) {
      const T* p = reinterpret_cast<const T*>(in + r * row_stride);
      V v = splat(Op::identity());
      int64_t i = 0;
      for (; i + L <= n; i += L) v = Op::combine(v, Op::map(load<A>(p + i), param));
      return i < n ? Op::combine(v, Op::map(load_part<A>(p + i, n - i, Op::identity()), param)) : v;
    };
    const auto combine = [](auto a, auto b) { return Op::combine(a, b); };
    int64_t r = 0;
    for (; r + L <= rows; r += L) {
      V v[L];
#pragma GCC unroll 1
      for (int u = 0; u < L; u++) v[u] = row(r + u);  // not unrolled: conversions would fill kilobytes
      store(out + r, fold_many<L, L / 2>(v, combine));
    }
    for (; r < rows; r++) out[r] = fold_lanes(row(r), combine);
  }

  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t, double param, char* acc) {
    A* out = reinterpret_cast<A*>(acc);
    if constexpr (kShortRows)
      if (stride == sizeof(T) && n <= 8 * L) return inner_short(in, rows, row_stride, n, param, out);
    for (int64_t r = 0; r < rows; r++, in += row_stride)
      out[r] = stride == sizeof(T) ? run(reinterpret_cast<const T*>(in), n, param) : run_strided(in, n, stride, param);
  }

  static constexpr int64_t kBlock = 8;  // rows whose partial result stays in registers

  template <int across, bool first> CRESSET_ALWAYS_INLINE static void block_vectors(const char* in, int64_t rows, int64_t row_stride, double param, A* out) {
    using V = Vec<A>;
    V a[across];
    const auto at = [&](int64_t r, int u) { return Op::map(load<A>(reinterpret_cast<const T*>(in + r * row_stride) + u * L), param); };
#pragma GCC unroll 4
    for (int u = 0; u < across; u++) a[u] = at(0, u);
    for (int64_t r = 1; r < rows; r++)
#pragma GCC unroll 4
      for (int u = 0; u < across; u++) a[u] = Op::combine(a[u], at(r, u));
#pragma GCC unroll 4
    for (int u = 0; u < across; u++) store(out + u * L, first ? a[u] : Op::combine(load<A>(out + u * L), a[u]));
  }

  template <bool first> static void block(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, double param, A* out) {
    int64_t c = 0;
    if constexpr (Op::vectors) {
      if (col_stride == sizeof(T)) {
        for (; c + 4 * L <= cols; c += 4 * L) block_vectors<4, first>(in + c * sizeof(T), rows, row_stride, param, out + c);
        for (; c + L <= cols; c += L) block_vectors<1, first>(in + c * sizeof(T), rows, row_stride, param, out + c);
      }
    }
    if constexpr (kBlocks) {
      A mapped[kBlockSize];
      for (int64_t m; col_stride == sizeof(T) && c < cols; c += m) {
        m = cols - c < kBlockSize ? cols - c : kBlockSize;
        for (int64_t r = 0; r < rows; r++) {
          Op::map_block(reinterpret_cast<const T*>(in + r * row_stride) + c, m, param, mapped);
          for (int64_t i = 0; i < m; i++) out[c + i] = first && r == 0 ? mapped[i] : Op::combine(out[c + i], mapped[i]);
        }
      }
    }
    for (; c < cols; c++, keep_scalar()) {
      const char* p = in + c * col_stride;
      A a = Op::map(read<A, T>(p), param);
      for (int64_t r = 1; r < rows; r++, keep_scalar()) a = Op::combine(a, Op::map(read<A, T>(p + r * row_stride), param));
      out[c] = first ? a : Op::combine(out[c], a);
    }
  }

  static void outer_plain(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, double param, A* out) {
    if (rows == 0)
      for (int64_t c = 0; c < cols; c++) out[c] = Op::identity();
    for (int64_t r = 0; r < rows; r += kBlock) {
      const int64_t m = rows - r < kBlock ? rows - r : kBlock;
      if (r == 0) block<true>(in, m, row_stride, cols, col_stride, param, out);
      else block<false>(in + r * row_stride, m, row_stride, cols, col_stride, param, out);
    }
  }

  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t, double param, char* acc) {
    A* out = reinterpret_cast<A*>(acc);
    const int64_t wide = 4 * L, together = wide / cols;
    const bool dense = col_stride == sizeof(T) && row_stride == cols * static_cast<int64_t>(sizeof(T));
    if (!Op::vectors || !dense || together < 2 || rows < 2 * together) return outer_plain(in, rows, row_stride, cols, col_stride, param, out);
    // Narrow dense rows: several of them make one wide row, and its groups of columns are joined afterwards.
    A sums[4 * L];
    const int64_t steps = rows / together;
    outer_plain(in, steps, row_stride * together, cols * together, col_stride, param, sums);
    for (int64_t c = 0; c < cols; c++) {
      A a = sums[c];
      for (int64_t g = 1; g < together; g++) a = Op::combine(a, sums[g * cols + c]);
      for (int64_t r = steps * together; r < rows; r++) a = Op::combine(a, Op::map(read<A, T>(in + r * row_stride + c * col_stride), param));
      out[c] = a;
    }
  }

  static void join(char* acc, const char* other, int64_t n) {
    A* a = reinterpret_cast<A*>(acc);
    const A* b = reinterpret_cast<const A*>(other);
    for (int64_t i = 0; i < n; i++) a[i] = Op::combine(a[i], b[i]);
  }

  static constexpr ReduceKernel kernel{dtype_of<A>, sizeof(A), inner, outer, join};
};

}  // namespace cresset::kernels::CRESSET_ISA
