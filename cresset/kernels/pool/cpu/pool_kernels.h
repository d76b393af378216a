#pragma once

#include "cresset/kernels/isa.h"
#include "cresset/kernels/pool/pool.h"

// Dtypes: half, bfloat16 and float for planes of at most 2^31 - 1 elements, double, int64, uint64.
CRESSET_DECLARE_KERNEL(void, max_pool_planes, (const char* x, char* y, int64_t* indices, ScalarType t, const PoolShape& s))
CRESSET_DECLARE_KERNEL(void, adaptive_max_pool_planes, (const char* x, char* y, int64_t* indices, ScalarType t, const PoolShape& s))
CRESSET_DECLARE_KERNEL(void, max_pool_backward_planes,
                       (const char* dy, const int64_t* indices, char* dx, ScalarType t, int64_t planes, int64_t in_size, int64_t out_size))
CRESSET_DECLARE_KERNEL(void, avg_pool_planes, (const char* x, char* y, ScalarType t, const PoolShape& s, bool include_pad, int64_t divisor))
CRESSET_DECLARE_KERNEL(void, avg_pool_backward_planes, (const char* dy, char* dx, ScalarType t, const PoolShape& s, bool include_pad, int64_t divisor))
CRESSET_DECLARE_KERNEL(void, adaptive_avg_pool_planes, (const char* x, char* y, ScalarType t, const PoolShape& s))
CRESSET_DECLARE_KERNEL(void, adaptive_avg_pool_backward_planes, (const char* dy, char* dx, ScalarType t, const PoolShape& s))
