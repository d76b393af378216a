#pragma once
// The one n-d walk: coalesces dimensions, orders loops for memory, converts dtypes block by block and splits work over threads.
// Only the inner 1-d loop it calls is specific to an op.

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"
#include "cresset/base/scalar.h"

namespace cresset::kernels {

constexpr int kMaxOperands = 8;
constexpr int kMaxDims = 64;

// One array of a pointwise run. Strides are in bytes, one per dimension of the common shape, outermost first, never negative;
// 0 broadcasts an input along that dimension.
struct Operand {
  char* data;
  ScalarType dtype;
  const int64_t* strides;
};

// An inner loop over n elements: operand i starts at data[i] and advances strides[i] bytes. Outputs come first.
// `params` are the scalars of the op, in the op's order. The loop may change neither array.
using Loop = void (*)(char** data, const int64_t* strides, int64_t n, const Scalar* params);

// Runs `loop` over every element of `shape`. Operands whose dtype differs from their loop dtype are converted on the way.
// An output may be the same array as an input (same data and strides), and otherwise overlaps none.
// Errors: more than kMaxOperands operands or kMaxDims dimensions; whatever the loop throws.
void run_nd(IntArrayRef shape, ArrayRef<Operand> operands, int num_outputs, ArrayRef<ScalarType> loop_dtypes, Loop loop, const Scalar* params,
            int64_t grain = 32768);

}  // namespace cresset::kernels
