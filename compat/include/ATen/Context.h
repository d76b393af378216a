#pragma once
#include "ATen/CPUGeneratorImpl.h"
namespace at {
using cresset::Context;
using cresset::globalContext;
}  // namespace at
