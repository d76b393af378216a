#pragma once
// A pointwise kernel: one inner loop for each instruction set and compute dtype. Run it with run_nd. Those that exist are listed with their
// expressions (kernels/expr); kernels/pointwise/pointwise_kernels.h declares them all.

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
  Loop loops[3][kNumKernelDTypes];  // [isa][compute dtype]; nullptr: not supported for this dtype

  Loop loop(ScalarType t) const { return static_cast<int>(t) < kNumKernelDTypes ? loops[active_isa()][static_cast<int>(t)] : nullptr; }
};

}  // namespace cresset::kernels
