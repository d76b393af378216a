#include "cresset/kernels/reduce/cpu/reduce_loops.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// The search for the extreme: blocks are reduced at full speed, and only a block that improves on the best is remembered; the position
// inside it is looked up once at the end.
template <class T, bool is_max> struct ArgReducer {
  using A = Compute<T>;
  static constexpr bool floating = std::is_floating_point_v<A>;
  static constexpr int64_t kBlock = 4096;

  CRESSET_ALWAYS_INLINE static bool is_nan(A v) {
    if constexpr (floating) return v != v;
    else return false;
  }
  // Whether a later v replaces best.
  CRESSET_ALWAYS_INLINE static bool better(A v, A best) {
    const bool wins = is_max ? v > best : v < best;
    if constexpr (floating) return wins || (v != v && best == best);
    else return wins;
  }

  template <class E> static A extreme(const E* p, int64_t n) {
    using V = Vec<A>;
    constexpr int L = kLanes<A>, kAcross = 8;
    const auto pick = [](auto a, auto b) { return is_max ? max_second(a, b) : min_second(a, b); };
    A best = read<A, E>(reinterpret_cast<const char*>(p));
    bool nan = is_nan(best);
    int64_t i = 0;
    if (n >= kAcross * L) {
      V a[kAcross];
      for (int u = 0; u < kAcross; u++) a[u] = load<A>(p + u * L);
      auto unordered = a[0] != a[0];
      for (int u = 1; u < kAcross; u++) unordered = unordered | (a[u] != a[u]);
      for (i = kAcross * L; i + kAcross * L <= n; i += kAcross * L)
#pragma GCC unroll 8
        for (int u = 0; u < kAcross; u++) {
          const V x = load<A>(p + i + u * L);
          if constexpr (floating) unordered = unordered | (x != x);
          a[u] = pick(x, a[u]);
        }
      for (int half = kAcross / 2; half; half /= 2)
        for (int u = 0; u < half; u++) a[u] = pick(a[u], a[u + half]);
      if constexpr (floating) nan = nan || any_lane(unordered);
      best = fold_lanes(a[0], [](auto x, auto y) { return is_max ? max_second(x, y) : min_second(x, y); });
    }
    for (; i < n; i++) {
      const A v = read<A, E>(reinterpret_cast<const char*>(p + i));
      nan = nan || is_nan(v);
      if (is_max ? v > best : v < best) best = v;
    }
    if constexpr (floating)
      if (nan) return std::numeric_limits<A>::quiet_NaN();
    return best;
  }

  static int64_t find(const T* p, int64_t n, A value) {
    constexpr int L = kLanes<A>;
    const bool nan = is_nan(value);
    const Vec<A> wanted = splat(value);
    const auto hits = [&](int64_t j) {
      const Vec<A> x = load<A>(p + j);
      return nan ? x != x : x == wanted;
    };
    int64_t i = 0;
    while (i + 4 * L <= n && !any_lane((hits(i) | hits(i + L)) | (hits(i + 2 * L) | hits(i + 3 * L)))) i += 4 * L;
    for (; i < n; i++) {
      const A v = read<A, T>(reinterpret_cast<const char*>(p + i));
      if (v == value || (nan && is_nan(v))) return i;
    }
    return 0;
  }

  static Best make(A value, int64_t index) {
    Best b{};
    std::memcpy(b.value, &value, sizeof value);
    b.index = index;
    return b;
  }
  static A value_of(const Best& b) {
    A v;
    std::memcpy(&v, b.value, sizeof v);
    return v;
  }

  static Best run(const T* p, int64_t n, int64_t base) {
    if (n == 0) return make(A{}, -1);
    A best = extreme(p, n < kBlock ? n : kBlock);
    int64_t where = 0;
    for (int64_t i = kBlock; i < n; i += kBlock) {
      const A v = extreme(p + i, n - i < kBlock ? n - i : kBlock);
      if (better(v, best)) {
        best = v;
        where = i;
      }
    }
    const int64_t m = n - where < kBlock ? n - where : kBlock;
    return make(best, base + where + find(p + where, m, best));
  }

  static Best run_strided(const char* p, int64_t n, int64_t stride, int64_t base) {
    if (n == 0) return make(A{}, -1);
    A best = read<A, T>(p);
    int64_t index = 0;
    for (int64_t i = 1; i < n; i++) {
      const A v = read<A, T>(p + i * stride);
      if (better(v, best)) {
        best = v;
        index = i;
      }
    }
    return make(best, base + index);
  }

  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t base, double, char* acc) {
    Best* out = reinterpret_cast<Best*>(acc);
    for (int64_t r = 0; r < rows; r++, in += row_stride)
      out[r] = stride == sizeof(T) ? run(reinterpret_cast<const T*>(in), n, base) : run_strided(in, n, stride, base);
  }

  // Indices as wide as the values, so that the select below vectorises; rows <= kMaxRows fits where a type has 16 bits or more.
  using Index = std::conditional_t<sizeof(A) == 8, int64_t, std::conditional_t<sizeof(A) == 4, int32_t, int16_t>>;

  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t base, double, char* acc) {
    Best* out = reinterpret_cast<Best*>(acc);
    alignas(64) A best[kMaxCols], row[kMaxCols];
    alignas(64) Index index[kMaxCols];
    for (int64_t r = 0; r < rows; r++) {
      const char* p = in + r * row_stride;
      const A* x = row;
      if (std::is_same_v<T, A> && col_stride == sizeof(T)) {
        x = reinterpret_cast<const A*>(p);
      } else {
        for (int64_t c = 0; c < cols; c++, keep_scalar()) row[c] = read<A, T>(p + c * col_stride);
      }
      if (r == 0) {
        for (int64_t c = 0; c < cols; c++) {
          best[c] = x[c];
          index[c] = 0;
        }
        continue;
      }
      const Index now = static_cast<Index>(r);
      for (int64_t c = 0; c < cols; c++) {
        const A v = x[c], b = best[c];
        bool take = is_max ? v > b : v < b;
        if constexpr (floating) take = take | ((v != v) & (b == b));
        best[c] = take ? v : b;
        index[c] = take ? now : index[c];
      }
    }
    for (int64_t c = 0; c < cols; c++) out[c] = rows ? make(best[c], base + index[c]) : make(A{}, -1);
  }

  static void join(char* acc, const char* other, int64_t n) {
    Best* a = reinterpret_cast<Best*>(acc);
    const Best* b = reinterpret_cast<const Best*>(other);
    for (int64_t i = 0; i < n; i++)
      if (b[i].index >= 0 && (a[i].index < 0 || better(value_of(b[i]), value_of(a[i])))) a[i] = b[i];
  }

  static constexpr ReduceKernel kernel{ScalarType::Undefined, sizeof(Best), inner, outer, join};
};

template <class T> ReduceKernelPtr kernel_for(ReduceFn fn) {
  if constexpr (is_complex<T>::value) {
    return nullptr;
  } else if constexpr (left_to_baseline<T>) {
    return isa_baseline::arg_kernel_for(fn, dtype_of<T>);
  } else {
    using E = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    if (fn == ReduceFn::arg_max) return &ArgReducer<E, true>::kernel;
    if (fn == ReduceFn::arg_min) return &ArgReducer<E, false>::kernel;
    return nullptr;
  }
}

}  // namespace

ReduceKernelPtr arg_kernel_for(ReduceFn fn, ScalarType t) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return kernel_for<T>(fn);
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
