#pragma once
#include "ATen/core/symbol.h"
#include "cresset/base/dimname.h"
namespace at {
using cresset::Dimname;
using cresset::DimnameList;
using cresset::NameType;
}  // namespace at
namespace torch {
using at::Dimname;
using at::DimnameList;
}  // namespace torch
