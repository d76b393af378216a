#include "cresset/kernels/cpu/gemm_packed.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_float(const GemmProblem& p) { gemm_in_place<float, float>(p); }
void gemm_half(const GemmProblem& p) { gemm_through_buffer<Half, float, float>(p); }
void gemm_bfloat16(const GemmProblem& p) { gemm_through_buffer<BFloat16, float, float>(p); }

void gemm_complex_float(const GemmProblem& p) {
  const auto alpha = p.alpha.as<complex<double>>(), beta = p.beta.as<complex<double>>();
  if (alpha.imag() == 0 && beta.imag() == 0) return gemm_in_place<complex<float>, float>(p);
  gemm_through_buffer<complex<float>, float, complex<float>>(p);
}

}  // namespace cresset::kernels::CRESSET_ISA
