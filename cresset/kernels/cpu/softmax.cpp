#include <algorithm>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/cpu/softmax_kernels.h"
#include "cresset/kernels/cpu/softmax_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T>
struct Softmax : Row<T> {
  using Base = Row<T>;
  using typename Base::A;
  using typename Base::V;
  using Base::get;
  using Base::kLowest;
  using Base::L;
  using Base::put;

  // Rows up to this length keep exp(x - max) in y between two passes; for longer ones it is cheaper to compute it twice.
  static constexpr int64_t kResident = 32768;

  static void row(const T* x, T* y, int64_t n, bool streamed) {
    if (std::is_same_v<T, A> && n <= kResident) {
      const V top = splat(Base::max(x, n));
      const A sum = Base::sum(n, [&](int64_t i, int64_t count) {
        const V e = exp(get(x + i, count, kLowest) - top);
        put(y + i, count, e);
        return e;
      });
      const V scale = splat(A(1) / sum);
      return Base::write(y, n, false, [&](int64_t i, int64_t count) { return get(y + i, count, A(0)) * scale; });
    }
    const auto e = Base::exponentials(x, n);
    const V top = splat(e.max), scale = splat(A(1) / e.sum);
    Base::write(y, n, streamed, [&](int64_t i, int64_t count) { return exp(get(x + i, count, kLowest) - top) * scale; });
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

  // `width` columns, at most across * L, of a (dim, inner) array; every pass walks down the rows.
  template <int across>
  static void columns(bool log, const T* x, T* y, int64_t dim, int64_t inner, int64_t width) {
    V max[across], sum[across] = {}, scale[across];
    for (int u = 0; u < across; u++) max[u] = splat(kLowest);
    const auto each = [&](int64_t d, auto f) {
      for (int u = 0; u < across; u++) f(u, d * inner + u * L, width - u * L);
    };
    for (int64_t d = 0; d < dim; d++)
      each(d, [&](int u, int64_t i, int64_t count) { max[u] = max_second(get(x + i, count, A(0)), max[u]); });
    for (int64_t d = 0; d < dim; d++)
      each(d, [&](int u, int64_t i, int64_t count) { sum[u] = sum[u] + exp(get(x + i, count, A(0)) - max[u]); });
    for (int u = 0; u < across; u++) scale[u] = log ? CRESSET_ISA::log(sum[u]) : splat(A(1)) / sum[u];
    for (int64_t d = 0; d < dim; d++)
      each(d, [&](int u, int64_t i, int64_t count) {
        const V v = get(x + i, count, A(0)) - max[u];
        put(y + i, count, log ? v - scale[u] : exp(v) * scale[u]);
      });
  }

  template <int across>
  static void columns_back(bool log, const T* dy, const T* y, T* dx, int64_t dim, int64_t inner, int64_t width) {
    V sum[across] = {};
    const auto each = [&](int64_t d, auto f) {
      for (int u = 0; u < across; u++) f(u, d * inner + u * L, width - u * L);
    };
    for (int64_t d = 0; d < dim; d++)
      each(d, [&](int u, int64_t i, int64_t count) {
        const V g = get(dy + i, count, A(0));
        sum[u] = sum[u] + (log ? g : g * get(y + i, count, A(0)));
      });
    for (int64_t d = 0; d < dim; d++)
      each(d, [&](int u, int64_t i, int64_t count) {
        const V g = get(dy + i, count, A(0)), v = get(y + i, count, A(0));
        put(dx + i, count, log ? g - exp(v) * sum[u] : v * (g - sum[u]));
      });
  }

  // Tiles of columns: body(across as a constant, offset, width).
  template <class F>
  static void for_columns(int64_t outer, int64_t dim, int64_t inner, F body) {
    constexpr int64_t kTile = 4 * L;
    const int64_t tiles = (inner + kTile - 1) / kTile, work = dim * std::min(inner, kTile);
    parallel_for(0, outer * tiles, std::max<int64_t>(1, 16384 / std::max<int64_t>(work, 1)), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; i++) {
        const int64_t first = i % tiles * kTile, base = i / tiles * dim * inner;
        int64_t c = first;
        if (inner - first >= kTile) body(std::integral_constant<int, 4>{}, base + c, kTile), c += kTile;
        for (; c < std::min(inner, first + kTile); c += L) body(std::integral_constant<int, 1>{}, base + c, std::min<int64_t>(L, inner - c));
      }
    });
  }

  template <class F>
  static void for_rows(int64_t rows, int64_t n, F body) {
    const bool streamed = rows * n * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
    parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)), [&](int64_t b, int64_t e) {
      for (int64_t r = b; r < e; r++) body(r * n, streamed);
      if (streamed) stream_fence();
    });
  }
};

template <class T>
void forward(bool log, const char* px, char* py, int64_t outer, int64_t dim, int64_t inner) {
  const T* x = reinterpret_cast<const T*>(px);
  T* y = reinterpret_cast<T*>(py);
  using S = Softmax<T>;
  if (inner == 1)
    return S::for_rows(outer, dim, [&](int64_t i, bool streamed) { log ? S::log_row(x + i, y + i, dim, streamed) : S::row(x + i, y + i, dim, streamed); });
  S::for_columns(outer, dim, inner, [&](auto across, int64_t i, int64_t width) { S::template columns<across>(log, x + i, y + i, dim, inner, width); });
}

template <class T>
void backward(bool log, const char* pdy, const char* py, char* pdx, int64_t outer, int64_t dim, int64_t inner) {
  const T *dy = reinterpret_cast<const T*>(pdy), *y = reinterpret_cast<const T*>(py);
  T* dx = reinterpret_cast<T*>(pdx);
  using S = Softmax<T>;
  if (inner == 1)
    return S::for_rows(outer, dim, [&](int64_t i, bool streamed) {
      log ? S::log_back(dy + i, y + i, dx + i, dim, streamed) : S::back(dy + i, y + i, dx + i, dim, streamed);
    });
  S::for_columns(outer, dim, inner,
                 [&](auto across, int64_t i, int64_t width) { S::template columns_back<across>(log, dy + i, y + i, dx + i, dim, inner, width); });
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
