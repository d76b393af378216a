#include "cresset/kernels/conv/cpu/conv_gemm.h"

namespace cresset::kernels::CRESSET_ISA {

void conv_forward_double(const ConvShape& s, const double* input, const double* weight, const double* bias, double* output) {
  forward<double, double>(s, input, weight, bias, output);
}
void conv_backward_input_double(const ConvShape& s, const double* grad_output, const double* weight, const double* bias, double* grad_input) {
  backward_input<double, double>(s, grad_output, weight, bias, grad_input);
}
void conv_backward_weight_double(const ConvShape& s, const double* input, const double* grad_output, double* grad_weight) {
  backward_weight<double, double>(s, input, grad_output, grad_weight);
}
void conv_backward_bias_double(const ConvShape& s, const double* grad_output, double* grad_bias) { backward_bias<double, double>(s, grad_output, grad_bias); }

}  // namespace cresset::kernels::CRESSET_ISA
