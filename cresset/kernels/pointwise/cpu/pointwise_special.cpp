#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/special.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_SPECIAL_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
