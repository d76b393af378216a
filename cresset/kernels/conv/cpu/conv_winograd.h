#pragma once
// 3x3 convolutions with unit stride by Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2015): a tile of 2x2 outputs costs 16 products for each pair of channels instead of 36. One group, two dimensions, padding of at
// most 2. Its transforms only add and subtract inputs, so rounding errors stay within a small factor of the direct sum's.

#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {
inline int64_t winograd_weights_count(const ConvShape& s) { return 16 * s.out_per_group * s.in_per_group; }
}  // namespace cresset::kernels

// `flipped`: the weights are [in, out, 3, 3] and turned by half a turn, which makes forward the gradient to the input.
CRESSET_DECLARE_KERNEL(void, conv_winograd_forward,
                       (const ConvShape& s, const float* input, const float* weight, bool flipped, const float* bias, float* output))
// The weights that forward_packed takes, winograd_weights_count of them, and forward by them.
CRESSET_DECLARE_KERNEL(void, conv_winograd_weights, (const ConvShape& s, const float* weight, bool flipped, float* transformed))
CRESSET_DECLARE_KERNEL(void, conv_winograd_forward_packed, (const ConvShape& s, const float* input, const float* transformed, const float* bias, float* output))
CRESSET_DECLARE_KERNEL(void, conv_winograd_backward_weight, (const ConvShape& s, const float* input, const float* grad_output, float* grad_weight))
