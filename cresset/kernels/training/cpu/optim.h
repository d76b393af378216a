#pragma once
// The loops behind kernels/training/optim.h, over one chunk.

#include "cresset/kernels/isa.h"
#include "cresset/kernels/training/optim.h"

namespace cresset::kernels {

// The arrays of a chunk; a null pointer where the optimizer keeps none.
template <class T> struct OptimArrays {
  T* param;
  const T* grad;
  T* first;   // exp_avg, square_avg, the momentum buffer of sgd, or adagrad's sum
  T* second;  // exp_avg_sq, or the momentum buffer of rmsprop
  T* third;   // the running maximum of exp_avg_sq, or grad_avg
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, adam_float, (int64_t n, OptimArrays<float> a, const AdamStep& o))
CRESSET_DECLARE_KERNEL(void, adam_double, (int64_t n, OptimArrays<double> a, const AdamStep& o))
CRESSET_DECLARE_KERNEL(void, sgd_float, (int64_t n, OptimArrays<float> a, const SgdStep& o))
CRESSET_DECLARE_KERNEL(void, sgd_double, (int64_t n, OptimArrays<double> a, const SgdStep& o))
CRESSET_DECLARE_KERNEL(void, rmsprop_float, (int64_t n, OptimArrays<float> a, const RmspropStep& o))
CRESSET_DECLARE_KERNEL(void, rmsprop_double, (int64_t n, OptimArrays<double> a, const RmspropStep& o))
CRESSET_DECLARE_KERNEL(void, adagrad_float, (int64_t n, OptimArrays<float> a, const AdagradStep& o))
CRESSET_DECLARE_KERNEL(void, adagrad_double, (int64_t n, OptimArrays<double> a, const AdagradStep& o))
