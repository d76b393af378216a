#pragma once
#include "cresset/base/util/type_index.h"
#include "torch/detail/macros.h"
namespace c10::util {
using namespace cresset::util;
}
