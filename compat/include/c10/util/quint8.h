#pragma once
#include "cresset/base/numbers/quantized.h"
namespace c10 {
using cresset::quint8;
}
namespace at {
using c10::quint8;
}
