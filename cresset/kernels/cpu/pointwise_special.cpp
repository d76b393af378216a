#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/special.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Erf>;
template struct Loops<expr::Erfc>;
template struct Loops<expr::Erfinv>;
template struct Loops<expr::Lgamma>;
template struct Loops<expr::Digamma>;
template struct Loops<expr::Polygamma>;

}  // namespace cresset::kernels::CRESSET_ISA
