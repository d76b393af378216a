#pragma once

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

CRESSET_DECLARE_KERNEL(void, softmax_forward, (bool log, const char* x, char* y, ScalarType t, int64_t outer, int64_t dim, int64_t inner))
CRESSET_DECLARE_KERNEL(void, softmax_backward_kernel,
                       (bool log, const char* dy, const char* y, char* dx, ScalarType t, int64_t outer, int64_t dim, int64_t inner))
