#pragma once
#include "cresset/base/util/constants.h"
namespace c10 {
using cresset::e;
using cresset::euler;
using cresset::frac_1_pi;
using cresset::frac_1_sqrt_pi;
using cresset::frac_sqrt_2;
using cresset::frac_sqrt_3;
using cresset::golden_ratio;
using cresset::ln_10;
using cresset::ln_2;
using cresset::log_10_2;
using cresset::log_10_e;
using cresset::log_2_e;
using cresset::pi;
using cresset::sqrt_2;
using cresset::sqrt_3;
}  // namespace c10
