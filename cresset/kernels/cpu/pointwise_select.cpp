#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/simple.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::Where>;
template struct Loops<expr::MaskedFill>;
template struct Loops<expr::Fill>;
template struct Loops<expr::DropoutApply>;
template struct Loops<expr::NanToNum>;

}  // namespace cresset::kernels::CRESSET_ISA
