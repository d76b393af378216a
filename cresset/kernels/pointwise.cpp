#include "cresset/kernels/pointwise.h"

#include "cresset/kernels/expr/arithmetic.h"

namespace cresset::kernels {

#ifdef CRESSET_SINGLE_ISA
#define CRESSET_LOOP_ISAS(X) X(isa_baseline) X(isa_baseline) X(isa_baseline)
#else
#define CRESSET_LOOP_ISAS(X) X(isa_baseline) X(isa_avx2) X(isa_avx512)
#endif

// Defined by cpu/loops.h in the objects of each instruction set.
namespace isa_baseline { template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*); }
namespace isa_avx2 { template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*); }
namespace isa_avx512 { template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*); }

namespace {

template <class E>
constexpr PointwiseKernel make(const char* name) {
  PointwiseKernel k{name, E::inputs, E::params, E::out, {}};
  int isa = 0;
#define CRESSET_ONE_DTYPE(ns, T, Name) \
  if constexpr ((E::dtypes >> static_cast<int>(ScalarType::Name)) & 1) k.loops[isa][static_cast<int>(ScalarType::Name)] = ns::pointwise_loop<E, T>;
#define CRESSET_ONE_ISA(ns)                                     \
  {                                                             \
    auto row = [&]<class T>(T*, ScalarType t) {                 \
      if constexpr ((E::dtypes >> static_cast<int>(dtype_of<T>)) & 1) \
        k.loops[isa][static_cast<int>(t)] = ns::pointwise_loop<E, T>; \
    };                                                          \
    CRESSET_FOR_EACH_DTYPE(CRESSET_FILL)                        \
    isa++;                                                      \
  }
#define CRESSET_FILL(T, Name) row(static_cast<T*>(nullptr), ScalarType::Name);
  CRESSET_LOOP_ISAS(CRESSET_ONE_ISA)
#undef CRESSET_FILL
#undef CRESSET_ONE_ISA
#undef CRESSET_ONE_DTYPE
  return k;
}

}  // namespace

#define CRESSET_POINTWISE(name, Expr) constinit const PointwiseKernel name##_kernel = make<expr::Expr>(#name);

CRESSET_POINTWISE(add, Add)
CRESSET_POINTWISE(sub, Sub)
CRESSET_POINTWISE(mul, Mul)

}  // namespace cresset::kernels
