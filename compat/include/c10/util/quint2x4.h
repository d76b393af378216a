#pragma once
#include "cresset/base/numbers/quantized.h"
namespace c10 {
using cresset::quint2x4;
}
namespace at {
using c10::quint2x4;
}
