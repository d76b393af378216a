// Batch norm of an (n, channels) array: every statistic is a column, so all loops run along rows.

#include <vector>

#include "cresset/kernels/norm/cpu/norm_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> struct Columns : NormRow<T> {
  using Base = NormRow<T>;
  using Base::get;
  using Base::L;
  using typename Base::A;
  using typename Base::V;

  CRESSET_ALWAYS_INLINE static V of(const A* p, int64_t count) { return Row<A>::get(p, count, A(0)); }
  CRESSET_ALWAYS_INLINE static void add(A* p, int64_t count, V v) { Row<A>::put(p, count, of(p, count) + v); }

  // f(row, sums) for every row, in the chunks of `sums`.
  template <class F> static void each_row(PartialSums<A>& sums, int64_t channels, F f) {
    parallel_for(0, sums.chunks(), std::max<int64_t>(1, 256 / std::max<int64_t>(channels, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++)
        for (int64_t r = sums.begin(c); r < sums.end(c); r++) f(r, sums.sums(c));
    });
  }

  // y = (x - mean) * scale + shift, row by row; all but x are arrays over the channels.
  static void affine(const T* x, T* y, int64_t n, int64_t channels, const A* mean, const A* scale, const A* shift) {
    parallel_for(0, n, std::max<int64_t>(1, 32768 / std::max<int64_t>(channels, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const T* row = x + r * channels;
        Base::write(y + r * channels, channels, false,
                    [&](int64_t i, int64_t count) { return fma(get(row + i, count, A(0)) - of(mean + i, count), of(scale + i, count), of(shift + i, count)); });
      }
    });
  }

  static void forward(const BatchNorm& a) {
    const T* x = reinterpret_cast<const T*>(a.x);
    const auto size = static_cast<size_t>(a.channels);
    const double count = static_cast<double>(a.n);
    std::vector<A> mean(size), scale(size), shift(size);
    PartialSums<A> sums(a.n, a.channels);
    each_row(sums, a.channels, [&](int64_t r, A* s) {
      for (int64_t i = 0; i < a.channels; i += L) add(s + i, a.channels - i, get(x + r * a.channels + i, a.channels - i, A(0)));
    });
    const A* total = sums.join();
    for (int64_t c = 0; c < a.channels; c++) mean[static_cast<size_t>(c)] = total[c] / static_cast<A>(a.n);
    // Sums of differences and of their squares: the first put the rounded mean right.
    PartialSums<A> moments(a.n, 2 * a.channels);
    each_row(moments, a.channels, [&](int64_t r, A* s) {
      for (int64_t i = 0; i < a.channels; i += L) {
        const int64_t left = a.channels - i;
        const V d = get(x + r * a.channels + i, left, A(0)) - of(mean.data() + i, left);
        add(s + i, left, d);
        add(s + a.channels + i, left, d * d);
      }
    });
    const A* joined = moments.join();
    for (int64_t c = 0; c < a.channels; c++) {
      const double off = static_cast<double>(joined[c]) / count, exact = static_cast<double>(mean[static_cast<size_t>(c)]) + off;
      const double var = std::max(static_cast<double>(joined[a.channels + c]) / count - off * off, 0.0), rstd = inverse_root(var, a.eps);
      set<A>(a.mean, c, exact);
      set<A>(a.var, c, var);
      set<A>(a.rstd, c, rstd);
      mean[static_cast<size_t>(c)] = static_cast<A>(exact);
      scale[static_cast<size_t>(c)] = static_cast<A>(rstd * static_cast<double>(at_or<A>(a.weight, c, A(1))));
      shift[static_cast<size_t>(c)] = at_or<A>(a.bias, c, A(0));
    }
    if (a.y) affine(x, reinterpret_cast<T*>(a.y), a.n, a.channels, mean.data(), scale.data(), shift.data());
  }

  static void apply(const BatchNormApply& a) {
    const auto size = static_cast<size_t>(a.channels);
    std::vector<A> mean(size), scale(size), shift(size);
    for (int64_t c = 0; c < a.channels; c++) {
      mean[static_cast<size_t>(c)] = at_or<A>(a.mean, c, A(0));
      scale[static_cast<size_t>(c)] = at_or<A>(a.rstd, c, A(1)) * at_or<A>(a.weight, c, A(1));
      shift[static_cast<size_t>(c)] = at_or<A>(a.bias, c, A(0));
    }
    affine(reinterpret_cast<const T*>(a.x), reinterpret_cast<T*>(a.y), a.n, a.channels, mean.data(), scale.data(), shift.data());
  }

  static void backward(const BatchNormBackward& a) {
    const T *dy = reinterpret_cast<const T*>(a.dy), *x = reinterpret_cast<const T*>(a.x);
    T* dx = reinterpret_cast<T*>(a.dx);
    const A* mean = reinterpret_cast<const A*>(a.mean);
    PartialSums<A> sums(a.n, 2 * a.channels);
    each_row(sums, a.channels, [&](int64_t r, A* s) {
      for (int64_t i = 0; i < a.channels; i += L) {
        const int64_t left = a.channels - i, at = r * a.channels + i;
        const V g = get(dy + at, left, A(0));
        add(s + i, left, g);
        add(s + a.channels + i, left, g * (get(x + at, left, A(0)) - of(mean + i, left)));
      }
    });
    const A *sum = sums.join(), *dot = sum + a.channels;
    const auto size = static_cast<size_t>(a.channels);
    const double count = static_cast<double>(a.n);
    std::vector<A> scale(size), by_x(size), shift(size);
    for (int64_t c = 0; c < a.channels; c++) {
      const double rstd = static_cast<double>(at_or<A>(a.rstd, c, A(1))), s = rstd * static_cast<double>(at_or<A>(a.weight, c, A(1)));
      set<A>(a.dweight, c, static_cast<double>(dot[c]) * rstd);
      set<A>(a.dbias, c, static_cast<double>(sum[c]));
      scale[static_cast<size_t>(c)] = static_cast<A>(s);
      by_x[static_cast<size_t>(c)] = static_cast<A>(a.train ? -s * rstd * rstd * static_cast<double>(dot[c]) / count : 0);
      shift[static_cast<size_t>(c)] = static_cast<A>(a.train ? -s * static_cast<double>(sum[c]) / count : 0);
    }
    if (!dx) return;
    parallel_for(0, a.n, std::max<int64_t>(1, 32768 / std::max<int64_t>(a.channels, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const int64_t at = r * a.channels;
        Base::write(dx + at, a.channels, false, [&](int64_t i, int64_t n) {
          const V d = get(x + at + i, n, A(0)) - of(mean + i, n);
          return fma(get(dy + at + i, n, A(0)), of(scale.data() + i, n), fma(d, of(by_x.data() + i, n), of(shift.data() + i, n)));
        });
      }
    });
  }
};

template <class T> void forward(const BatchNorm& a) { Columns<T>::forward(a); }
template <class T> void apply(const BatchNormApply& a) { Columns<T>::apply(a); }
template <class T> void backward(const BatchNormBackward& a) { Columns<T>::backward(a); }

}  // namespace

void batch_norm_columns(const BatchNorm& a) { CRESSET_NORM_DISPATCH(forward, a) }
void batch_norm_apply_columns(const BatchNormApply& a) { CRESSET_NORM_DISPATCH(apply, a) }
void batch_norm_backward_columns(const BatchNormBackward& a) { CRESSET_NORM_DISPATCH(backward, a) }

}  // namespace cresset::kernels::CRESSET_ISA
