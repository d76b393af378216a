#pragma once
// Extremes and clamps. maximum, minimum and clamps return NaN where any argument is NaN; fmax and fmin ignore it. Of
// zeros of two signs the first argument is taken.

#include "cresset/kernels/expr/compare.h"
#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr {

template <class T> constexpr bool is_register = math::is_pack<T> && !std::is_arithmetic_v<T>;

template <class T> CRESSET_EXPR T maximum(T a, T b) {
  if constexpr (is_register<T>) return select(a != a, a, select(a >= b, a, b));
  else return a >= b || is_nan(a) ? a : b;
}
template <class T> CRESSET_EXPR T minimum(T a, T b) {
  if constexpr (is_register<T>) return select(a != a, a, select(a <= b, a, b));
  else return a <= b || is_nan(a) ? a : b;
}

struct Maximum : Signature<2, 0, kReals | kBools> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return maximum(a, b); }
};
struct Minimum : Signature<2, 0, kReals | kBools> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return minimum(a, b); }
};
struct Fmax : Signature<2, 0, kReals | kBools> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return a >= b || is_nan(b) ? a : b; }
};
struct Fmin : Signature<2, 0, kReals | kBools> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const { return a <= b || is_nan(b) ? a : b; }
};

// The compiler makes branches of two comparisons in a row: floats are compared in registers.
struct Clamp : Signature<1, 2, kReals> {
  template <class T> static constexpr bool simd = std::is_floating_point_v<T>;
  template <class T> CRESSET_EXPR T operator()(T a, T low, T high) const { return minimum(maximum(a, low), high); }
};
struct ClampMin : Signature<1, 1, kReals> {
  template <class T> CRESSET_EXPR T operator()(T a, T low) const { return maximum(a, low); }
};
struct ClampMax : Signature<1, 1, kReals> {
  template <class T> CRESSET_EXPR T operator()(T a, T high) const { return minimum(a, high); }
};
struct ClampTensor : Signature<3, 0, kReals> {
  template <class T> static constexpr bool simd = std::is_floating_point_v<T>;
  template <class T> CRESSET_EXPR T operator()(T a, T low, T high) const { return minimum(maximum(a, low), high); }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// NaN wins, except in fmax and fmin. A clamp whose bounds cross gives the upper one. Inputs and parameters: clamp: params: min,
// max; clamp_min: params: min; clamp_max: params: max; clamp_tensor: (x, min, max); one bound: maximum, minimum.
#define CRESSET_MINMAX_KERNELS(X) \
  X(maximum, Maximum) X(minimum, Minimum) X(fmax, Fmax) X(fmin, Fmin) X(clamp, Clamp) X(clamp_min, ClampMin) X(clamp_max, ClampMax) X(clamp_tensor, ClampTensor)
