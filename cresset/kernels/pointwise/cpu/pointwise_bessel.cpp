#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bessel.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_BESSEL_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
