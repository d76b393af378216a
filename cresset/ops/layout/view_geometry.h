#pragma once
// Geometry of views: what each view op makes of sizes, strides and offset. Shared by the ops and by tests.

#include <optional>

#include "cresset/base/small_vector.h"

namespace cresset::ops {

struct ViewSpec {
  DimVector sizes, strides;
  int64_t offset = 0;
};

// dim in [0, n), counting from the end when negative; a 0-d tensor counts as 1-d. Errors: IndexError naming the range.
int64_t wrap_dim(int64_t dim, int64_t n, bool wrap_scalar = true);
// Bit d set for each (wrapped) entry. Errors: a dimension given twice.
uint64_t dim_mask(IntArrayRef dims, int64_t n);

// The strides that `sizes` would have as a view of the old geometry, if the elements allow it without copying.
std::optional<DimVector> view_strides(IntArrayRef old_sizes, IntArrayRef old_strides, IntArrayRef sizes);
// Replaces one -1 by the size that keeps numel. Errors: two -1, sizes that do not multiply to numel.
DimVector infer_size(IntArrayRef sizes, int64_t numel);
// The shape both broadcast to. Errors: sizes that differ and are not 1, naming both shapes.
DimVector broadcast_shapes(IntArrayRef a, IntArrayRef b);

}  // namespace cresset::ops
