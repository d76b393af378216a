#include "cresset/kernels/gemm/cpu/gemm_strip.h"
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

int64_t gemm_strip_width_double() { return Strips<double>::kWidth; }
void gemm_strip_pack_rows_double(bool trans, int64_t m, int64_t k, const double* a, int64_t lda, double* packed) {
  Strips<double>::pack_rows(trans, m, k, a, lda, packed);
}
void gemm_strip_pack_double(int64_t columns, int64_t k, const double* rows, int64_t ld, double* strip) { Strips<double>::pack(columns, k, rows, ld, strip); }
void gemm_strip_unpack_double(int64_t columns, int64_t n, const double* strip, double* rows, int64_t ld) {
  Strips<double>::unpack(columns, n, strip, rows, ld);
}
void gemm_strip_double(const StripProduct& p, const double* packed, const double* strip, double* c) { Strips<double>::multiply(p, packed, strip, c); }
void gemm_strip_by_double(int64_t m, int64_t n, int64_t k, const double* strip, const double* b, int64_t ldb, double* c, int64_t ldc) {
  Strips<double>::multiply_by(m, n, k, strip, b, ldb, c, ldc);
}

}  // namespace cresset::kernels::CRESSET_ISA
