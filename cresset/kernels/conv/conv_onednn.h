#pragma once
// Convolutions through the oneDNN provider, cut over the batch in a way that does not depend on the number of threads.

#include "cresset/kernels/conv/conv.h"

namespace cresset::kernels {

// Each returns false, having done nothing, where the provider or its primitive is absent. float32 and bfloat16.
bool onednn_conv_forward(ScalarType dtype, const ConvParams& params, const void* input, const void* weight, const void* bias, void* output);
// The same with weights that lie in the order of the primitive: 0 where there is none, or the batch is cut into pieces of two sizes.
int64_t onednn_conv_packed_bytes(ScalarType dtype, const ConvParams& params, bool bias);
void onednn_conv_pack(ScalarType dtype, const ConvParams& params, bool bias, const void* weight, void* packed);
void onednn_conv_forward_packed(ScalarType dtype, const ConvParams& params, const void* input, const void* packed, const void* bias, void* output);
bool onednn_conv_backward_input(ScalarType dtype, const ConvParams& params, const void* grad_output, const void* weight, void* grad_input);
bool onednn_conv_backward_weight(ScalarType dtype, const ConvParams& params, const void* input, const void* grad_output, void* grad_weight, void* grad_bias);

}  // namespace cresset::kernels
