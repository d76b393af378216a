#pragma once
// Convolutions as matrix products over implicitly unfolded images, per instruction set. Weights and images in the storage type
// named.

#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/isa.h"

#define CRESSET_DECLARE_CONV(name, T)                                                                                                                 \
  CRESSET_DECLARE_KERNEL(void, conv_forward_##name, (const ConvShape& s, const T* input, const T* weight, const T* bias, T* output))                  \
  CRESSET_DECLARE_KERNEL(void, conv_backward_input_##name, (const ConvShape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input)) \
  CRESSET_DECLARE_KERNEL(void, conv_backward_weight_##name, (const ConvShape& s, const T* input, const T* grad_output, T* grad_weight))               \
  CRESSET_DECLARE_KERNEL(void, conv_backward_bias_##name, (const ConvShape& s, const T* grad_output, T* grad_bias))

CRESSET_DECLARE_CONV(float, float)
CRESSET_DECLARE_CONV(double, double)
CRESSET_DECLARE_CONV(half, Half)
CRESSET_DECLARE_CONV(bfloat16, BFloat16)
#undef CRESSET_DECLARE_CONV
