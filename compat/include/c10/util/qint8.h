#pragma once
#include "cresset/base/numbers/quantized.h"
namespace c10 {
using cresset::qint8;
}
namespace at {
using c10::qint8;
}
