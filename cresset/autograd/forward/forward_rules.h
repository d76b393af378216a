#pragma once
// Inside the room: how the forward-mode derivative of an operator is found; see docs/records/0005-forward-mode.md.

#include "cresset/dispatch/op.h"

namespace cresset::autograd {

// transposed: from the gradient formula, twice. pointwise: from the gradient formula, once, where the Jacobian is diagonal.
enum class ForwardRule : uint8_t { transposed, pointwise, linear, multilinear, formula };

// From the arguments, the same with tangents in place of the tensors that have a derivative (zeros where there is none), and the
// result.
using ForwardFormula = Tensor(const dispatch::Stack& arguments, const dispatch::Stack& tangents, const Tensor& result);

struct ForwardRow {
  const dispatch::OpEntry* op;
  ForwardRule rule;
  uint32_t kept;  // tensors without a derivative (indices, masks), as bits by position among the arguments
  ForwardFormula* formula = nullptr;
};
// All that are not transposed, sorted by name; generated.
extern const ForwardRow kForwardRows[];
extern const size_t kNumForwardRows;

// Formulas that rows name (rules/forward.cpp), for operators with one result.
namespace jvp {
ForwardFormula logcumsumexp_jvp;
}  // namespace jvp

}  // namespace cresset::autograd
