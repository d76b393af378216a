#pragma once
#include "cresset/dispatch/custom_class.h"
#include "torch/detail/containers.h"

namespace torch {
using cresset::arg;
using cresset::class_;
using cresset::CustomClassHolder;
using cresset::init;
using cresset::make_custom_class;
namespace jit {
using cresset::CustomClassHolder;
}
}  // namespace torch
