#include "cresset/kernels/cpu/loops.h"
#include "cresset/kernels/expr/activation.h"

namespace cresset::kernels::CRESSET_ISA {

template struct Loops<expr::TanhBackward>;
template struct Loops<expr::SigmoidBackward>;
template struct Loops<expr::ThresholdBackward>;
template struct Loops<expr::LeakyReluBackward>;
template struct Loops<expr::EluBackward>;
template struct Loops<expr::EluBackwardFromResult>;
template struct Loops<expr::GeluBackward>;
template struct Loops<expr::GeluTanhBackward>;
template struct Loops<expr::SiluBackward>;
template struct Loops<expr::MishBackward>;
template struct Loops<expr::HardsigmoidBackward>;
template struct Loops<expr::HardswishBackward>;
template struct Loops<expr::ShrinkBackward>;
template struct Loops<expr::HardtanhBackward>;
template struct Loops<expr::SoftplusBackward>;
template struct Loops<expr::LogSigmoidBackward>;

}  // namespace cresset::kernels::CRESSET_ISA
