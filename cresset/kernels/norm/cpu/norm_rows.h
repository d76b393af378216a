#pragma once
// Sums over contiguous stretches, and tables of partial sums over rows, that the norms share.

#include <algorithm>
#include <cmath>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/cpu/rows.h"
#include "cresset/kernels/norm/cpu/norm_kernels.h"

namespace cresset::kernels::CRESSET_ISA {

template <class T> struct NormRow : Row<T> {
  using Base = Row<T>;
  using Base::get;
  using Base::L;
  using typename Base::A;
  using typename Base::V;

  // sum f(i, count) over [0, n) in double, block by block.
  template <class F> CRESSET_ALWAYS_INLINE static double total(int64_t n, F f) {
    constexpr int64_t kBlock = 4096;
    double sum = 0;
    for (int64_t b = 0; b < n; b += kBlock)
      sum += static_cast<double>(Base::sum(std::min(kBlock, n - b), [&](int64_t i, int64_t count) { return f(b + i, count); }));
    return sum;
  }
  static double total(const T* x, int64_t n) {
    return total(n, [&](int64_t i, int64_t count) { return get(x + i, count, A(0)); });
  }
  // Lanes past the end read as the centre, so that they add nothing.
  static double squares(const T* x, int64_t n, A centre) {
    const V c = splat(centre);
    return total(n, [&](int64_t i, int64_t count) {
      const V d = get(x + i, count, centre) - c;
      return d * d;
    });
  }
  // Mean and variance over n elements. The second pass starts from a rounded mean; the difference is put right.
  struct Stats {
    double mean, var;
  };
  // By Welford's recurrence, as PyTorch has it for rows shorter than a vector: numbers evenly spaced then have their middle as the mean.
  static Stats running_stats(const T* x, int64_t n) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
      const double value = static_cast<double>(x[i]), distance = value - mean;
      mean += distance / static_cast<double>(i + 1);
      squares += distance * (value - mean);
    }
    return {mean, squares / static_cast<double>(n)};
  }
  static Stats stats(const T* x, int64_t n) {
    if constexpr (std::is_same_v<T, double>)
      if (n > 0 && n < 4) return running_stats(x, n);
    const double count = static_cast<double>(n), mean = total(x, n) / count;
    const A centre = static_cast<A>(mean);
    const double off = mean - static_cast<double>(centre);
    return {mean, std::max(squares(x, n, centre) / count - off * off, 0.0)};
  }
  // sum dy and sum dy * (x - mean).
  struct Dots {
    A sum, dot;
  };
  static Dots dots(const T* dy, const T* x, int64_t n, A mean) {
    const V m = splat(mean);
    const double sum = total(dy, n);
    const double dot = total(n, [&](int64_t i, int64_t count) { return get(dy + i, count, A(0)) * (get(x + i, count, A(0)) - m); });
    return {static_cast<A>(sum), static_cast<A>(dot)};
  }
  // y = (x - mean) * scale + shift.
  static void affine(const T* x, T* y, int64_t n, A mean, A scale, A shift, bool streamed) {
    const V m = splat(mean), a = splat(scale), b = splat(shift);
    Base::write(y, n, streamed, [&](int64_t i, int64_t count) { return fma(get(x + i, count, A(0)) - m, a, b); });
  }
  // y = (x - mean) * scale + shift, + residual where there is one, max(y, 0) where `relu` is set.
  static void affine_and(const T* x, T* y, int64_t n, A mean, A scale, A shift, const T* residual, bool relu) {
    const V m = splat(mean), a = splat(scale), b = splat(shift), zero{};
    const auto finished = [&](V v) { return relu ? (v < zero ? zero : v) : v; };
    const auto affine = [&](int64_t i, int64_t count) { return fma(get(x + i, count, A(0)) - m, a, b); };
    if (residual) Base::write(y, n, false, [&](int64_t i, int64_t count) { return finished(affine(i, count) + get(residual + i, count, A(0))); });
    else Base::write(y, n, false, [&](int64_t i, int64_t count) { return finished(affine(i, count)); });
  }
  // dx = dy where y is above 0, or a NaN; else 0.
  static void where_positive(const T* dy, const T* y, T* dx, int64_t n) {
    const V zero{};
    Base::write(dx, n, false, [&](int64_t i, int64_t count) { return get(y + i, count, A(0)) <= zero ? zero : get(dy + i, count, A(0)); });
  }
  // dx = dy * a + (x - mean) * b + c.
  static void gradient(const T* dy, const T* x, T* dx, int64_t n, A mean, A by_dy, A by_x, A shift, bool streamed) {
    const V m = splat(mean), a = splat(by_dy), b = splat(by_x), c = splat(shift);
    Base::write(dx, n, streamed, [&](int64_t i, int64_t count) { return fma(get(dy + i, count, A(0)), a, fma(get(x + i, count, A(0)) - m, b, c)); });
  }
};

inline double inverse_root(double var, double eps) { return 1 / std::sqrt(var + eps); }

template <class A> A at_or(const char* p, int64_t i, A otherwise) { return p ? reinterpret_cast<const A*>(p)[i] : otherwise; }
template <class A> void set(char* p, int64_t i, double v) {
  if (p) reinterpret_cast<A*>(p)[i] = static_cast<A>(v);
}

inline bool is_streamed(int64_t elements, size_t size) { return elements * static_cast<int64_t>(size) >= kStreamBytes; }

// Rows of partial sums that many chunks of work fill in and one tree joins: chunk boundaries depend on the shape alone.
template <class A> class PartialSums {
 public:
  PartialSums(int64_t rows, int64_t width) : rows_(rows), width_(width) {
    // At most 128 chunks of at least 64 rows.
    chunk_ = std::max<int64_t>(64, (rows + 127) / 128);
    chunks_ = (rows + chunk_ - 1) / chunk_;
    sums_.reset(new A[static_cast<size_t>(std::max<int64_t>(chunks_, 1) * width)]());
  }
  int64_t chunks() const { return chunks_; }
  int64_t begin(int64_t c) const { return c * chunk_; }
  int64_t end(int64_t c) const { return std::min(rows_, (c + 1) * chunk_); }
  A* sums(int64_t c) { return sums_.get() + c * width_; }
  // The joined sums; valid even for no rows.
  const A* join() {
    for (int64_t step = 1; step < chunks_; step *= 2)
      for (int64_t c = 0; c + step < chunks_; c += 2 * step) {
        A* a = sums(c);
        const A* b = sums(c + step);
        for (int64_t i = 0; i < width_; i++) a[i] += b[i];
      }
    return sums_.get();
  }

 private:
  int64_t rows_, width_, chunk_, chunks_;
  std::unique_ptr<A[]> sums_;
};

#define CRESSET_NORM_DISPATCH(f, a)                                                     \
  switch ((a).t) {                                                                      \
    case ScalarType::Half: return f<Half>(a);                                           \
    case ScalarType::BFloat16: return f<BFloat16>(a);                                   \
    case ScalarType::Float: return f<float>(a);                                         \
    case ScalarType::Double: return f<double>(a);                                       \
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "norm: not implemented for ", (a).t); \
  }

}  // namespace cresset::kernels::CRESSET_ISA
