#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_HYPERBOLIC_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
