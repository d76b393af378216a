#pragma once
#include "ATen/dlpack.h"
namespace at {
using cresset::fromDLPack;
using cresset::fromDLPackVersioned;
using cresset::getDLContext;
using cresset::getDLDataType;
using cresset::toDLPack;
using cresset::toDLPackVersioned;
using cresset::toScalarType;
}  // namespace at
