#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/loss.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::MseLoss>;
template struct Loops<expr::MseLossBackward>;
template struct Loops<expr::SmoothL1Loss>;
template struct Loops<expr::SmoothL1LossBackward>;
template struct Loops<expr::HuberLoss>;
template struct Loops<expr::HuberLossBackward>;
template struct Loops<expr::BceLoss>;
template struct Loops<expr::BceLossBackward>;
template struct Loops<expr::BceWithLogitsLoss>;
template struct Loops<expr::BceWithLogitsLossBackward>;

}  // namespace cresset::kernels::CRESSET_ISA
