#pragma once
// The contents of memory that has not been written to: by default, as it was found.

#include "cresset/core/tensor.h"

namespace cresset::ops {

// From now on, in all threads, empty() and its like hold NaN, or the greatest number of a dtype that has none: runs that read them agree.
CRESSET_API void set_fill_uninitialized(bool fill);
// `t` filled so, where that is on, from element `first` of its memory on. Returns `t`.
Tensor as_uninitialized(Tensor t, int64_t first = 0);

}  // namespace cresset::ops
