// Norms of (n, channels, spatial) arrays: group norm, and batch norm with contiguous planes.

#include "cresset/kernels/norm/cpu/norm_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> struct Groups : NormRow<T> {
  using Base = NormRow<T>;
  using typename Base::A;

  static int64_t grain(int64_t size) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(size, 1)); }

  static void forward(const GroupNorm& a) {
    const T* x = reinterpret_cast<const T*>(a.x);
    T* y = reinterpret_cast<T*>(a.y);
    const int64_t per = a.channels / a.groups, size = per * a.spatial;
    const bool streamed = is_streamed(a.n * a.channels * a.spatial, sizeof(T));
    parallel_for(0, a.n * a.groups, grain(size), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const T* row = x + r * size;
        const auto stats = Base::stats(row, size);
        const double rstd = inverse_root(stats.var, a.eps);
        set<A>(a.mean, r, stats.mean);
        set<A>(a.rstd, r, rstd);
        for (int64_t k = 0; k < per; k++) {
          const int64_t c = r % a.groups * per + k;
          Base::affine(row + k * a.spatial, y + r * size + k * a.spatial, a.spatial, static_cast<A>(stats.mean),
                       static_cast<A>(rstd * static_cast<double>(at_or<A>(a.weight, c, A(1)))), at_or<A>(a.bias, c, A(0)), streamed);
        }
      }
      if (streamed) stream_fence();
    });
  }

  static void backward(const GroupNormBackward& a) {
    const T *dy = reinterpret_cast<const T*>(a.dy), *x = reinterpret_cast<const T*>(a.x);
    T* dx = reinterpret_cast<T*>(a.dx);
    const int64_t per = a.channels / a.groups, size = per * a.spatial;
    const std::unique_ptr<A[]> sums(new A[static_cast<size_t>(std::max<int64_t>(2 * a.n * a.channels, 1))]);
    A *sum = sums.get(), *dot = sum + a.n * a.channels;  // of dy and of dy * (x - mean) * rstd, a plane each
    parallel_for(0, a.n * a.groups, grain(size), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const A mean = at_or<A>(a.mean, r, A(0)), rstd = at_or<A>(a.rstd, r, A(1));
        double all = 0, all_dot = 0;
        for (int64_t k = 0; k < per; k++) {
          const int64_t plane = r * per + k;
          const auto d = Base::dots(dy + plane * a.spatial, x + plane * a.spatial, a.spatial, mean);
          const double weight = static_cast<double>(at_or<A>(a.weight, plane % a.channels, A(1)));
          sum[plane] = d.sum;
          dot[plane] = d.dot * rstd;
          all += weight * static_cast<double>(d.sum);
          all_dot += weight * static_cast<double>(d.dot * rstd);
        }
        if (!dx) continue;
        const double scale = static_cast<double>(rstd), count = static_cast<double>(size);
        for (int64_t k = 0; k < per; k++) {
          const int64_t plane = r * per + k, at = plane * a.spatial;
          Base::gradient(dy + at, x + at, dx + at, a.spatial, mean, rstd * at_or<A>(a.weight, plane % a.channels, A(1)),
                         static_cast<A>(-scale * scale * all_dot / count), static_cast<A>(-scale * all / count), false);
        }
      }
    });
    for (int64_t c = 0; c < a.channels; c++) {
      double weight = 0, bias = 0;
      for (int64_t i = 0; i < a.n; i++) {
        weight += static_cast<double>(dot[i * a.channels + c]);
        bias += static_cast<double>(sum[i * a.channels + c]);
      }
      set<A>(a.dweight, c, weight);
      set<A>(a.dbias, c, bias);
    }
  }
};

