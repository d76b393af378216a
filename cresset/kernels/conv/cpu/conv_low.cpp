#include "cresset/kernels/conv/cpu/conv_gemm.h"

namespace cresset::kernels::CRESSET_ISA {

void conv_forward_half(const ConvShape& s, const Half* input, const Half* weight, const Half* bias, Half* output) {
  forward<Half, float>(s, input, weight, bias, output);
}
void conv_backward_input_half(const ConvShape& s, const Half* grad_output, const Half* weight, const Half* bias, Half* grad_input) {
  backward_input<Half, float>(s, grad_output, weight, bias, grad_input);
}
void conv_backward_weight_half(const ConvShape& s, const Half* input, const Half* grad_output, Half* grad_weight) {
  backward_weight<Half, float>(s, input, grad_output, grad_weight);
}

void conv_forward_bfloat16(const ConvShape& s, const BFloat16* input, const BFloat16* weight, const BFloat16* bias, BFloat16* output) {
  forward<BFloat16, float>(s, input, weight, bias, output);
}
void conv_backward_input_bfloat16(const ConvShape& s, const BFloat16* grad_output, const BFloat16* weight, const BFloat16* bias, BFloat16* grad_input) {
  backward_input<BFloat16, float>(s, grad_output, weight, bias, grad_input);
}
void conv_backward_weight_bfloat16(const ConvShape& s, const BFloat16* input, const BFloat16* grad_output, BFloat16* grad_weight) {
  backward_weight<BFloat16, float>(s, input, grad_output, grad_weight);
}
void conv_backward_bias_half(const ConvShape& s, const Half* grad_output, Half* grad_bias) { backward_bias<Half, float>(s, grad_output, grad_bias); }
void conv_backward_bias_bfloat16(const ConvShape& s, const BFloat16* grad_output, BFloat16* grad_bias) {
  backward_bias<BFloat16, float>(s, grad_output, grad_bias);
}

}  // namespace cresset::kernels::CRESSET_ISA
