#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/activation.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Relu>;
template struct Loops<expr::LeakyRelu>;
template struct Loops<expr::Threshold>;
template struct Loops<expr::Elu>;
template struct Loops<expr::Gelu>;
template struct Loops<expr::GeluTanh>;
template struct Loops<expr::Silu>;
template struct Loops<expr::Mish>;
template struct Loops<expr::Hardsigmoid>;
template struct Loops<expr::Hardswish>;
template struct Loops<expr::Hardshrink>;
template struct Loops<expr::Softshrink>;
template struct Loops<expr::Softplus>;
template struct Loops<expr::LogSigmoid>;

}  // namespace cresset::kernels::CRESSET_ISA
