#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bessel.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Erfcx>;
template struct Loops<expr::Ndtr>;
template struct Loops<expr::LogNdtr>;
template struct Loops<expr::Ndtri>;
template struct Loops<expr::Entr>;
template struct Loops<expr::Igamma>;
template struct Loops<expr::Igammac>;
template struct Loops<expr::Zeta>;
template struct Loops<expr::Xlog1py>;

}  // namespace cresset::kernels::CRESSET_ISA
