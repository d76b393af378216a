// Formulas of forward mode, for rows that the rules of forward_layer.cpp do not serve.

#include "cresset/autograd/forward/forward_rules.h"
#include "cresset/core/batched.h"
#include "cresset/ops/functions.h"

namespace cresset::autograd::jvp {

// Sums of t_j exp(x_j - result_i) over j up to i. The gradient takes logarithms of what comes in, and has no derivative where that
// is zero.
Tensor logcumsumexp_jvp(const dispatch::Stack& arguments, const dispatch::Stack& tangents, const Tensor& result) {
  const Tensor& x = arguments[0].to_tensor();
  const Tensor& t = tangents[0].to_tensor();
  const int64_t dim = arguments[1].to_int();
  if (x.dim() == 0 || x.numel() == 0) return t.clone();
  const Tensor plain = x.detach(), level = plain.is_complex() ? cresset::real(plain) : plain;
  const Tensor top = level.amax(dim, true), depth = top - level.amin(dim, true);
  const double exponents = to_real_type(x.scalar_type()) == kDouble ? 600 : 60;
  if (physical((depth < exponents).all()).all().item<bool>()) return ((x - top).exp() * t).cumsum(dim) * (top - result).exp();
  // Exponentials that would vanish beside the largest: each row of weights by itself.
  const Tensor last = x.movedim(dim, -1), weights = (last.unsqueeze(-2) - result.movedim(dim, -1).unsqueeze(-1)).exp().tril();
  return weights.matmul(t.movedim(dim, -1).unsqueeze(-1)).squeeze(-1).movedim(-1, dim);
}

}  // namespace cresset::autograd::jvp
