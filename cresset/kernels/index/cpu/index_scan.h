#pragma once
// Contiguous scans under the indexing kernels.

#include <cstdint>

#include "cresset/kernels/isa.h"

// Whether any of n indices lies outside [low, high).
CRESSET_DECLARE_KERNEL(bool, any_outside_i64, (const int64_t* index, int64_t n, int64_t low, int64_t high))
CRESSET_DECLARE_KERNEL(bool, any_outside_i32, (const int32_t* index, int64_t n, int64_t low, int64_t high))
