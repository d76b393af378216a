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
