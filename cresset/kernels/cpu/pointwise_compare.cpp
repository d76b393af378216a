#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/compare.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Eq>;
template struct Loops<expr::Ne>;
template struct Loops<expr::Lt>;
template struct Loops<expr::Le>;
template struct Loops<expr::Gt>;
template struct Loops<expr::Ge>;
template struct Loops<expr::LogicalAnd>;
template struct Loops<expr::LogicalOr>;
template struct Loops<expr::LogicalXor>;
template struct Loops<expr::LogicalNot>;
template struct Loops<expr::IsNan>;
template struct Loops<expr::IsInf>;
template struct Loops<expr::IsFinite>;
template struct Loops<expr::IsPosInf>;
template struct Loops<expr::IsNegInf>;
template struct Loops<expr::Signbit>;

}  // namespace cresset::kernels::CRESSET_ISA
