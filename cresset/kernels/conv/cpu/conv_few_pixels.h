#pragma once
// Convolutions of few pixels with many channels, where reading the weights is most of the work.

#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Out channels go in panels of this many.
constexpr int64_t kFewPixelsRows = 8;

}  // namespace cresset::kernels

// One group; out channels a multiple of kFewPixelsRows. bias may be null.
CRESSET_DECLARE_KERNEL(void, conv_forward_few_pixels, (const ConvShape& s, const float* input, const float* weight, const float* bias, float* output))
