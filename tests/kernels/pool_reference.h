#pragma once
// Pooling one window at a time in double or int64: what the kernels are compared with.

#include <algorithm>
#include <vector>

#include "cresset/kernels/common/element.h"
#include "cresset/kernels/pool/pool.h"

namespace cresset::kernels::reference {

using In = AnyInput<double>;
using Out = AnyOutput<double>;

struct Window {
  int64_t begin[3], end[3], step[3];
  template <class F> void each(const int64_t in[3], F f) const {
    for (int64_t d = begin[0]; d < end[0]; d += step[0])
      for (int64_t h = begin[1]; h < end[1]; h += step[1])
        for (int64_t w = begin[2]; w < end[2]; w += step[2]) f((d * in[1] + h) * in[2] + w);
  }
};

// Calls f(flat output index in the plane, window clipped to the input, size of the window clipped to the padded input).
template <class F> void for_windows(const PoolShape& s, F f) {
  int64_t i[3], flat = 0;
  for (i[0] = 0; i[0] < s.out[0]; i[0]++)
    for (i[1] = 0; i[1] < s.out[1]; i[1]++)
      for (i[2] = 0; i[2] < s.out[2]; i[2]++, flat++) {
        Window w;
        int64_t padded = 1;
        for (int d = 0; d < 3; d++) {
          const int64_t start = i[d] * s.stride[d] - s.padding[d], stop = start + (s.kernel[d] - 1) * s.dilation[d] + 1;
          padded *= std::min(stop, s.in[d] + s.padding[d]) - start;
          w.begin[d] = start >= 0 ? start : start + (-start + s.dilation[d] - 1) / s.dilation[d] * s.dilation[d];
          w.end[d] = std::min(stop, s.in[d]);
          w.step[d] = s.dilation[d];
        }
        f(flat, w, padded);
      }
}

template <class F> void for_adaptive(const PoolShape& s, F f) {
  int64_t i[3], flat = 0;
  for (i[0] = 0; i[0] < s.out[0]; i[0]++)
    for (i[1] = 0; i[1] < s.out[1]; i[1]++)
      for (i[2] = 0; i[2] < s.out[2]; i[2]++, flat++) {
        Window w;
        int64_t size = 1;
        for (int d = 0; d < 3; d++) {
          w.begin[d] = i[d] * s.in[d] / s.out[d];
          w.end[d] = ((i[d] + 1) * s.in[d] + s.out[d] - 1) / s.out[d];
          w.step[d] = 1;
          size *= w.end[d] - w.begin[d];
        }
        f(flat, w, size);
      }
}

template <class A, class W> void max_over(const char* px, char* py, int64_t* indices, ScalarType t, const PoolShape& s, W windows) {
  const AnyInput<A> x(px, t);
  const AnyOutput<A> y(py, t);
  for (int64_t p = 0; p < s.planes; p++)
    windows(s, [&](int64_t flat, const Window& w, int64_t) {
      int64_t best = -1;
      A value{};
      w.each(s.in, [&](int64_t i) {
        const A v = x[p * s.in_size() + i];
        if (best >= 0 && !(v > value || v != v)) return;
        best = i;
        value = v;
      });
      y.set(p * s.out_size() + flat, value);
      if (indices) indices[p * s.out_size() + flat] = best;
    });
}

template <class W> void max_dispatch(const char* x, char* y, int64_t* indices, ScalarType t, const PoolShape& s, W windows) {
  if (is_floating_type(t)) return max_over<double>(x, y, indices, t, s, windows);
  if (t == ScalarType::UInt64) return max_over<uint64_t>(x, y, indices, t, s, windows);
  max_over<int64_t>(x, y, indices, t, s, windows);
}

inline int64_t count(const PoolShape& s, const Window& w, int64_t padded, bool include_pad, int64_t override_) {
  if (override_) return override_;
  int64_t n = 0;
  if (!include_pad) w.each(s.in, [&](int64_t) { n++; });
  return include_pad ? padded : n;
}

template <class A, class W> void average(const char* px, char* py, ScalarType t, const PoolShape& s, bool include_pad, int64_t override_, W windows) {
  const AnyInput<A> x(px, t);
  const AnyOutput<A> y(py, t);
  for (int64_t p = 0; p < s.planes; p++)
    windows(s, [&](int64_t flat, const Window& w, int64_t padded) {
      A sum = 0;
      w.each(s.in, [&](int64_t i) { sum += x[p * s.in_size() + i]; });
      const int64_t n = count(s, w, padded, include_pad, override_);
      y.set(p * s.out_size() + flat, n ? sum / static_cast<A>(n) : A(0));
    });
}

template <class W> void average_backward(const char* pdy, char* pdx, ScalarType t, const PoolShape& s, bool include_pad, int64_t override_, W windows) {
  const In dy(pdy, t);
  const Out dx(pdx, t);
  for (int64_t p = 0; p < s.planes; p++) {
    std::vector<double> g(s.in_size(), 0.0);
    windows(s, [&](int64_t flat, const Window& w, int64_t padded) {
      const int64_t n = count(s, w, padded, include_pad, override_);
      const double share = dy[p * s.out_size() + flat] / static_cast<double>(n);
      w.each(s.in, [&](int64_t i) { g[i] += share; });
    });
    for (int64_t i = 0; i < s.in_size(); i++) dx.set(p * s.in_size() + i, g[i]);
  }
}

inline constexpr auto kWindows = [](const PoolShape& s, auto f) { for_windows(s, f); };
inline constexpr auto kAdaptive = [](const PoolShape& s, auto f) { for_adaptive(s, f); };

inline void max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  max_dispatch(x, y, indices, dtype, shape, kWindows);
}
inline void adaptive_max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  max_dispatch(x, y, indices, dtype, shape, kAdaptive);
}

inline void max_pool_backward(const char* pdy, const int64_t* indices, char* pdx, ScalarType dtype, int64_t planes, int64_t in_size, int64_t out_size) {
  const In dy(pdy, dtype);
  const Out dx(pdx, dtype);
  for (int64_t p = 0; p < planes; p++) {
    std::vector<double> g(in_size, 0.0);
    for (int64_t i = 0; i < out_size; i++) g[indices[p * out_size + i]] += dy[p * out_size + i];
    for (int64_t i = 0; i < in_size; i++) dx.set(p * in_size + i, g[i]);
  }
}

inline void avg_pool(const char* x, char* y, ScalarType dtype, const PoolShape& shape, bool count_include_pad, int64_t divisor_override) {
  if (dtype == ScalarType::Long) return average<int64_t>(x, y, dtype, shape, count_include_pad, divisor_override, kWindows);
  average<double>(x, y, dtype, shape, count_include_pad, divisor_override, kWindows);
}
inline void avg_pool_backward(const char* dy, char* dx, ScalarType dtype, const PoolShape& shape, bool count_include_pad, int64_t divisor_override) {
  average_backward(dy, dx, dtype, shape, count_include_pad, divisor_override, kWindows);
}
inline void adaptive_avg_pool(const char* x, char* y, ScalarType dtype, const PoolShape& shape) { average<double>(x, y, dtype, shape, true, 0, kAdaptive); }
inline void adaptive_avg_pool_backward(const char* dy, char* dx, ScalarType dtype, const PoolShape& shape) {
  average_backward(dy, dx, dtype, shape, true, 0, kAdaptive);
}

}  // namespace cresset::kernels::reference
