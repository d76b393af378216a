#pragma once
// All pointwise kernels, by the lists that stand beside their expressions.

#include "cresset/kernels/expr/activation.h"
#include "cresset/kernels/expr/arithmetic.h"
#include "cresset/kernels/expr/bessel.h"
#include "cresset/kernels/expr/bits.h"
#include "cresset/kernels/expr/compare.h"
#include "cresset/kernels/expr/loss.h"
#include "cresset/kernels/expr/minmax.h"
#include "cresset/kernels/expr/orthogonal.h"
#include "cresset/kernels/expr/simple.h"
#include "cresset/kernels/expr/special.h"
#include "cresset/kernels/expr/transcendental.h"
#include "cresset/kernels/pointwise/pointwise.h"

// clang-format off
#define CRESSET_POINTWISE_KERNELS(M)                                                                                           \
  CRESSET_ACTIVATION_KERNELS(M) CRESSET_ACTIVATION_BACKWARD_KERNELS(M) CRESSET_ARITHMETIC_KERNELS(M) CRESSET_BESSEL_KERNELS(M) \
  CRESSET_BITS_KERNELS(M) CRESSET_COMPARE_KERNELS(M) CRESSET_DIVISION_KERNELS(M) CRESSET_EXP_LOG_KERNELS(M)                    \
  CRESSET_HYPERBOLIC_KERNELS(M) CRESSET_LOSS_KERNELS(M) CRESSET_MINMAX_KERNELS(M) CRESSET_POWER_KERNELS(M)                     \
  CRESSET_SELECT_KERNELS(M) CRESSET_SIMPLE_KERNELS(M) CRESSET_SPECIAL_KERNELS(M) CRESSET_TRIG_KERNELS(M)
// clang-format on
// Functions of long series, computed in double: vectors would make them larger, not faster. One build serves every instruction set.
#define CRESSET_SERIES_KERNELS(M) CRESSET_SERIES_GAMMA_KERNELS(M) CRESSET_SERIES_ORTHOGONAL_KERNELS(M)

namespace cresset::kernels {

#define CRESSET_DECLARE(name, Expr) extern const PointwiseKernel name##_kernel;
CRESSET_POINTWISE_KERNELS(CRESSET_DECLARE)
CRESSET_SERIES_KERNELS(CRESSET_DECLARE)
#undef CRESSET_DECLARE

}  // namespace cresset::kernels
