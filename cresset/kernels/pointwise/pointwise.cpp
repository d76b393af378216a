#include "cresset/kernels/pointwise/pointwise_kernels.h"

#include "cresset/base/error.h"

namespace cresset::kernels {

void expr::zero_division() {
  CRESSET_CHECK(false, "ZeroDivisionError: integer division or remainder by zero");
  __builtin_unreachable();
}

#ifdef CRESSET_SINGLE_ISA
#define CRESSET_LOOP_ISAS(X) X(isa_baseline) X(isa_baseline) X(isa_baseline)
#else
#define CRESSET_LOOP_ISAS(X) X(isa_baseline) X(isa_avx2) X(isa_avx512)
#endif

// Defined by cpu/loops.h in the objects of each instruction set.
namespace isa_baseline {
template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*);
}
namespace isa_avx2 {
template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*);
}
namespace isa_avx512 {
template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*);
}

namespace {

#define CRESSET_FILL(T, Name) row(static_cast<T*>(nullptr), ScalarType::Name);

template <class E> constexpr PointwiseKernel make(const char* name) {
  PointwiseKernel k{name, E::inputs, E::params, E::out, {}};
  int isa = 0;
#define CRESSET_ONE_ISA(ns)                                                                                                      \
  {                                                                                                                              \
    auto row = [&]<class T>(T*, ScalarType t) {                                                                                  \
      if constexpr (!((E::dtypes >> static_cast<int>(dtype_of<T>)) & 1)) return;                                                 \
      else if constexpr (expr::is_baseline_loop<E, T>()) k.loops[isa][static_cast<int>(t)] = isa_baseline::pointwise_loop<E, T>; \
      else k.loops[isa][static_cast<int>(t)] = ns::pointwise_loop<E, expr::LoopType<E, T>>;                                      \
    };                                                                                                                           \
    CRESSET_FOR_EACH_DTYPE(CRESSET_FILL)                                                                                         \
    isa++;                                                                                                                       \
  }
  CRESSET_LOOP_ISAS(CRESSET_ONE_ISA)
#undef CRESSET_ONE_ISA
  return k;
}

template <class E> constexpr PointwiseKernel make_baseline(const char* name) {
  PointwiseKernel k{name, E::inputs, E::params, E::out, {}};
  auto row = [&]<class T>(T*, ScalarType t) {
    if constexpr ((E::dtypes >> static_cast<int>(dtype_of<T>)) & 1)
      for (auto& loops : k.loops) loops[static_cast<int>(t)] = isa_baseline::pointwise_loop<E, expr::LoopType<E, T>>;
  };
  CRESSET_FOR_EACH_DTYPE(CRESSET_FILL)
  return k;
}

#undef CRESSET_FILL

}  // namespace

#define CRESSET_POINTWISE(name, Expr) constinit const PointwiseKernel name##_kernel = make<expr::Expr>(#name);
#define CRESSET_POINTWISE_BASELINE(name, Expr) constinit const PointwiseKernel name##_kernel = make_baseline<expr::Expr>(#name);

CRESSET_POINTWISE_KERNELS(CRESSET_POINTWISE)
CRESSET_SERIES_KERNELS(CRESSET_POINTWISE_BASELINE)

}  // namespace cresset::kernels
