#include <algorithm>
#include <cstring>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/cpu/rows.h"
#include "cresset/kernels/norm/cpu/softmax_kernels.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// e^x for x <= 0 or NaN, to 1 ulp: 2^n (1 + r + r^2 p(r)), p minimax of degree 5. Rows of softmax have the bits of PyTorch's vector code:
// samplers such as gumbel_softmax end in them.
CRESSET_ALWAYS_INLINE VecF exp_difference(VecF x) {
#if !defined(__FMA__)
  return exp(x);
#else
  x = max_second(splat(-104.0f), x);
  const VecF n = round_even(x * splat(1.44269504f));
  const VecF r = fma(n, splat(-0x1.7f7d1cp-20f), fma(n, splat(-0x1.62e4p-1f), x));
  VecF p = splat(0.000198552167f);
  for (const float c : {0.00139304565f, 0.00833335891f, 0.0416664854f, 0.166666672f, 0.5f}) p = fma(p, r, splat(c));
  return scale_by_power(fma(r * r, p, r) + splat(1.0f), n);
#endif
}
CRESSET_ALWAYS_INLINE VecD exp_difference(VecD x) { return exp(x); }

template <class T> struct Softmax : Row<T> {
  using Base = Row<T>;
  using Base::get;
  using Base::kLowest;
  using Base::L;
  using Base::put;
  using typename Base::A;
  using typename Base::V;

  // Rows up to this length keep exp(x - max) in y between two passes; for longer ones it is cheaper to compute it twice.
  static constexpr int64_t kResident = 32768;

  static void row(const T* x, T* y, int64_t n, bool streamed) {
    if (std::is_same_v<T, A> && n <= kResident) {
      const V top = splat(Base::max(x, n));
      V sum{};  // one chain: the exponentials take longer than it
      for (int64_t i = 0; i < n; i += L) {
        const V e = exp_difference(get(x + i, n - i, kLowest) - top);
        put(y + i, n - i, e);
        sum = sum + e;
      }
      const V scale = splat(A(1) / sum_lanes(sum));
      return Base::write(y, n, false, [&](int64_t i, int64_t count) { return get(y + i, count, A(0)) * scale; });
    }
    const auto e = Base::exponentials(x, n);
    const V top = splat(e.max), scale = splat(A(1) / e.sum);
    Base::write(y, n, streamed, [&](int64_t i, int64_t count) { return exp_difference(get(x + i, count, kLowest) - top) * scale; });
  }

  static void log_row(const T* x, T* y, int64_t n, bool streamed) {
    const auto e = Base::exponentials(x, n);
    const V top = splat(e.max), log_sum = splat(std::log(e.sum));
    Base::write(y, n, streamed, [&](int64_t i, int64_t count) { return get(x + i, count, A(0)) - top - log_sum; });
  }

  static void back(const T* dy, const T* y, T* dx, int64_t n, bool streamed) {
    const V dot = splat(Base::sum(n, [&](int64_t i, int64_t count) { return get(dy + i, count, A(0)) * get(y + i, count, A(0)); }));
    Base::write(dx, n, streamed, [&](int64_t i, int64_t count) { return get(y + i, count, A(0)) * (get(dy + i, count, A(0)) - dot); });
  }

  static void log_back(const T* dy, const T* y, T* dx, int64_t n, bool streamed) {
    const V total = splat(Base::sum(n, [&](int64_t i, int64_t count) { return get(dy + i, count, A(0)); }));
    Base::write(dx, n, streamed, [&](int64_t i, int64_t count) { return get(dy + i, count, A(0)) - exp(get(y + i, count, A(0))) * total; });
  }

  CRESSET_ALWAYS_INLINE static V get_any(const T* p, int64_t count, A fill) { return count > 0 ? get(p, count, fill) : splat(fill); }
  CRESSET_ALWAYS_INLINE static void put_any(T* p, int64_t count, V v) {
    if (count > 0) put(p, count, v);
  }

  // Of less than a vector.
  CRESSET_ALWAYS_INLINE static A sum_in_order(V v, int64_t n) {
    A lanes[L], total = 0;
    std::memcpy(lanes, &v, sizeof(V));
    for (int64_t i = 0; i < n; i++) total += lanes[i];
    return total;
  }

  // Rows of at most K vectors stay in registers.
  template <int K> static void short_row(bool log, const T* x, T* y, int64_t n) {
    V v[K], sum{};
    for (int k = 0; k < K; k++) v[k] = get_any(x + k * L, n - k * L, kLowest);
    V top = v[0];
    for (int k = 1; k < K; k++) top = max_second(v[k], top);
    top = splat(fold_lanes(top, [](auto p, auto q) { return max_second(p, q); }));
    for (int k = 0; k < K; k++) {
      v[k] = v[k] - top;
      const V e = exp_difference(v[k]);
      sum = sum + e;
      if (!log) v[k] = e;
    }
    const A total = K == 1 && n < L ? sum_in_order(sum, n) : sum_lanes(sum);
    const V by = splat(log ? std::log(total) : A(1) / total);
    for (int k = 0; k < K; k++) put_any(y + k * L, n - k * L, log ? v[k] - by : v[k] * by);
  }

  template <int K> static void short_back(bool log, const T* dy, const T* y, T* dx, int64_t n) {
    V g[K], v[K], sum{};
    for (int k = 0; k < K; k++) {
      g[k] = get_any(dy + k * L, n - k * L, A(0));
      v[k] = get_any(y + k * L, n - k * L, A(0));
      sum = log ? sum + g[k] : fma(g[k], v[k], sum);
    }
    sum = splat(sum_lanes(sum));
    for (int k = 0; k < K; k++) put_any(dx + k * L, n - k * L, log ? g[k] - exp(v[k]) * sum : v[k] * (g[k] - sum));
  }

  // Tiles of columns of a (dim, inner) array, as wide as the caches allow; every pass walks down the rows.
  static constexpr int64_t kTile = 1024;

  template <class F> static void down(int64_t dim, int64_t inner, int64_t width, F f) {
    for (int64_t d = 0; d < dim; d++)
      for (int64_t c = 0; c < width; c += L) f(d * inner + c, c, width - c);
  }

  static void columns(bool log, const T* x, T* y, int64_t dim, int64_t inner, int64_t width) {
    alignas(64) A max[kTile], sum[kTile];
    for (int64_t c = 0; c < width; c += L) {
      store(max + c, get(x + c, width - c, A(0)));
      store(sum + c, V{});
    }
    down(dim, inner, width, [&](int64_t i, int64_t c, int64_t count) { store(max + c, max_second(get(x + i, count, A(0)), load<A>(max + c))); });
    const bool keep = std::is_same_v<T, A> && !log;
    down(dim, inner, width, [&](int64_t i, int64_t c, int64_t count) {
      const V e = exp_difference(get(x + i, count, A(0)) - load<A>(max + c));
      if (keep) put(y + i, count, e);
      store(sum + c, load<A>(sum + c) + e);
    });
    for (int64_t c = 0; log && c < width; c += L) store(sum + c, CRESSET_ISA::log(load<A>(sum + c)));
    down(dim, inner, width, [&](int64_t i, int64_t c, int64_t count) {
      const V by = load<A>(sum + c);
      if (keep) return put(y + i, count, get(y + i, count, A(0)) / by);
      const V v = get(x + i, count, A(0)) - load<A>(max + c);
      put(y + i, count, log ? v - by : exp_difference(v) / by);
    });
  }

  static void columns_back(bool log, const T* dy, const T* y, T* dx, int64_t dim, int64_t inner, int64_t width) {
    alignas(64) A sum[kTile];
    for (int64_t c = 0; c < width; c += L) store(sum + c, V{});
    down(dim, inner, width, [&](int64_t i, int64_t c, int64_t count) {
      const V g = get(dy + i, count, A(0));
      store(sum + c, log ? load<A>(sum + c) + g : fma(g, get(y + i, count, A(0)), load<A>(sum + c)));
    });
    down(dim, inner, width, [&](int64_t i, int64_t c, int64_t count) {
      const V g = get(dy + i, count, A(0)), v = get(y + i, count, A(0)), s = load<A>(sum + c);
      put(dx + i, count, log ? g - exp(v) * s : v * (g - s));
    });
  }

  // body(offset, width) for every tile.
  template <class F> static void for_columns(int64_t outer, int64_t dim, int64_t inner, F body) {
    const int64_t wanted = std::clamp<int64_t>((int64_t{1} << 16) / dim / 64 * 64, 64, kTile), tile = std::min(wanted, inner);
    const int64_t tiles = (inner + tile - 1) / tile;
    parallel_for(0, outer * tiles, std::max<int64_t>(1, 16384 / (dim * tile)), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; i++) {
        const int64_t first = i % tiles * tile;
        body(i / tiles * dim * inner + first, std::min(tile, inner - first));
      }
    });
  }

  template <class F> static void for_rows(int64_t rows, int64_t n, F body) {
    const bool streamed = rows * n * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
    parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)), [&](int64_t b, int64_t e) {
      for (int64_t r = b; r < e; r++) body(r * n, streamed);
      if (streamed) stream_fence();
    });
  }
};

