#pragma once
// The memory format of convolutions, which their derivatives keep.

#include "cresset/base/dtype.h"
#include "cresset/core/layout.h"

namespace cresset::ops {

// Channels last where the input or the weight is. In three dimensions of space not for double, and for float not for a batch of one, as in PyTorch.
MemoryFormat convolution_format(ScalarType dtype, IntArrayRef input_sizes, IntArrayRef input_strides, IntArrayRef weight_sizes, IntArrayRef weight_strides);

}  // namespace cresset::ops
