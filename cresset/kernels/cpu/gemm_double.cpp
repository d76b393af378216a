#include "cresset/kernels/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_double(const GemmProblem& p) { gemm_by_path<double, double>(p, gemm_in_place<double, double>); }

void gemm_complex_double(const GemmProblem& p) {
  const auto alpha = p.alpha.as<complex<double>>(), beta = p.beta.as<complex<double>>();
  if (alpha.imag() == 0 && beta.imag() == 0) return gemm_in_place<complex<double>, double>(p);
  gemm_through_buffer<complex<double>, double, complex<double>>(p);
}

}  // namespace cresset::kernels::CRESSET_ISA
