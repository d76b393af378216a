#pragma once
// Floating-point operations of a call, a multiplication and an addition counted as two.

#include <string_view>

#include "cresset/profile/event.h"

namespace cresset::profile {

// By the operator's name without the overload. 0 for operators that are not counted: PyTorch's profiler counts products, two-dimensional convolutions,
// sums and products of elements.
int64_t flops_of(std::string_view name, const Facts& arguments);
bool counts_flops(const dispatch::OpEntry& op);

}  // namespace cresset::profile
