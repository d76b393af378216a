#pragma once
// Convolutions over 1, 2 or 3 spatial dimensions on dense contiguous [batch, channels, spatial...] buffers.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

// Sizes of one convolution. Weights are [out_channels, in_channels / groups, kernel...]; padding is zeros on both sides.
struct ConvParams {
  int dims = 2;
  int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  int64_t input[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t output(int d) const { return (input[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1; }
};

// 3x3 kernels with unit stride over many channels go through sums and differences of inputs in float32 (Winograd's algorithm): where an
// input or weight is infinite, a result that it reaches may be NaN instead.

// output = input (*) weight + bias; `bias` has out_channels elements or is null.
// Every dtype but bool and complex32; float16 and bfloat16 accumulate in float32. Independent of the number of threads.
CRESSET_API void conv_forward(ScalarType dtype, const ConvParams& params, const void* input, const void* weight, const void* bias, void* output);

// For those who run one convolution many times: its weights in the order in which the path for inputs of these sizes reads them, which costs nothing
// afterwards. `count` elements; 0: that path reads the weights as they are, and `conv_forward` is all there is. Where `any_input` is set the same order
// serves inputs of other sizes whose packing says so, too; else those of these sizes alone.
struct ConvPacking {
  int64_t count = 0;
  bool any_input = false;
};
CRESSET_API ConvPacking conv_packing(ScalarType dtype, const ConvParams& params, bool bias);
CRESSET_API void conv_pack(const ConvParams& params, bool bias, const float* weight, float* packed);
CRESSET_API void conv_forward_packed(const ConvParams& params, const float* input, const float* packed, const float* bias, float* output);

// grad_input = the gradient with respect to the input, without complex conjugation, + bias (in_channels elements, or null).
// This is also the transposed convolution of `grad_output`: there `params.input` is the size of the result.
CRESSET_API void conv_backward_input(ScalarType dtype, const ConvParams& params, const void* grad_output, const void* weight, const void* bias,
                                     void* grad_input);

// grad_weight = the gradient with respect to the weights, without complex conjugation; grad_bias (out_channels elements) if not null.
CRESSET_API void conv_backward_weight(ScalarType dtype, const ConvParams& params, const void* input, const void* grad_output, void* grad_weight,
                                      void* grad_bias);

}  // namespace cresset::kernels
