#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/expr/minmax.h"

namespace cresset::kernels::expr {

namespace {

// As the expressions without "Second", but of zeros of two signs they take the second.
template <class T> CRESSET_EXPR T maximum_second(T a, T b) {
  if constexpr (is_register<T>) return select(a != a, a, select(a > b, a, b));
  else return a > b || is_nan(a) ? a : b;
}
template <class T> CRESSET_EXPR T minimum_second(T a, T b) {
  if constexpr (is_register<T>) return select(a != a, a, select(a < b, a, b));
  else return a < b || is_nan(a) ? a : b;
}
struct MaximumSecond : Maximum {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return maximum_second(a, b); }
};
struct MinimumSecond : Minimum {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return minimum_second(a, b); }
};
struct ClampTensorSecond : ClampTensor {
  template <class T> CRESSET_EXPR T operator()(T a, T low, T high) const { return minimum_second(maximum_second(a, low), high); }
};
struct FmaxSecond : Fmax {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return a > b || is_nan(b) ? a : b; }
};
struct FminSecond : Fmin {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return a < b || is_nan(b) ? a : b; }
};
template <class E> struct Plain : E {};

}  // namespace

}  // namespace cresset::kernels::expr

namespace cresset::kernels::CRESSET_ISA {

namespace {

// Of zeros of two signs, whole vectors of dense numbers give the second and what is left over the first, as in PyTorch.
template <class E, class Second, class T> void by_vectors(char** data, const int64_t* strides, int64_t n) {
  constexpr int64_t lanes = kLanes<T>;
  bool dense = strides[0] == sizeof(T);
  for (int i = 1; i <= E::inputs; i++) dense = dense && (strides[i] == sizeof(T) || strides[i] == 0);
  const int64_t whole = dense ? n / lanes * lanes : 0;
  char* rest[E::inputs + 1];
  for (int i = 0; i <= E::inputs; i++) rest[i] = data[i] + whole * strides[i];
  if (whole > 0) pointwise_loop<Second, T>(data, strides, whole, nullptr);
  if (whole < n) pointwise_loop<expr::Plain<E>, T>(rest, strides, n - whole, nullptr);
}

}  // namespace

#define CRESSET_BY_VECTORS(E, T)                                                                               \
  template <> void pointwise_loop<expr::E, T>(char** data, const int64_t* strides, int64_t n, const Scalar*) { \
    by_vectors<expr::E, expr::E##Second, T>(data, strides, n);                                                 \
  }
#define CRESSET_FLOATS_BY_VECTORS(E) CRESSET_BY_VECTORS(E, float) CRESSET_BY_VECTORS(E, double) CRESSET_BY_VECTORS(E, Half) CRESSET_BY_VECTORS(E, BFloat16)
CRESSET_FLOATS_BY_VECTORS(Maximum)
CRESSET_FLOATS_BY_VECTORS(Minimum)
CRESSET_FLOATS_BY_VECTORS(ClampTensor)
#undef CRESSET_FLOATS_BY_VECTORS
#undef CRESSET_BY_VECTORS

// In bfloat16 it is the second everywhere.
template <> void pointwise_loop<expr::Fmax, BFloat16>(char** data, const int64_t* strides, int64_t n, const Scalar* params) {
  pointwise_loop<expr::FmaxSecond, BFloat16>(data, strides, n, params);
}
template <> void pointwise_loop<expr::Fmin, BFloat16>(char** data, const int64_t* strides, int64_t n, const Scalar* params) {
  pointwise_loop<expr::FminSecond, BFloat16>(data, strides, n, params);
}

CRESSET_MINMAX_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
