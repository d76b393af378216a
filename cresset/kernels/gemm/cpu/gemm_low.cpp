#include "cresset/kernels/gemm/cpu/gemm_pairs.h"
#include "cresset/kernels/gemm/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_half(const GemmProblem& p) { gemm_by_path<Half, float>(p, gemm_through_buffer<Half, float, float>); }
void gemm_bfloat16(const GemmProblem& p) {
#if defined(__AVX512BF16__)
  gemm_by_path<BFloat16, float>(p, gemm_through_buffer<BFloat16, float, float, gemm_packed_pairs>);
#else
  gemm_by_path<BFloat16, float>(p, gemm_through_buffer<BFloat16, float, float>);
#endif
}

}  // namespace cresset::kernels::CRESSET_ISA
