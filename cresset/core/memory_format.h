#pragma once
// The memory format that strides suggest, for geometries without a tensor.

#include "cresset/core/layout.h"

namespace cresset {

// ChannelsLast of 4 and ChannelsLast3d of 5 dimensions where the strides rise from the channels over the last dimension to the first, gaps
// allowed; else Contiguous. Dimensions of size 1 count: a tensor whose strides are those of a contiguous one is not channels last.
CRESSET_API MemoryFormat suggested_format(IntArrayRef sizes, IntArrayRef strides);

}  // namespace cresset
