#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bessel.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_SERIES_GAMMA_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
