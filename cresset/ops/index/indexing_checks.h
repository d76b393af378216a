#pragma once
// Questions that Python asks about indices before it indexes.

#include "cresset/ops/index/indexing.h"

namespace cresset::indexing {

// Raises what the integers and slices among the indices are wrong about, and nothing about tensors.
CRESSET_API void check_views(const Tensor& self, ArrayRef<TensorIndex> indices);

}  // namespace cresset::indexing