template <class T> void forward(bool log, const char* px, char* py, int64_t outer, int64_t dim, int64_t inner) {
  const T* x = reinterpret_cast<const T*>(px);
  T* y = reinterpret_cast<T*>(py);
  using S = Softmax<T>;
  if (inner != 1) return S::for_columns(outer, dim, inner, [&](int64_t i, int64_t width) { S::columns(log, x + i, y + i, dim, inner, width); });
  if (dim <= S::L) return S::for_rows(outer, dim, [&](int64_t i, bool) { S::template short_row<1>(log, x + i, y + i, dim); });
  if (dim <= 4 * S::L) return S::for_rows(outer, dim, [&](int64_t i, bool) { S::template short_row<4>(log, x + i, y + i, dim); });
  S::for_rows(outer, dim, [&](int64_t i, bool streamed) { log ? S::log_row(x + i, y + i, dim, streamed) : S::row(x + i, y + i, dim, streamed); });
}

template <class T> void backward(bool log, const char* pdy, const char* py, char* pdx, int64_t outer, int64_t dim, int64_t inner) {
  const T *dy = reinterpret_cast<const T*>(pdy), *y = reinterpret_cast<const T*>(py);
  T* dx = reinterpret_cast<T*>(pdx);
  using S = Softmax<T>;
  if (inner != 1) return S::for_columns(outer, dim, inner, [&](int64_t i, int64_t width) { S::columns_back(log, dy + i, y + i, dx + i, dim, inner, width); });
  if (dim <= S::L) return S::for_rows(outer, dim, [&](int64_t i, bool) { S::template short_back<1>(log, dy + i, y + i, dx + i, dim); });
  if (dim <= 4 * S::L) return S::for_rows(outer, dim, [&](int64_t i, bool) { S::template short_back<4>(log, dy + i, y + i, dx + i, dim); });
  S::for_rows(outer, dim,
              [&](int64_t i, bool streamed) { log ? S::log_back(dy + i, y + i, dx + i, dim, streamed) : S::back(dy + i, y + i, dx + i, dim, streamed); });
}

}  // namespace

void softmax_forward(bool log, const char* x, char* y, ScalarType t, int64_t outer, int64_t dim, int64_t inner) {
  switch (t) {
    case ScalarType::Half: return forward<Half>(log, x, y, outer, dim, inner);
    case ScalarType::BFloat16: return forward<BFloat16>(log, x, y, outer, dim, inner);
    case ScalarType::Float: return forward<float>(log, x, y, outer, dim, inner);
    case ScalarType::Double: return forward<double>(log, x, y, outer, dim, inner);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, log ? "log_softmax" : "softmax", ": not implemented for ", t);
  }
}

void softmax_backward_kernel(bool log, const char* dy, const char* y, char* dx, ScalarType t, int64_t outer, int64_t dim, int64_t inner) {
  switch (t) {
    case ScalarType::Half: return backward<Half>(log, dy, y, dx, outer, dim, inner);
    case ScalarType::BFloat16: return backward<BFloat16>(log, dy, y, dx, outer, dim, inner);
    case ScalarType::Float: return backward<float>(log, dy, y, dx, outer, dim, inner);
    case ScalarType::Double: return backward<double>(log, dy, y, dx, outer, dim, inner);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, log ? "log_softmax" : "softmax", " backward: not implemented for ", t);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
