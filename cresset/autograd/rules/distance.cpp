// Gradients of distances between rows: by a kernel, or by differentiable ops where that is asked for.
#include <cmath>

#include "cresset/autograd/rules/rules.h"
#include "cresset/dispatch/op.h"
#include "cresset/kernels/linalg/distance.h"

namespace cresset::autograd::rules {

namespace {

bool has_kernel(const Tensor& grad, const Tensor& x1, const Tensor& x2, const Tensor& result) {
  const dispatch::Key key = dispatch::key_of(grad, x1, x2, result);
  const LayerState& state = layer_state();
  if (((key.layers | state.included) & ~state.excluded) != 0 || key.backend != 0) return false;
  const ScalarType t = result.scalar_type();
  return (t == kFloat || t == kDouble) && x1.scalar_type() == t && x2.scalar_type() == t && grad.scalar_type() == t;
}

// The gradient with respect to d, from `grad` of the p-norms `norm` of its last dimension. A norm of 0 has none.
Tensor norm_gradient(const Tensor& grad, const Tensor& d, double p, const Tensor& norm) {
  const Tensor g = grad.unsqueeze(-1), n = norm.unsqueeze(-1);
  if (p == 0) return d * 0;
  if (p == 1) return g * d.sgn();
  if (std::isinf(p)) return g * d.sgn() * (d.abs() == n);
  const Tensor none = n == 0, divisor = cresset::where(none, 1, n);
  if (p == 2) return (g / divisor).masked_fill(none, 0) * d;
  const Tensor same = d == 0;
  const Tensor power = cresset::where(same, 1, d.abs()).pow(p - 1).masked_fill(same, 0);
  return (g / divisor.pow(p - 1)).masked_fill(none, 0) * power * d.sgn();
}

}  // namespace

Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& result) {
  if (!has_kernel(grad, x1, x2, result)) return norm_gradient(grad, x1.unsqueeze(-2) - x2.unsqueeze(-3), p, result).sum(IntArrayRef(-2));
  kernels::DistanceGradArgs args;
  DimVector batch(result.sizes().slice(0, static_cast<size_t>(result.dim()) - 2));
  auto of_batch = [&](const Tensor& x) {
    DimVector shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.expand(shape).contiguous();
  };
  const Tensor a = of_batch(x1), b = of_batch(x2);
  args.of.dtype = result.scalar_type();
  args.of.x1 = a.data_ptr();
  args.of.x2 = b.data_ptr();
  for (const int64_t size : batch) args.of.batches *= size;
  args.of.rows1 = x1.size(-2);
  args.of.rows2 = x2.size(-2);
  args.of.columns = x1.size(-1);
  args.of.batch1 = args.of.rows1 * args.of.columns;
  args.of.batch2 = args.of.rows2 * args.of.columns;
  args.of.p = p;
  const Tensor g = grad.contiguous(), distance = result.contiguous();
  args.grad = g.data_ptr();
  args.distance = distance.data_ptr();
  const Tensor out = cresset::empty(a.sizes(), a.options());
  kernels::distances_backward(args, out.data_ptr());
  return out;
}

Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& result) {
  if (has_kernel(grad, self, self, result)) {
    const Tensor x = self.contiguous(), g = grad.contiguous(), distance = result.contiguous(), out = cresset::empty(self.sizes(), self.options());
    kernels::pair_distances_backward(x.scalar_type(), x.data_ptr(), g.data_ptr(), distance.data_ptr(), x.size(0), x.size(1), p, out.data_ptr());
    return out;
  }
  const int64_t n = self.size(0);
  const Tensor places = cresset::ones({n, n}, TensorOptions(kBool).device(self.device())).triu(1).nonzero();
  const Tensor i = places.select(1, 0), j = places.select(1, 1);
  const Tensor g = norm_gradient(grad, self.index_select(0, i) - self.index_select(0, j), p, result);
  return cresset::zeros_like(self).index_add(0, i, g).index_add(0, j, -g);
}

}  // namespace cresset::autograd::rules
