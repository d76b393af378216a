#include "cresset/kernels/gemm/cpu/gemm_strip.h"
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

int64_t gemm_strip_width_float() { return Strips<float>::kWidth; }
void gemm_strip_pack_rows_float(bool trans, int64_t m, int64_t k, const float* a, int64_t lda, float* packed) {
  Strips<float>::pack_rows(trans, m, k, a, lda, packed);
}
void gemm_strip_pack_float(int64_t columns, int64_t k, const float* rows, int64_t ld, float* strip) { Strips<float>::pack(columns, k, rows, ld, strip); }
void gemm_strip_unpack_float(int64_t columns, int64_t n, const float* strip, float* rows, int64_t ld) { Strips<float>::unpack(columns, n, strip, rows, ld); }
void gemm_strip_float(const StripProduct& p, const float* packed, const float* strip, float* c) { Strips<float>::multiply(p, packed, strip, c); }
void gemm_strip_by_float(int64_t m, int64_t n, int64_t k, const float* strip, const float* b, int64_t ldb, float* c, int64_t ldc) {
  Strips<float>::multiply_by(m, n, k, strip, b, ldb, c, ldc);
}

}  // namespace cresset::kernels::CRESSET_ISA
