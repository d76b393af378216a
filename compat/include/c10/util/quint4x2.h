#pragma once
#include "cresset/base/numbers/quantized.h"
namespace c10 {
using cresset::quint4x2;
}
namespace at {
using c10::quint4x2;
}
