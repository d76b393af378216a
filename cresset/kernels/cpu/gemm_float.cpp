#include "cresset/kernels/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_float(const GemmProblem& p) { gemm_by_path<float, float>(p, gemm_in_place<float, float>); }

void gemm_complex_float(const GemmProblem& p) {
  const auto alpha = p.alpha.as<complex<double>>(), beta = p.beta.as<complex<double>>();
  if (alpha.imag() == 0 && beta.imag() == 0) return gemm_in_place<complex<float>, float>(p);
  gemm_through_buffer<complex<float>, float, complex<float>>(p);
}

}  // namespace cresset::kernels::CRESSET_ISA
