#pragma once
// Transposition of a matrix of 1-, 2-, 4-, 8- or 16-byte elements.

#include <cstdint>

#include "cresset/kernels/isa.h"

// dst[r][c] = src[c][r] for r < rows, c < columns; both dense along their last index, with byte strides along the first.
// `stream`: write past the caches; finish with stream_fence().
CRESSET_DECLARE_KERNEL(void, transpose,
                       (char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows, int64_t columns, int64_t element_size, bool stream))
