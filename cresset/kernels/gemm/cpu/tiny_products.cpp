// Apart from the others, since its sums are not fused.

#include "cresset/kernels/gemm/cpu/gemm_thin.h"

namespace cresset::kernels::CRESSET_ISA {

void gemm_tiny_float(const GemmProblem& p, const GemmBatch& batch) { gemm_small<float>(p, batch); }
void gemm_tiny_double(const GemmProblem& p, const GemmBatch& batch) { gemm_small<double>(p, batch); }

}  // namespace cresset::kernels::CRESSET_ISA
