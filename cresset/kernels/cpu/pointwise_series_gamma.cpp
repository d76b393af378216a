#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bessel.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Erfcx>;
template struct Loops<expr::Igamma>;
template struct Loops<expr::Igammac>;
template struct Loops<expr::Zeta>;

}  // namespace cresset::kernels::CRESSET_ISA
