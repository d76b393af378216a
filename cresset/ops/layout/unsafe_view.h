#pragma once
// Results that lie in another shape than they were computed in.

#include "cresset/tensor.h"

namespace cresset::ops {

// t.view(sizes) of a tensor that nothing else refers to. Modes hear of it as `_unsafe_view`, which is no view.
Tensor unsafe_view(const Tensor& t, IntArrayRef sizes);

}  // namespace cresset::ops
