#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/bessel.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::I0>;
template struct Loops<expr::I1>;
template struct Loops<expr::I0e>;
template struct Loops<expr::I1e>;
template struct Loops<expr::K0>;
template struct Loops<expr::K1>;
template struct Loops<expr::K0e>;
template struct Loops<expr::K1e>;
template struct Loops<expr::BesselJ0>;
template struct Loops<expr::BesselJ1>;
template struct Loops<expr::BesselY0>;
template struct Loops<expr::BesselY1>;
template struct Loops<expr::SphericalJ0>;
template struct Loops<expr::AiryAi>;
template struct Loops<expr::Ndtr>;
template struct Loops<expr::LogNdtr>;
template struct Loops<expr::Ndtri>;
template struct Loops<expr::Entr>;
template struct Loops<expr::Xlog1py>;

}  // namespace cresset::kernels::CRESSET_ISA
