#pragma once
#include "cresset/base/util/scope_exit.h"
namespace c10 {
using cresset::demangle;
using cresset::demangle_type;
}  // namespace c10
