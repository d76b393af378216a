#pragma once
#include "cresset/base/util/type_list.h"
#include "torch/detail/macros.h"
namespace c10::guts {
using namespace cresset::guts;
namespace typelist = cresset::guts::typelist;
}  // namespace c10::guts
