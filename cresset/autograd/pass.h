#pragma once
// The backward pass that a thread is part of.

#include "cresset/base/macros.h"

namespace cresset::autograd {

// Whether the pass of this thread leaves nodes what they have kept, as with `retain_graph`; false outside of a pass.
CRESSET_API bool pass_keeps_graph();

}  // namespace cresset::autograd
