#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/minmax.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_MINMAX_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
