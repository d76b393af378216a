#pragma once
// Stores that bypass the caches, for outputs too large to be found there again.

#include <cstdint>

#include "cresset/kernels/isa.h"

// Copies bytes with non-temporal stores wherever whole cache lines are written. Finish with stream_fence().
CRESSET_DECLARE_KERNEL(void, stream_copy, (char* dst, const char* src, int64_t bytes))

namespace cresset::kernels {

// Outputs of at least this many bytes are streamed: half of the last-level cache, 16 MiB at most.
int64_t stream_threshold();
// Orders streamed stores before whatever another thread reads next.
void stream_fence();

}  // namespace cresset::kernels
