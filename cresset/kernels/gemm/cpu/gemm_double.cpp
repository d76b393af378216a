#include "cresset/kernels/gemm/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_double(const GemmProblem& p) { gemm_by_path<double, double>(p, gemm_in_place<double, double>); }
void gemm_small_double(const GemmProblem& p, const GemmBatch& batch) { gemm_small<double>(p, batch); }

void gemm_complex_double(const GemmProblem& p) {
  const auto alpha = p.alpha.as<complex<double>>(), beta = p.beta.as<complex<double>>();
  if (alpha.imag() == 0 && beta.imag() == 0) return gemm_in_place<complex<double>, double>(p);
  gemm_through_buffer<complex<double>, double, complex<double>>(p);
}

int64_t gemm_columns_size_double(int64_t n, int64_t k) { return PackedColumns<double>(n, k).size(); }
void gemm_columns_pack_double(bool trans_b, int64_t n, int64_t k, const double* b, int64_t ldb, double* packed) {
  PackedColumns<double>(n, k).pack(trans_b, b, ldb, packed);
}
void gemm_columns_double(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* packed, double beta, double* c, int64_t ldc,
                         const double* bias, bool relu) {
  PackedColumns<double>(n, k).multiply(m, a, lda, packed, {c, ldc, 1, beta, bias, relu});
}

}  // namespace cresset::kernels::CRESSET_ISA
