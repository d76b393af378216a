#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/arithmetic.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_DIVISION_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
