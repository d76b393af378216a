#include "cresset/kernels/gemm/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_float(const GemmProblem& p) { gemm_by_path<float, float>(p, gemm_in_place<float, float>); }
void gemm_small_float(const GemmProblem& p, const GemmBatch& batch) { gemm_small<float>(p, batch); }

void gemm_complex_float(const GemmProblem& p) {
  const auto alpha = p.alpha.as<complex<double>>(), beta = p.beta.as<complex<double>>();
  if (alpha.imag() == 0 && beta.imag() == 0) return gemm_in_place<complex<float>, float>(p);
  gemm_through_buffer<complex<float>, float, complex<float>>(p);
}

int64_t gemm_columns_size_float(int64_t n, int64_t k) { return PackedColumns<float>(n, k).size(); }
void gemm_columns_pack_float(bool trans_b, int64_t n, int64_t k, const float* b, int64_t ldb, float* packed) {
  PackedColumns<float>(n, k).pack(trans_b, b, ldb, packed);
}
void gemm_columns_float(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* packed, float beta, float* c, int64_t ldc, const float* bias,
                        bool relu) {
  PackedColumns<float>(n, k).multiply(m, a, lda, packed, {c, ldc, 1, beta, bias, relu});
}

}  // namespace cresset::kernels::CRESSET_ISA
