#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/minmax.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Maximum>;
template struct Loops<expr::Minimum>;
template struct Loops<expr::Fmax>;
template struct Loops<expr::Fmin>;
template struct Loops<expr::Clamp>;
template struct Loops<expr::ClampMin>;
template struct Loops<expr::ClampMax>;
template struct Loops<expr::ClampTensor>;

}  // namespace cresset::kernels::CRESSET_ISA
