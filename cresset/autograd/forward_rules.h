#pragma once
// Inside the room: how the forward-mode derivative of an operator is found; see docs/records/0005-forward-mode.md.

#include "cresset/dispatch/op.h"

namespace cresset::autograd {

// transposed: from the gradient formula, twice. pointwise: from the gradient formula, once, where the Jacobian is diagonal.
enum class ForwardRule : uint8_t { transposed, pointwise, linear, multilinear };

struct ForwardRow {
  const dispatch::OpEntry* op;
  ForwardRule rule;
  uint32_t kept;  // tensors without a derivative (indices, masks), as bits by position among the arguments
};
// All that are not transposed, sorted by name; generated.
extern const ForwardRow kForwardRows[];
extern const size_t kNumForwardRows;

}  // namespace cresset::autograd
