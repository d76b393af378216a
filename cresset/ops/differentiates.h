#pragma once
// For composites that take a shorter way where no derivative is asked for.

#include "cresset/core/tensor.h"

namespace cresset::ops {

// Whether a derivative of what is computed from `t` may be asked for: later, by a backward pass, or now, along a tangent that it
// carries (which wakes the layer of transforms, docs/records/0005-forward-mode.md).
inline bool differentiates(const Tensor& t) {
  return t.defined() && ((layer_state().grad_mode && t.requires_grad()) || (t.impl()->layers() & layer_bit(Layer::Vmap)));
}

}  // namespace cresset::ops
