#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Sinh>;
template struct Loops<expr::Cosh>;
template struct Loops<expr::Tanh>;
template struct Loops<expr::Asinh>;
template struct Loops<expr::Acosh>;
template struct Loops<expr::Atanh>;

}  // namespace cresset::kernels::CRESSET_ISA
