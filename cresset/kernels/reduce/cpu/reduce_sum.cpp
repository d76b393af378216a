#include "cresset/kernels/reduce/cpu/reduce_loops.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class A, bool skip_nan> struct Sum {
  using Acc = A;
  static constexpr bool vectors = !is_complex<A>::value;
  static A identity() { return A(0); }
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) {
    if constexpr (!skip_nan) return x;
    else if constexpr (is_complex<X>::value) return x.real() == x.real() && x.imag() == x.imag() ? x : X(0);
    else return x == x ? x : X{};
  }
  template <class X> CRESSET_ALWAYS_INLINE static X combine(X a, X b) { return a + b; }
};

template <class A> struct Prod {
  using Acc = A;
  static constexpr bool vectors = !is_complex<A>::value;
  static A identity() { return A(1); }
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return x; }
  template <class X> CRESSET_ALWAYS_INLINE static X combine(X a, X b) { return a * b; }
};

// Integers overflow silently: they are added and multiplied as unsigned.
template <class T> struct SumAcc { using type = uint64_t; };
template <> struct SumAcc<Half> { using type = float; };
template <> struct SumAcc<BFloat16> { using type = float; };
template <> struct SumAcc<float> { using type = float; };
template <> struct SumAcc<double> { using type = double; };
template <class V> struct SumAcc<complex<V>> { using type = complex<V>; };

