#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/arithmetic.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::DivFloor>;
template struct Loops<expr::DivTrunc>;
template struct Loops<expr::Remainder>;
template struct Loops<expr::Fmod>;

}  // namespace cresset::kernels::CRESSET_ISA
