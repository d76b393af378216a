#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bits.h"

namespace cresset::kernels::CRESSET_ISA {

CRESSET_BITS_KERNELS(CRESSET_LOOPS)

}  // namespace cresset::kernels::CRESSET_ISA
