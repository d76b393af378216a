#pragma once
#include "cresset/base/numbers/float8.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::Float8_e8m0fnu;
}
namespace at {
using cresset::Float8_e8m0fnu;
}
