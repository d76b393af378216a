#pragma once
#include <functional>

#include "cresset/base/util/type_index.h"
#include "torch/detail/macros.h"
namespace c10 {
using std::string_view;
namespace util {
using namespace cresset::util;
}
}  // namespace c10
