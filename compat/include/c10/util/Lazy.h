#pragma once
#include "cresset/base/util/containers.h"
#include "torch/detail/macros.h"
namespace c10 {
using cresset::LazyValue;
using cresset::OptimisticLazy;
using cresset::OptimisticLazyValue;
using cresset::PrecomputedLazyValue;
}  // namespace c10
