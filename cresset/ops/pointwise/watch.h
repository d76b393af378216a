#pragma once
// Who wants to know which kernel a pointwise operator or a reduction runs: compilers, which call it once and join the kernels of several.

#include "cresset/kernels/reduce/reduce.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

// One operator: its inputs are `args` in the order of the loop; inputs are read in `compute`, the mask excepted, and the loop gives `computed`.
struct PointwiseSight {
  const PointwiseOp& op;
  kernels::Loop loop;
  ScalarType compute, computed;
  ArrayRef<Arg> args;
  const Scalar* params;
  const Tensor& result;  // its dtype is another one than `computed` where that cannot be stored as it is
};

// One reduction of the dimensions in `mask`, which has run.
struct ReductionSight {
  kernels::ReduceOp op;
  const Tensor &self, &result;
  uint64_t mask;
};

class CRESSET_API PointwiseWatch {
 public:
  virtual ~PointwiseWatch() = default;
  virtual void saw(const PointwiseSight& sight) = 0;
  virtual void saw(const ReductionSight& sight) = 0;
};

// Pointwise operators of this thread on tensors that are not plain ones of the CPU, and all reductions, are shown to `watch` from now on; null ends it.
// Returns the one before.
CRESSET_API PointwiseWatch* watch_pointwise(PointwiseWatch* watch);
PointwiseWatch* pointwise_watch();
// A number as a loop reads it, in 16 bytes.
CRESSET_API void store_pointwise_number(void* cell, const Scalar& number, ScalarType dtype);

}  // namespace cresset::ops