// Sums of up to 32,768 numbers in PyTorch's order, so that they have its bits: four sums side by side, of rows of 32 bytes or of single numbers, which
// begin anew after every 16 and 256 steps.
template <class A> struct OrderedSum : Reducer<Sum<A, false>, A> {
  using Base = Reducer<Sum<A, false>, A>;
  static constexpr int64_t kSize = sizeof(A), kWidth = 32 / kSize, kLongest = 32768, kStep = 16;
  using Lane = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;
  typedef A Row __attribute__((vector_size(32)));
  typedef Lane Index __attribute__((vector_size(32)));

  template <class V> CRESSET_ALWAYS_INLINE static void add(V& sum, const char* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    sum += v;
  }
  // Values `stride` bytes apart are added to one sum; the four sums start `part` bytes apart. The rest beyond a level's blocks comes first.
  template <int level, class V> CRESSET_ALWAYS_INLINE static void cascade(const char* p, int64_t steps, int64_t stride, int64_t part, V (&sums)[4]) {
    if constexpr (level == 0) {
      V a = {}, b = {}, c = {}, d = {};
      for (int64_t i = 0; i < steps; i++, p += stride) add(a, p), add(b, p + part), add(c, p + 2 * part), add(d, p + 3 * part);
      sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
    } else {
      constexpr int64_t block = level == 1 ? kStep : kStep * kStep;
      V blocks[4] = {}, next[4];
      for (; steps >= block; steps -= block, p += block * stride) {
        cascade<level - 1>(p, block, stride, part, next);
        for (int u = 0; u < 4; u++) blocks[u] += next[u];
      }
      cascade<level - 1>(p, steps, stride, part, sums);
      for (int u = 0; u < 4; u++) sums[u] += blocks[u];
    }
  }
  template <class V> static void long_cascade(const char* p, int64_t steps, int64_t stride, int64_t part, V (&sums)[4]) {
    if (steps <= kStep * kStep) cascade<1>(p, steps, stride, part, sums);
    else cascade<2>(p, steps, stride, part, sums);
  }
  template <class V> CRESSET_ALWAYS_INLINE static void any_cascade(const char* p, int64_t steps, int64_t stride, int64_t part, V (&sums)[4]) {
    if (steps <= kStep) cascade<0>(p, steps, stride, part, sums);
    else long_cascade(p, steps, stride, part, sums);
  }
  // The sum of n values `stride` bytes apart in four parts, of which the first takes what is left over.
  template <class V> CRESSET_ALWAYS_INLINE static void in_parts(const char* p, int64_t n, int64_t stride, V& sum) {
    if (n < 4) {
      V few = {};
      for (int64_t i = 0; i < n; i++) add(few, p + i * stride);
      sum = few;
      return;
    }
    V sums[4];
    any_cascade(p, n / 4, 4 * stride, stride, sums);
    for (int64_t i = n / 4 * 4; i < n; i++) add(sums[0], p + i * stride);
    sum = ((sums[0] + sums[1]) + sums[2]) + sums[3];
  }
  // The numbers beyond the last whole row come first, then the sums of the row one after the other.
  static A whole(const char* p, int64_t n) {
    A total = 0;
    if (n < kWidth) return in_parts(p, n, kSize, total), total;
    Row sums;
    in_parts(p, n / kWidth, sizeof(Row), sums);
    for (int64_t i = n / kWidth * kWidth; i < n; i++) add(total, p + i * kSize);
    for (int64_t c = 0; c < kWidth; c++) total += sums[c];
    return total;
  }

  // Exchanges the blocks of `size` lanes beside the diagonal of a square: with sizes 1, 2, 4 ... it is transposed.
  template <int size, int... i> CRESSET_ALWAYS_INLINE static void exchange(Row* v, std::integer_sequence<int, i...> lanes) {
    constexpr int width = kWidth;
    if constexpr (size < width) {
#pragma GCC unroll 8
      for (int r = 0; r < width; r++)
        if (!(r & size)) {
          const Row a = v[r], b = v[r + size];
#if defined(__clang__)
          v[r] = __builtin_shufflevector(a, b, (i & size ? width + i - size : i)...);
          v[r + size] = __builtin_shufflevector(a, b, (i & size ? width + i : i + size)...);
#else
          v[r] = __builtin_shuffle(a, b, Index{(i & size ? width + i - size : i)...});
          v[r + size] = __builtin_shuffle(a, b, Index{(i & size ? width + i : i + size)...});
#endif
        }
      exchange<2 * size>(v, lanes);
    }
  }
  // As many rows as a row has lanes, n >= kWidth: their last sums are taken side by side.
  static void square(const char* p, int64_t row_stride, int64_t n, A* out) {
    Row lanes[kWidth], total = {};
    if (const int64_t left = n % kWidth) {
      for (int64_t r = 0; r < kWidth; r++) std::memcpy(&lanes[r], p + r * row_stride + (n - kWidth) * kSize, sizeof(Row));
      exchange<1>(lanes, std::make_integer_sequence<int, kWidth>{});
      for (int64_t c = kWidth - left; c < kWidth; c++) total += lanes[c];
    }
    for (int64_t r = 0; r < kWidth; r++) in_parts(p + r * row_stride, n / kWidth, sizeof(Row), lanes[r]);
    exchange<1>(lanes, std::make_integer_sequence<int, kWidth>{});
    for (const Row& lane : lanes) total += lane;
    std::memcpy(out, &total, sizeof total);
  }
  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t base, double param, char* acc) {
    if (n > kLongest) return Base::inner(in, rows, row_stride, n, stride, base, param, acc);
    A* out = reinterpret_cast<A*>(acc);
    if (stride != kSize) {
      for (int64_t r = 0; r < rows; r++) in_parts(in + r * row_stride, n, stride, out[r]);
      return;
    }
    int64_t r = 0;
    if (n >= kWidth)
      for (; r + kWidth <= rows; r += kWidth) square(in + r * row_stride, row_stride, n, out + r);
    for (; r < rows; r++) out[r] = whole(in + r * row_stride, n);
  }
  template <class V> static void four(const char* p, int64_t rows, int64_t row_stride, int64_t part, A* out) {
    V sums[4];
    any_cascade(p, rows, row_stride, part, sums);
    std::memcpy(out, sums, sizeof sums);
  }
  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t base, double param, char* acc) {
    if (row_stride > 0 && (row_stride < col_stride || col_stride == 0 || cols == 1) && rows > 4)
      return inner(in, cols, col_stride, rows, row_stride, base, param, acc);
    const bool dense = col_stride == kSize, narrow = dense && cols < kWidth && rows > 4 * kStep;  // narrow: rows side by side are faster
    if (narrow) return Base::outer(in, rows, row_stride, cols, col_stride, base, param, acc);
    A* out = reinterpret_cast<A*>(acc);
    int64_t c = 0;
    if (dense && cols >= kWidth) {
      for (; c + 4 * kWidth <= cols; c += 4 * kWidth) four<Row>(in + c * kSize, rows, row_stride, sizeof(Row), out + c);
      for (; c + kWidth <= cols; c += kWidth) {
        Row sum;
        in_parts(in + c * kSize, rows, row_stride, sum);
        std::memcpy(out + c, &sum, sizeof sum);
      }
    } else {
      for (; c + 4 <= cols; c += 4) four<A>(in + c * col_stride, rows, row_stride, col_stride, out + c);
    }
    for (; c < cols; c++) in_parts(in + c * col_stride, rows, row_stride, out[c]);
  }
  static constexpr ReduceKernel kernel{dtype_of<A>, sizeof(A), inner, outer, Base::join, kLongest};
};

