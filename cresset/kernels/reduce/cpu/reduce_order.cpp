#include "cresset/kernels/reduce/cpu/reduce_loops.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class A, bool is_max> struct Order {
  using Acc = A;
  static constexpr bool vectors = true;
  static A identity() {
    using Limits = std::numeric_limits<A>;
    if constexpr (Limits::has_infinity) return is_max ? -Limits::infinity() : Limits::infinity();
    else return is_max ? Limits::lowest() : Limits::max();
  }
  template <class X> CRESSET_ALWAYS_INLINE static X map(X x, double) { return x; }
  // NaN wins: a comparison that is false for it, and one more for a NaN already there.
  template <class X> CRESSET_ALWAYS_INLINE static X combine(X a, X b) {
    if constexpr (!std::numeric_limits<A>::has_infinity) return is_max ? (b > a ? b : a) : (b < a ? b : a);
    else if constexpr (is_max) return ((b > a) | (b != b)) ? b : a;
    else return ((b < a) | (b != b)) ? b : a;
  }
};

template <class T> ReduceKernelPtr kernel_for(ReduceFn fn) {
  if constexpr (is_complex<T>::value) {
    return nullptr;
  } else if constexpr (left_to_baseline<T>) {
    return isa_baseline::order_kernel_for(fn, dtype_of<T>);
  } else {
    using E = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    if (fn == ReduceFn::max) return &Reducer<Order<Compute<E>, true>, E>::kernel;
    if (fn == ReduceFn::min) return &Reducer<Order<Compute<E>, false>, E>::kernel;
    return nullptr;
  }
}

}  // namespace

ReduceKernelPtr order_kernel_for(ReduceFn fn, ScalarType t) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return kernel_for<T>(fn);
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
