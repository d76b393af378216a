#include <cmath>

#include "cresset/kernels/expr/power.h"
#include "cresset/kernels/reduce/cpu/reduce_loops.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class X> CRESSET_ALWAYS_INLINE X absolute(X x) { return x < 0 ? -x : x; }

template <class A> struct SumAbs {
  using Acc = A;
  static constexpr bool vectors = true;
  static A identity() { return 0; }
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return absolute(x); }
  template <class X> CRESSET_ALWAYS_INLINE static X combine(X a, X b) { return a + b; }
};

template <class A> struct SumSquares : SumAbs<A> {
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return x * x; }
};

template <class A> struct SumPowers : SumAbs<A> {
  static constexpr bool vectors = false, blocks = true;
  CRESSET_ALWAYS_INLINE static A map(A x, double p) { return static_cast<A>(std::pow(static_cast<double>(absolute(x)), p)); }
  // out[i] = |x[i]|^p for i < kBlockSize; those from n on are arbitrary.
  template <class E> static void map_block(const E* x, int64_t n, double p, A* out) {
    A base[kBlockSize] = {}, exponent[kBlockSize];
    for (int64_t i = 0; i < n; i++) base[i] = absolute(static_cast<A>(x[i]));
    for (int64_t i = 0; i < kBlockSize; i++) exponent[i] = static_cast<A>(p);
    if constexpr (std::is_same_v<A, float>) {
      // The power itself is rounded once, as is its exponent where floats hold that.
      if (static_cast<double>(static_cast<float>(p)) == p) {
        for (int64_t i = 0; i < kBlockSize; i++) out[i] = expr::math::pow(base[i], exponent[i]);
        return;
      }
    }
    for (int64_t i = 0; i < n; i++) out[i] = map(base[i], p);
  }
};

template <class A> struct SumCubes : SumAbs<A> {
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return absolute(x) * x * x; }
};

template <class A, bool is_max> struct ExtremeAbs {
  using Acc = A;
  static constexpr bool vectors = true;
  static A identity() { return is_max ? 0 : std::numeric_limits<A>::infinity(); }
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return absolute(x); }
  template <class X> CRESSET_ALWAYS_INLINE static X combine(X a, X b) {
    if constexpr (is_max) return ((b > a) | (b != b)) ? b : a;
    else return ((b < a) | (b != b)) ? b : a;
  }
};

template <class T> ReduceKernelPtr kernel_for(ReduceFn fn) {
  using A = Compute<T>;
  switch (fn) {
    case ReduceFn::sum_abs: return &Reducer<SumAbs<A>, T>::kernel;
    case ReduceFn::sum_squares: return &Reducer<SumSquares<A>, T>::kernel;
    case ReduceFn::max_abs: return &Reducer<ExtremeAbs<A, true>, T>::kernel;
    case ReduceFn::min_abs: return &Reducer<ExtremeAbs<A, false>, T>::kernel;
    case ReduceFn::sum_cubes: return &Reducer<SumCubes<A>, T>::kernel;
    case ReduceFn::sum_powers: return &Reducer<SumPowers<A>, T>::kernel;
    default: return nullptr;
  }
}

}  // namespace

ReduceKernelPtr norm_kernel_for(ReduceFn fn, ScalarType t) {
  switch (t) {
    case ScalarType::Half: return kernel_for<Half>(fn);
    case ScalarType::BFloat16: return kernel_for<BFloat16>(fn);
    case ScalarType::Float: return kernel_for<float>(fn);
    case ScalarType::Double: return kernel_for<double>(fn);
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
