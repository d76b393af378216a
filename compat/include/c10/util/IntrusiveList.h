#pragma once
#include "cresset/base/util/containers.h"
#include "torch/detail/macros.h"
namespace c10 {
using cresset::IntrusiveList;
using cresset::IntrusiveListHook;
using cresset::ListIterator;
}  // namespace c10
