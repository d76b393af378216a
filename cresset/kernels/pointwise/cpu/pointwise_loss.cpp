#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/loss.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_LOSS_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
