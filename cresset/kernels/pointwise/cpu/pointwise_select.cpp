#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/simple.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_SELECT_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
