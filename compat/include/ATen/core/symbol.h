#pragma once
#include "cresset/base/symbol.h"
namespace c10 {
using cresset::Symbol;
}
namespace at {
using c10::Symbol;
}
namespace torch::jit {
using c10::Symbol;
}
