#pragma once
// Helpers of composites that work on elements of a batch.

#include "cresset/core/batched.h"
#include "cresset/ops/functions.h"

namespace cresset::ops {

// Zeros to write `source` into, batched as it is.
inline Tensor zeros_for(const Tensor& source, IntArrayRef sizes) {
  return as_batched(source) ? source.new_zeros(sizes) : cresset::zeros(sizes, source.options());
}

}  // namespace cresset::ops
