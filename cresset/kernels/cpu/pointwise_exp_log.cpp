#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Exp>;
template struct Loops<expr::Expm1>;
template struct Loops<expr::Exp2>;
template struct Loops<expr::Log>;
template struct Loops<expr::Log1p>;
template struct Loops<expr::Log2>;
template struct Loops<expr::Log10>;
template struct Loops<expr::Sigmoid>;

}  // namespace cresset::kernels::CRESSET_ISA
