#pragma once
// The pointwise kernels: per op, one inner loop for each instruction set and compute dtype. Run them with run_nd.

#include "cresset/kernels/expr/common.h"
#include "cresset/kernels/isa.h"
#include "cresset/kernels/iter/nd_iter.h"

namespace cresset::kernels {

// All inputs have the compute dtype, except masks (where_kernel's first input, masked_fill's second), which are bool.
struct PointwiseKernel {
  const char* name;
  uint8_t num_inputs;
  uint8_t num_params;
  Out out;
  Loop loops[3][kNumDTypes];  // [isa][compute dtype]; nullptr: not supported for this dtype

  Loop loop(ScalarType t) const { return loops[active_isa()][static_cast<int>(t)]; }
};

// Arithmetic. Integers wrap around; bool adds as `or` and multiplies as `and`.
extern const PointwiseKernel add_kernel;  // a + params[0] * b
extern const PointwiseKernel sub_kernel;  // a - params[0] * b
extern const PointwiseKernel mul_kernel;

}  // namespace cresset::kernels
