#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Pow>;
template struct Loops<expr::Atan2>;
template struct Loops<expr::Xlogy>;
template struct Loops<expr::Logaddexp>;
template struct Loops<expr::Logaddexp2>;

}  // namespace cresset::kernels::CRESSET_ISA
