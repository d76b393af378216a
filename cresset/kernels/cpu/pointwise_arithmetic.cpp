#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/arithmetic.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Add>;
template struct Loops<expr::Sub>;
template struct Loops<expr::Mul>;
template struct Loops<expr::Div>;
template struct Loops<expr::Neg>;
template struct Loops<expr::Square>;
template struct Loops<expr::Reciprocal>;
template struct Loops<expr::Addcmul>;
template struct Loops<expr::Addcdiv>;
template struct Loops<expr::Lerp>;
template struct Loops<expr::LerpScalar>;

}  // namespace cresset::kernels::CRESSET_ISA
