#pragma once
// Passes over one contiguous row, shared by softmax, the losses and the norms.

#include <cmath>

#include "cresset/kernels/cpu/simd.h"

namespace cresset::kernels::CRESSET_ISA {

template <class T> struct Row {
  using A = Compute<T>;
  using V = Vec<A>;
  static constexpr int L = kLanes<A>;
  static constexpr A kLowest = -std::numeric_limits<A>::infinity();

  CRESSET_ALWAYS_INLINE static V get(const T* p, int64_t count, A fill) { return count >= L ? load<A>(p) : load_part<A>(p, count, fill); }
  CRESSET_ALWAYS_INLINE static void put(T* p, int64_t count, V v) {
    if (count >= L) store(p, v);
    else store_part(p, count, v);
  }

  // The maximum; NaN is passed over.
  static A max(const T* x, int64_t n) {
    V a[4] = {splat(kLowest), splat(kLowest), splat(kLowest), splat(kLowest)};
    int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L)
      for (int u = 0; u < 4; u++) a[u] = max_second(load<A>(x + i + u * L), a[u]);
    for (; i < n; i += L) a[0] = max_second(get(x + i, n - i, kLowest), a[0]);
    return fold_lanes(max_second(max_second(a[0], a[1]), max_second(a[2], a[3])), [](auto p, auto q) { return max_second(p, q); });
  }

  // sum of f(i, count), a vector each, in four chains.
  template <class F> CRESSET_ALWAYS_INLINE static A sum(int64_t n, F f) {
    V a[4] = {};
    int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L)
#pragma GCC unroll 4
      for (int u = 0; u < 4; u++) a[u] = a[u] + f(i + u * L, L);
    for (; i < n; i += L) a[0] = a[0] + f(i, n - i);
    return sum_lanes((a[0] + a[1]) + (a[2] + a[3]));
  }

  // y[i] = f(i, count). Whole vectors are streamed past the caches if asked for.
  template <class F> CRESSET_ALWAYS_INLINE static void write(T* y, int64_t n, bool streamed, F f) {
    int64_t i = 0;
    if constexpr (std::is_same_v<T, A>) {
      if (streamed) {
        const int64_t ahead = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) % kVectorBytes / sizeof(T)), head = ahead < n ? ahead : n;
        if (head) store_part(y, head, f(0, head));
        for (i = head; i + L <= n; i += L) stream(y + i, f(i, L));
      }
    }
    for (; i + L <= n; i += L) store(y + i, f(i, L));
    if (i < n) store_part(y + i, n - i, f(i, n - i));
  }

  // The maximum and sum(exp(x - max)), in one pass over memory: blocks that fit the first-level cache, joined by rescaling.
  // A row of nothing but -inf has the sum 0; NaN makes the sum NaN.
  struct Exponentials {
    A max, sum;
  };
  static constexpr int64_t kBlock = 4096;

  static Exponentials exponentials(const T* x, int64_t n) {
    Exponentials e = block(x, n < kBlock ? n : kBlock);
    for (int64_t i = kBlock; i < n; i += kBlock) {
      const Exponentials b = block(x + i, n - i < kBlock ? n - i : kBlock);
      const A m = e.max > b.max ? e.max : b.max;
      e = {m, rescaled(e, m) + rescaled(b, m)};
    }
    return e;
  }

 private:
  static Exponentials block(const T* x, int64_t n) {
    const A m = max(x, n);
    const V top = splat(m == kLowest ? A(0) : m);
    return {m, sum(n, [&](int64_t i, int64_t count) { return exp_nonpositive(get(x + i, count, kLowest) - top); })};
  }
  static A rescaled(Exponentials e, A max) { return e.max == max ? e.sum : e.sum * std::exp(e.max - max); }
};

}  // namespace cresset::kernels::CRESSET_ISA
