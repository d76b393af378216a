#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/compare.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_COMPARE_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
