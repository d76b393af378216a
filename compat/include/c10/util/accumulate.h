#pragma once
#include "cresset/base/util/numeric.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::multiply_integers;
using cresset::numelements_between_dim;
using cresset::numelements_from_dim;
using cresset::numelements_to_dim;
using cresset::sum_integers;
}  // namespace c10
