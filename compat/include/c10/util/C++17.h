#pragma once
#include "cresset/base/util/metaprogramming.h"
#include "torch/detail/tensor.h"
namespace c10::guts {
using namespace cresset::guts;
}
