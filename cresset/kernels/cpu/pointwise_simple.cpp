#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/simple.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Abs>;
template struct Loops<expr::Angle>;
template struct Loops<expr::Sign>;
template struct Loops<expr::Sgn>;
template struct Loops<expr::Conj>;
template struct Loops<expr::Floor>;
template struct Loops<expr::Ceil>;
template struct Loops<expr::Trunc>;
template struct Loops<expr::Round>;
template struct Loops<expr::RoundDecimals>;
template struct Loops<expr::Frac>;
template struct Loops<expr::Sqrt>;
template struct Loops<expr::Rsqrt>;
template struct Loops<expr::Hypot>;
template struct Loops<expr::Copysign>;
template struct Loops<expr::Heaviside>;
template struct Loops<expr::Nextafter>;

}  // namespace cresset::kernels::CRESSET_ISA
