// Apart from the others, since its sums are not fused.

#include "cresset/kernels/gemm/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_tiny_float(const GemmProblem& p, const GemmBatch& batch) { gemm_small<float>(p, batch); }
void gemm_tiny_double(const GemmProblem& p, const GemmBatch& batch) { gemm_small<double>(p, batch); }

void gemm_quarters_float(const GemmProblem& p) {
  typedef float Quarters __attribute__((vector_size(16)));
  const auto terms = [](const float* a, const float* b) {
    Quarters x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return x * y;
  };
  const float *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b), *bias = static_cast<const float*>(p.bias);
  const float alpha = p.alpha.as<float>(), beta = p.beta.as<float>();
  for (int64_t i = 0; i < p.m; i++)
    for (int64_t j = 0; j < p.n; j++) {
      Quarters sum = terms(a + i * p.lda, b + j * p.ldb);
      for (int64_t q = 4; q < p.k; q += 4) sum += terms(a + i * p.lda + q, b + j * p.ldb + q);
      float value = ((sum[0] + sum[2]) + (sum[1] + sum[3])) * alpha;
      float& c = static_cast<float*>(p.c)[i * p.ldc + j];
      if (!p.beta.is(0)) value += c * beta;
      if (bias) value += bias[j];
      c = p.relu && value < 0 ? 0 : value;
    }
}

}  // namespace cresset::kernels::CRESSET_ISA
