#pragma once
// Whether this thread's calls of scaled_dot_product_attention may be served.

#include "cresset/base/macros.h"

namespace cresset::ops {

// none_warned: as none, with a line on the error stream before the error.
enum class AttentionKernels : unsigned char { all, none, none_warned };
// Returns what was before.
CRESSET_API AttentionKernels set_attention_kernels(AttentionKernels kernels);

}  // namespace cresset::ops