// Batch norm where every channel has planes of `spatial` contiguous elements, one per sample.
template <class T> struct Planes : NormRow<T> {
  using Base = NormRow<T>;
  using typename Base::A;

  template <class Args> static int64_t grain(const Args& a) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(a.n * a.spatial, 1)); }

  static void forward(const BatchNorm& a) {
    const T* x = reinterpret_cast<const T*>(a.x);
    T* y = reinterpret_cast<T*>(a.y);
    const T* residual = reinterpret_cast<const T*>(a.residual);
    const double size = static_cast<double>(a.n * a.spatial);
    parallel_for(0, a.channels, grain(a), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        const auto at = [&](int64_t i) { return (i * a.channels + c) * a.spatial; };
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < a.n; i++) sum += Base::total(x + at(i), a.spatial);
        const double mean = sum / size;
        const A centre = static_cast<A>(mean);
        for (int64_t i = 0; i < a.n; i++) squares += Base::squares(x + at(i), a.spatial, centre);
        const double off = mean - static_cast<double>(centre), var = std::max(squares / size - off * off, 0.0), rstd = inverse_root(var, a.eps);
        set<A>(a.mean, c, mean);
        set<A>(a.var, c, var);
        set<A>(a.rstd, c, rstd);
        if (!y) continue;
        const A scale = static_cast<A>(rstd) * at_or<A>(a.weight, c, A(1)), shift = at_or<A>(a.bias, c, A(0));
        for (int64_t i = 0; i < a.n; i++) {
          if (residual || a.relu) Base::affine_and(x + at(i), y + at(i), a.spatial, centre, scale, shift, residual ? residual + at(i) : nullptr, a.relu);
          else Base::affine(x + at(i), y + at(i), a.spatial, centre, scale, shift, false);
        }
      }
    });
  }

  static void apply(const BatchNormApply& a) {
    const T* x = reinterpret_cast<const T*>(a.x);
    T* y = reinterpret_cast<T*>(a.y);
    const T* residual = reinterpret_cast<const T*>(a.residual);
    const bool more = residual || a.relu, streamed = !more && x != y && is_streamed(a.n * a.channels * a.spatial, sizeof(T));
    parallel_for(0, a.n * a.channels, std::max<int64_t>(1, 32768 / std::max<int64_t>(a.spatial, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        const int64_t c = p % a.channels, at = p * a.spatial;
        const A mean = at_or<A>(a.mean, c, A(0)), scale = at_or<A>(a.rstd, c, A(1)) * at_or<A>(a.weight, c, A(1)), shift = at_or<A>(a.bias, c, A(0));
        if (more) Base::affine_and(x + at, y + at, a.spatial, mean, scale, shift, residual ? residual + at : nullptr, a.relu);
        else Base::affine(x + at, y + at, a.spatial, mean, scale, shift, streamed);
      }
      if (streamed) stream_fence();
    });
  }

  static void backward(const BatchNormBackward& a) {
    const T *x = reinterpret_cast<const T*>(a.x), *y = reinterpret_cast<const T*>(a.y);
    T* dx = reinterpret_cast<T*>(a.dx);
    // The part of dy that counts lies in dx until the gradient takes its place.
    const T* dy = y ? dx : reinterpret_cast<const T*>(a.dy);
    const double size = static_cast<double>(a.n * a.spatial);
    parallel_for(0, a.channels, grain(a), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        const auto at = [&](int64_t i) { return (i * a.channels + c) * a.spatial; };
        const A mean = at_or<A>(a.mean, c, A(0));
        const double rstd = static_cast<double>(at_or<A>(a.rstd, c, A(1)));
        double sum = 0, dot = 0;
        for (int64_t i = 0; i < a.n; i++) {
          if (y) Base::where_positive(reinterpret_cast<const T*>(a.dy) + at(i), y + at(i), dx + at(i), a.spatial);
          const auto d = Base::dots(dy + at(i), x + at(i), a.spatial, mean);
          sum += static_cast<double>(d.sum);
          dot += static_cast<double>(d.dot);
        }
        set<A>(a.dweight, c, dot * rstd);
        set<A>(a.dbias, c, sum);
        if (!dx) continue;
        const double scale = rstd * static_cast<double>(at_or<A>(a.weight, c, A(1)));
        const A by_x = static_cast<A>(a.train ? -scale * rstd * rstd * dot / size : 0), shift = static_cast<A>(a.train ? -scale * sum / size : 0);
        for (int64_t i = 0; i < a.n; i++) Base::gradient(dy + at(i), x + at(i), dx + at(i), a.spatial, mean, static_cast<A>(scale), by_x, shift, false);
      }
    });
  }
};

template <class T> void group_forward(const GroupNorm& a) { Groups<T>::forward(a); }
template <class T> void group_backward(const GroupNormBackward& a) { Groups<T>::backward(a); }
template <class T> void forward(const BatchNorm& a) { Planes<T>::forward(a); }
template <class T> void apply(const BatchNormApply& a) { Planes<T>::apply(a); }
template <class T> void backward(const BatchNormBackward& a) { Planes<T>::backward(a); }

}  // namespace

void group_norm_kernel(const GroupNorm& a) { CRESSET_NORM_DISPATCH(group_forward, a) }
void group_norm_backward_kernel(const GroupNormBackward& a) { CRESSET_NORM_DISPATCH(group_backward, a) }
void batch_norm_kernel(const BatchNorm& a) { CRESSET_NORM_DISPATCH(forward, a) }
void batch_norm_apply(const BatchNormApply& a) { CRESSET_NORM_DISPATCH(apply, a) }
void batch_norm_backward_kernel(const BatchNormBackward& a) { CRESSET_NORM_DISPATCH(backward, a) }

}  // namespace cresset::kernels::CRESSET_ISA
