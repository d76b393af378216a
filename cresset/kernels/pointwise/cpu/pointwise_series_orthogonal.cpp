#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/orthogonal.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_SERIES_ORTHOGONAL_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
