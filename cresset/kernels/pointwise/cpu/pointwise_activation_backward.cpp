#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/activation.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_ACTIVATION_BACKWARD_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
