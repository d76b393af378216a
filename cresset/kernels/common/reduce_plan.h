#pragma once
// How a reduction walks memory: dimensions split into kept and reduced ones, coalesced, and cut into fixed pieces.

#include <cstdint>

#include "cresset/base/array_ref.h"
#include "cresset/base/function_ref.h"
#include "cresset/kernels/reduce/cpu/reduce_kernel.h"

namespace cresset::kernels {

constexpr int kMaxReduceOuts = 2;

struct ReduceProblem {
  const char* in;
  int64_t element_bytes;
  IntArrayRef shape, in_strides;
  uint64_t reduce_mask;
  char* out[kMaxReduceOuts];                // null: absent
  IntArrayRef out_strides[kMaxReduceOuts];  // one stride per dimension of `shape`; may be empty where nothing is kept
  bool ordered = false;                     // reduced elements are met, and counted, in row-major order
  double param = 0;
};

// Turns n accumulators into outputs out[i] + j * strides[i]; it may change the accumulators.
using FinishFn = FunctionRef<void(char* acc, int64_t n, char* const* out, const int64_t* strides)>;

// Splits the work in a way that depends on the shape alone, so that the result is the same on any number of threads.
void run_reduction(const ReduceKernel& kernel, const ReduceProblem& problem, FinishFn finish);

}  // namespace cresset::kernels
