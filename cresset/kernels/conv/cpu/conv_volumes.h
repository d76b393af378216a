#pragma once
// Convolutions of volumes in groups of few channels, with strides of 1: sums over taps of whole planes, as there is no matrix product to gain from.

#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Most channels of a group, in and out.
constexpr int64_t kVolumeChannels = 4;

}  // namespace cresset::kernels

// `turned`: the weights are those of the convolution whose transposed() s is. bias may be null.
CRESSET_DECLARE_KERNEL(void, conv_volumes_forward, (const ConvShape& s, const float* input, const float* weight, bool turned, const float* bias, float* output))
CRESSET_DECLARE_KERNEL(void, conv_volumes_backward_weight, (const ConvShape& s, const float* input, const float* grad_output, float* grad_weight))
