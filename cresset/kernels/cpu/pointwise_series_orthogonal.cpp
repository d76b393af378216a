#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/orthogonal.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::ChebyshevT>;
template struct Loops<expr::ChebyshevU>;
template struct Loops<expr::ChebyshevV>;
template struct Loops<expr::ChebyshevW>;
template struct Loops<expr::ShiftedChebyshevT>;
template struct Loops<expr::ShiftedChebyshevU>;
template struct Loops<expr::ShiftedChebyshevV>;
template struct Loops<expr::ShiftedChebyshevW>;
template struct Loops<expr::HermiteH>;
template struct Loops<expr::HermiteHe>;
template struct Loops<expr::LaguerreL>;
template struct Loops<expr::LegendreP>;

}  // namespace cresset::kernels::CRESSET_ISA
