#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/arithmetic.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Add>;
template struct Loops<expr::Sub>;
template struct Loops<expr::Mul>;

}  // namespace cresset::kernels::CRESSET_ISA