// Complex sums of contiguous data are sums over the real and the imaginary lanes.
template <class V> struct ComplexSum : Reducer<Sum<complex<V>, false>, complex<V>> {
  using Base = Reducer<Sum<complex<V>, false>, complex<V>>;
  using Real = Reducer<Sum<V, false>, V>;

  static void outer(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t base, double param, char* acc) {
    if (col_stride != 2 * sizeof(V)) return Base::outer(in, rows, row_stride, cols, col_stride, base, param, acc);
    Real::outer(in, rows, row_stride, 2 * cols, sizeof(V), base, param, acc);
  }
  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t base, double param, char* acc) {
    if (stride != 2 * sizeof(V)) return Base::inner(in, rows, row_stride, n, stride, base, param, acc);
    for (int64_t r = 0; r < rows; r++) Real::outer(in + r * row_stride, n, 2 * sizeof(V), 2, sizeof(V), 0, param, acc + r * 2 * sizeof(V));
  }
  static constexpr ReduceKernel kernel{dtype_of<complex<V>>, 2 * sizeof(V), inner, outer, Base::join};
};

// Bytes are summed in pairs, in 16-bit fields of 64-bit lanes; signed ones are shifted by 128 first.
template <class T> struct ByteSum : Reducer<Sum<uint64_t, false>, T> {
  using Base = Reducer<Sum<uint64_t, false>, T>;
  static constexpr bool is_signed = std::is_signed_v<T>;

  static uint64_t run(const char* p, int64_t n) {
    using V = Vec<uint64_t>;
    constexpr int64_t kSteps = 128;  // of at most 2 * 255 each in a field
    const V low = splat(uint64_t{0x00ff00ff00ff00ff}), flip = splat(uint64_t{is_signed ? 0x8080808080808080 : 0});
    uint64_t total = 0;
    int64_t i = 0;
    while (i + kVectorBytes <= n) {
      const int64_t end = n - i < kSteps * kVectorBytes ? n : i + kSteps * kVectorBytes;
      V fields = {};
      for (; i + kVectorBytes <= end; i += kVectorBytes) {
        const V v = load_raw<V>(p + i) ^ flip;
        fields = fields + (v & low) + ((v >> 8) & low);
      }
      const V wide = splat(uint64_t{0x0000ffff0000ffff}), word = splat(uint64_t{0xffffffff});
      const V sums = (fields & wide) + ((fields >> 16) & wide);
      total += sum_lanes((sums & word) + (sums >> 32));
    }
    if (is_signed) total -= 128 * static_cast<uint64_t>(i);
    for (; i < n; i++) total += read<uint64_t, T>(p + i);
    return total;
  }
  static void inner(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t base, double param, char* acc) {
    if (stride != 1) return Base::inner(in, rows, row_stride, n, stride, base, param, acc);
    for (int64_t r = 0; r < rows; r++) reinterpret_cast<uint64_t*>(acc)[r] = run(in + r * row_stride, n);
  }
  static constexpr ReduceKernel kernel{ScalarType::UInt64, 8, inner, Base::outer, Base::join};
};

template <class T> ReduceKernelPtr kernel_for(ReduceFn fn) {
  using A = typename SumAcc<T>::type;
  constexpr bool integral = std::is_same_v<A, uint64_t>;
  switch (fn) {
    case ReduceFn::nansum:
      if constexpr (!integral) return &Reducer<Sum<A, true>, T>::kernel;
      [[fallthrough]];
    case ReduceFn::sum:
      if constexpr (left_to_baseline<T>) return isa_baseline::sum_kernel_for(fn, dtype_of<T>);
      else if constexpr (is_complex<T>::value) return &ComplexSum<typename T::value_type>::kernel;
      else if constexpr (sizeof(T) == 1) return &ByteSum<T>::kernel;
      else if constexpr (std::is_floating_point_v<T>) return &OrderedSum<T>::kernel;
      else return &Reducer<Sum<A, false>, T>::kernel;
    case ReduceFn::prod:
      // Narrow integers are widened by the driver.
      if constexpr (integral && sizeof(T) < 8) return nullptr;
      else if constexpr (left_to_baseline<T>) return isa_baseline::sum_kernel_for(fn, dtype_of<T>);
      else return &Reducer<Prod<A>, T>::kernel;
    default: return nullptr;
  }
}

}  // namespace

ReduceKernelPtr sum_kernel_for(ReduceFn fn, ScalarType t) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return kernel_for<T>(fn);
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
