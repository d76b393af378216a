#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_EXP_LOG_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
