#pragma once
// Runs a contiguous inner loop over operands of other dtypes or awkward strides, in cache-sized blocks.

#include "cresset/kernels/iter/nd_iter.h"

namespace cresset::kernels {

struct BlockPlan {
  int operands, outputs;
  ScalarType outer[kMaxOperands];  // what the arrays hold
  ScalarType inner[kMaxOperands];  // what the loop takes
};

// Packs or converts inputs into contiguous blocks, calls `loop`, and converts or scatters its outputs.
void run_blocks(const BlockPlan& plan, Loop loop, char** data, const int64_t* strides, int64_t n, const Scalar* params);

}  // namespace cresset::kernels
