#include "cresset/kernels/reduce/cpu/reduce_loops.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class A> struct Plain {
  using Acc = A;
  static constexpr bool vectors = true;
  static A identity() { return 0; }
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return x; }
  template <class X> CRESSET_ALWAYS_INLINE static X combine(X a, X b) { return a + b; }
};

// The sums of x - shift and of its square. The first corrects what rounding the mean to A cost.
template <class A> struct Deviations {
  double sum = 0, squares = 0;

  template <class T> void add_run(const T* p, int64_t n, A shift) {
    using V = Vec<A>;
    constexpr int L = kLanes<A>, kAcross = 4;
    const V s = splat(shift);
    int64_t i = 0;
    while (i + kAcross * L <= n) {
      V d1[kAcross] = {}, d2[kAcross] = {};
      const int64_t end = n - i < 32 * kAcross * L ? n : i + 32 * kAcross * L;
      for (; i + kAcross * L <= end; i += kAcross * L)
        for (int u = 0; u < kAcross; u++) {
          const V d = load<A>(p + i + u * L) - s;
          d1[u] = d1[u] + d;
          d2[u] = fma(d, d, d2[u]);
        }
      sum += static_cast<double>(sum_lanes((d1[0] + d1[1]) + (d1[2] + d1[3])));
      squares += static_cast<double>(sum_lanes((d2[0] + d2[1]) + (d2[2] + d2[3])));
    }
    for (; i < n; i++) {
      const A d = read<A, T>(reinterpret_cast<const char*>(p + i)) - shift;
      sum += static_cast<double>(d);
      squares += static_cast<double>(d) * static_cast<double>(d);
    }
  }
};

Moments finish(int64_t count, double shift, double sum, double squares) {
  const double n = static_cast<double>(count);
  if (count == 0) return {0, 0, 0};
  return {n, shift + sum / n, squares - sum * sum / n};
}

// Chan, Golub, LeVeque (1979): joining the moments of two sets.
void join(char* acc, const char* other, int64_t count) {
  Moments* a = reinterpret_cast<Moments*>(acc);
  const Moments* b = reinterpret_cast<const Moments*>(other);
  for (int64_t i = 0; i < count; i++) {
    if (b[i].n == 0) continue;
    const double n = a[i].n + b[i].n, delta = b[i].mean - a[i].mean;
    a[i] = {n, a[i].mean + delta * (b[i].n / n), a[i].m2 + b[i].m2 + delta * delta * (a[i].n * b[i].n / n)};
  }
}

template <class T> struct Moment {
  using A = Compute<T>;
  using Sums = Reducer<Plain<A>, T>;

  template <class E> static Moments run(const E* p, int64_t n) {
    const A shift = n ? Reducer<Plain<A>, E>::run(p, n, 0) / static_cast<A>(n) : A(0);
    Deviations<A> d;
    d.add_run(p, n, shift);
    return finish(n, static_cast<double>(shift), d.sum, d.squares);
  }

  static Moments run_strided(const char* p, int64_t n, int64_t stride) {
    Moments total{0, 0, 0};
    A buffer[1024];
    for (int64_t i = 0; i < n; i += 1024) {
      const int64_t m = n - i < 1024 ? n - i : 1024;
      for (int64_t j = 0; j < m; j++, keep_scalar()) buffer[j] = read<A, T>(p + (i + j) * stride);
      const Moments part = run(buffer, m);
      join(reinterpret_cast<char*>(&total), reinterpret_cast<const char*>(&part), 1);
    }
    return total;
  }

  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t, double, char* acc) {
    Moments* out = reinterpret_cast<Moments*>(acc);
    for (int64_t r = 0; r < rows; r++, in += row_stride) out[r] = stride == sizeof(T) ? run(reinterpret_cast<const T*>(in), n) : run_strided(in, n, stride);
  }

  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t, double, char* acc) {
    Moments* out = reinterpret_cast<Moments*>(acc);
    alignas(64) A shift[kMaxCols], d1[kMaxCols], d2[kMaxCols], row[kMaxCols];
    double sum[kMaxCols] = {}, squares[kMaxCols] = {};
    Sums::outer(in, rows, row_stride, cols, col_stride, 0, 0, reinterpret_cast<char*>(shift));
    for (int64_t c = 0; c < cols; c++) shift[c] = rows ? shift[c] / static_cast<A>(rows) : A(0);
    for (int64_t r0 = 0; r0 < rows; r0 += 32) {
      for (int64_t c = 0; c < cols; c++) d1[c] = d2[c] = 0;
      for (int64_t r = r0; r < rows && r < r0 + 32; r++) {
        const char* p = in + r * row_stride;
        const A* x = row;
        if (std::is_same_v<T, A> && col_stride == sizeof(T)) {
          x = reinterpret_cast<const A*>(p);
        } else {
          for (int64_t c = 0; c < cols; c++, keep_scalar()) row[c] = read<A, T>(p + c * col_stride);
        }
        for (int64_t c = 0; c < cols; c++) {
          const A d = x[c] - shift[c];
          d1[c] += d;
          d2[c] += d * d;
        }
      }
      for (int64_t c = 0; c < cols; c++) {
        sum[c] += static_cast<double>(d1[c]);
        squares[c] += static_cast<double>(d2[c]);
      }
    }
    for (int64_t c = 0; c < cols; c++) out[c] = finish(rows, static_cast<double>(shift[c]), sum[c], squares[c]);
  }

  static constexpr ReduceKernel kernel{ScalarType::Undefined, sizeof(Moments), inner, outer, join};
};

}  // namespace

ReduceKernelPtr moments_kernel_for(ReduceFn fn, ScalarType t) {
  if (fn != ReduceFn::moments) return nullptr;
  switch (t) {
    case ScalarType::Half: return &Moment<Half>::kernel;
    case ScalarType::BFloat16: return &Moment<BFloat16>::kernel;
    case ScalarType::Float: return &Moment<float>::kernel;
    case ScalarType::Double: return &Moment<double>::kernel;
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
