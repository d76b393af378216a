#pragma once
// Floating-point operations of a call, a multiplication and an addition counted as two.

#include "cresset/profile/event.h"

namespace cresset::profile {

// 0 for operators that are not counted: PyTorch's profiler counts products, two-dimensional convolutions, sums and products of elements.
int64_t flops_of(const dispatch::OpEntry& op, const dispatch::Stack& stack);

}  // namespace cresset::profile
