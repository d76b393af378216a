#pragma once
#include "cresset/base/philox.h"
namespace at {
using Philox4_32 = cresset::Philox4x32;
using philox_engine = cresset::Philox4x32;
}  // namespace at
