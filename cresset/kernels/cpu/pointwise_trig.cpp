#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Sin>;
template struct Loops<expr::Cos>;
template struct Loops<expr::Tan>;
template struct Loops<expr::Asin>;
template struct Loops<expr::Acos>;
template struct Loops<expr::Atan>;

}  // namespace cresset::kernels::CRESSET_ISA
