#include "cresset/kernels/norm/cpu/norm_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> struct Rows : NormRow<T> {
  using Base = NormRow<T>;
  using Base::get;
  using Base::L;
  using typename Base::A;
  using typename Base::V;

  CRESSET_ALWAYS_INLINE static V param(const A* p, int64_t count) { return Row<A>::get(p, count, A(0)); }
  CRESSET_ALWAYS_INLINE static void add(A* p, int64_t count, V v) { Row<A>::put(p, count, param(p, count) + v); }

  static int64_t grain(int64_t cols) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(cols, 1)); }

  static void forward(const RowNorm& a) {
    const T* x = reinterpret_cast<const T*>(a.x);
    T* y = reinterpret_cast<T*>(a.y);
    const A *weight = reinterpret_cast<const A*>(a.weight), *bias = reinterpret_cast<const A*>(a.bias);
    const bool streamed = is_streamed(a.rows * a.cols, sizeof(T));
    parallel_for(0, a.rows, grain(a.cols), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const T* row = x + r * a.cols;
        const auto stats = a.rms ? typename Base::Stats{0, Base::squares(row, a.cols, A(0)) / static_cast<double>(a.cols)} : Base::stats(row, a.cols);
        const double rstd = inverse_root(stats.var, a.eps);
        set<A>(a.mean, r, stats.mean);
        set<A>(a.rstd, r, rstd);
        const V m = splat(static_cast<A>(stats.mean)), s = splat(static_cast<A>(rstd));
        Base::write(y + r * a.cols, a.cols, streamed,
                    [&](int64_t i, int64_t count) { return fma((get(row + i, count, A(0)) - m) * s, param(weight + i, count), param(bias + i, count)); });
      }
      if (streamed) stream_fence();
    });
  }

  // One row: adds to the gradients of weight and bias and writes dx.
  static void back(const T* dy, const T* x, const A* weight, T* dx, int64_t n, A mean, A rstd, bool rms, A* dweight, A* dbias) {
    const V m = splat(mean), s = splat(rstd);
    V sum{}, dot{};
    for (int64_t i = 0; i < n; i += L) {
      const V g = get(dy + i, n - i, A(0)), h = (get(x + i, n - i, A(0)) - m) * s, gw = g * param(weight + i, n - i);
      sum = sum + gw;
      dot = fma(gw, h, dot);
      add(dweight + i, n - i, g * h);
      add(dbias + i, n - i, g);
    }
    if (!dx) return;
    const A by_n = A(1) / static_cast<A>(n);
    const V mean_sum = splat(rms ? A(0) : sum_lanes(sum) * by_n), mean_dot = splat(sum_lanes(dot) * by_n);
    Base::write(dx, n, false, [&](int64_t i, int64_t count) {
      const V h = (get(x + i, count, A(0)) - m) * s;
      return (get(dy + i, count, A(0)) * param(weight + i, count) - fma(h, mean_dot, mean_sum)) * s;
    });
  }

  static void backward(const RowNormBackward& a) {
    const T *dy = reinterpret_cast<const T*>(a.dy), *x = reinterpret_cast<const T*>(a.x);
    const A* weight = reinterpret_cast<const A*>(a.weight);
    T* dx = reinterpret_cast<T*>(a.dx);
    PartialSums<A> sums(a.rows, 2 * a.cols);
    parallel_for(0, sums.chunks(), std::max<int64_t>(1, grain(a.cols) / 64), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        A* dweight = sums.sums(c);
        for (int64_t r = sums.begin(c); r < sums.end(c); r++) {
          const int64_t at = r * a.cols;
          back(dy + at, x + at, weight, dx ? dx + at : nullptr, a.cols, at_or(a.mean, r, A(0)), at_or(a.rstd, r, A(1)), a.rms, dweight, dweight + a.cols);
        }
      }
    });
    const A* total = sums.join();
    if (a.dweight) std::copy_n(total, a.cols, reinterpret_cast<A*>(a.dweight));
    if (a.dbias) std::copy_n(total + a.cols, a.cols, reinterpret_cast<A*>(a.dbias));
  }
};

template <class T> void forward(const RowNorm& a) { Rows<T>::forward(a); }
template <class T> void backward(const RowNormBackward& a) { Rows<T>::backward(a); }

}  // namespace

void row_norm(const RowNorm& a) { CRESSET_NORM_DISPATCH(forward, a) }
void row_norm_backward(const RowNormBackward& a) { CRESSET_NORM_DISPATCH(backward, a) }

}  // namespace cresset::kernels::CRESSET_ISA
