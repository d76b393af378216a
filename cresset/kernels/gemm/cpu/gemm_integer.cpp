#include "cresset/kernels/gemm/cpu/gemm_packed.h"

// Products modulo 2^w: signed and unsigned are the same, and 8-bit ones are exact in 16 bits.
namespace cresset::kernels::CRESSET_ISA {

void gemm_int8(const GemmProblem& p) { gemm_through_buffer<uint8_t, uint16_t, uint16_t>(p); }
void gemm_int16(const GemmProblem& p) { gemm_in_place<uint16_t, uint16_t>(p); }
void gemm_int32(const GemmProblem& p) { gemm_in_place<uint32_t, uint32_t>(p); }
void gemm_int64(const GemmProblem& p) { gemm_in_place<uint64_t, uint64_t>(p); }

}  // namespace cresset::kernels::CRESSET_ISA
