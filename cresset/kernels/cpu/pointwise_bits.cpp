#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bits.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::BitwiseAnd>;
template struct Loops<expr::BitwiseOr>;
template struct Loops<expr::BitwiseXor>;
template struct Loops<expr::BitwiseNot>;
template struct Loops<expr::BitwiseLeftShift>;
template struct Loops<expr::BitwiseRightShift>;
template struct Loops<expr::Gcd>;
template struct Loops<expr::Lcm>;

}  // namespace cresset::kernels::CRESSET_ISA
