#include "cresset/kernels/pool/cpu/resize_rows.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T, class A> A load(T v) { return static_cast<A>(v); }

template <class T, class A> T store(A v) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(std::clamp(std::nearbyint(v), A(0), A(255)));
  else return static_cast<T>(v);
}

// to[i] (+)= weight * from[i]
template <bool kFirst, class T, class A> void accumulate(A* to, const T* from, A weight, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const A v = weight * load<T, A>(from[i]);
    to[i] = kFirst ? v : to[i] + v;
  }
}

template <int kTaps, class T, class A> void along_row(T* out, const A* row, const ResizeAxis<A>& x) {
  const int64_t taps = kTaps ? kTaps : x.taps;
  for (int64_t o = 0; o < x.out; o++) {
    const int64_t* index = x.index + o * taps;
    const A* weight = x.weight + o * taps;
    A sum = weight[0] * row[index[0]];
    for (int64_t k = 1; k < taps; k++) sum += weight[k] * row[index[k]];
    out[o] = store<T, A>(sum);
  }
}

template <class T, class A> void forward(T* out, const T* in, int64_t planes, const ResizeAxis<A>* axes) {
  const ResizeAxis<A>&z = axes[0], &y = axes[1], &x = axes[2];
  std::vector<A> row(static_cast<size_t>(x.in));
  for (int64_t p = 0; p < planes; p++, in += z.in * y.in * x.in)
    for (int64_t oz = 0; oz < z.out; oz++)
      for (int64_t oy = 0; oy < y.out; oy++, out += x.out) {
        bool first = true;
        for (int64_t kz = 0; kz < z.taps; kz++)
          for (int64_t ky = 0; ky < y.taps; ky++) {
            const A weight = z.weight[oz * z.taps + kz] * y.weight[oy * y.taps + ky];
            if (weight == 0 && !first) continue;
            const T* from = in + (z.index[oz * z.taps + kz] * y.in + y.index[oy * y.taps + ky]) * x.in;
            if (first) accumulate<true>(row.data(), from, weight, x.in);
            else accumulate<false>(row.data(), from, weight, x.in);
            first = false;
          }
        if (x.taps == 2) along_row<2>(out, row.data(), x);
        else if (x.taps == 4) along_row<4>(out, row.data(), x);
        else along_row<0>(out, row.data(), x);
      }
}

template <class T, class A> void backward(A* grad_in, const T* grad, int64_t planes, const ResizeAxis<A>* axes) {
  const ResizeAxis<A>&z = axes[0], &y = axes[1], &x = axes[2];
  const int64_t plane = z.in * y.in * x.in;
  std::fill_n(grad_in, planes * plane, A(0));
  std::vector<A> row(static_cast<size_t>(x.in));
  for (int64_t p = 0; p < planes; p++, grad_in += plane)
    for (int64_t oz = 0; oz < z.out; oz++)
      for (int64_t oy = 0; oy < y.out; oy++, grad += x.out) {
        std::fill(row.begin(), row.end(), A(0));
        for (int64_t o = 0; o < x.out; o++) {
          const A g = load<T, A>(grad[o]);
          for (int64_t k = 0; k < x.taps; k++) row[static_cast<size_t>(x.index[o * x.taps + k])] += x.weight[o * x.taps + k] * g;
        }
        for (int64_t kz = 0; kz < z.taps; kz++)
          for (int64_t ky = 0; ky < y.taps; ky++) {
            const A weight = z.weight[oz * z.taps + kz] * y.weight[oy * y.taps + ky];
            if (weight == 0) continue;
            A* to = grad_in + (z.index[oz * z.taps + kz] * y.in + y.index[oy * y.taps + ky]) * x.in;
            accumulate<false>(to, row.data(), weight, x.in);
          }
      }
}

}  // namespace

void resize_planes_float(ScalarType t, void* out, const void* in, int64_t planes, const ResizeAxis<float>* axes) {
  const auto run = [&](auto tag) { forward(static_cast<decltype(tag)*>(out), static_cast<const decltype(tag)*>(in), planes, axes); };
  if (t == ScalarType::Float) run(float{});
  else if (t == ScalarType::Half) run(Half{});
  else if (t == ScalarType::BFloat16) run(BFloat16{});
  else run(uint8_t{});
}

void resize_planes_double(ScalarType, void* out, const void* in, int64_t planes, const ResizeAxis<double>* axes) {
  forward(static_cast<double*>(out), static_cast<const double*>(in), planes, axes);
}

void resize_planes_backward_float(ScalarType t, void* grad_in, const void* grad, int64_t planes, const ResizeAxis<float>* axes) {
  const auto run = [&](auto tag) { backward(static_cast<float*>(grad_in), static_cast<const decltype(tag)*>(grad), planes, axes); };
  if (t == ScalarType::Float) run(float{});
  else if (t == ScalarType::Half) run(Half{});
  else run(BFloat16{});
}

void resize_planes_backward_double(ScalarType, void* grad_in, const void* grad, int64_t planes, const ResizeAxis<double>* axes) {
  backward(static_cast<double*>(grad_in), static_cast<const double*>(grad), planes, axes);
}

}  // namespace cresset::kernels::CRESSET_ISA
