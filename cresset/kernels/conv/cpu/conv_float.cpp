#include "cresset/kernels/conv/cpu/conv_gemm.h"

namespace cresset::kernels::CRESSET_ISA {

void conv_forward_float(const ConvShape& s, const float* input, const float* weight, const float* bias, float* output) {
  forward<float, float>(s, input, weight, bias, output);
}
void conv_backward_input_float(const ConvShape& s, const float* grad_output, const float* weight, const float* bias, float* grad_input) {
  backward_input<float, float>(s, grad_output, weight, bias, grad_input);
}
void conv_backward_weight_float(const ConvShape& s, const float* input, const float* grad_output, float* grad_weight) {
  backward_weight<float, float>(s, input, grad_output, grad_weight);
}
void conv_backward_bias_float(const ConvShape& s, const float* grad_output, float* grad_bias) { backward_bias<float, float>(s, grad_output, grad_bias); }

}  // namespace cresset::kernels::CRESSET_ISA
