#include "cresset/nn/layers/cross_map.h"

#include <ostream>

namespace cresset::nn {

namespace {

// The sums over the channels from `before` earlier to `after` later.
Tensor window(const Tensor& x, int64_t before, int64_t after) {
  return pad(x.unsqueeze(1), {0, 0, 0, 0, before, after}).squeeze(1).unfold(1, before + after + 1, 1).sum(-1);
}

}  // namespace

// As PyTorch computes it: forward, a running sum over channels never lets go of the first; backward, sums lie one channel lower.
Tensor functions::CrossMapLRN2d::forward(autograd::AutogradContext* ctx, const Tensor& input, const CrossMapLRN2dOptions& o) {
  const int64_t before = (o.size() - 1) / 2, channels = input.size(1);
  const Tensor squares = input.square();
  const Tensor total = window(squares, before, before);
  if (channels > before + 1) total.narrow(1, before + 1, channels - before - 1).add_(squares.narrow(1, 0, 1));
  const Tensor scale = total * (o.alpha() / static_cast<double>(o.size())) + o.k();
  const Tensor output = input * scale.pow(-o.beta());
  ctx->save_for_backward({input, output, scale});
  ctx->saved_data["before"] = before;
  ctx->saved_data["factor"] = 2 * o.alpha() * o.beta() / static_cast<double>(o.size());
  ctx->saved_data["beta"] = o.beta();
  return output;
}

autograd::variable_list functions::CrossMapLRN2d::backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
  const int64_t before = ctx->saved_data["before"].to_int();
  const double factor = ctx->saved_data["factor"].to_double(), beta = ctx->saved_data["beta"].to_double();
  CRESSET_CHECK(before > 0, "CrossMapLRN2d: no derivative for windows of fewer than three channels");
  const auto saved = ctx->get_saved_variables();
  const Tensor &input = saved[0], &output = saved[1], &scale = saved[2];
  return {grads[0] * scale.pow(-beta) - input * factor * window(grads[0] * output / scale, before + 1, before - 1), Tensor()};
}

void CrossMapLRN2dImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::CrossMapLRN2d(" << options.size() << ", alpha=" << options.alpha() << ", beta=" << options.beta() << ", k=" << options.k() << ")";
}
Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  CRESSET_CHECK_VALUE(input.dim() == 4, "CrossMapLRN2d: expected an input of 4 dimensions, got shape ", input.sizes());
  return functions::CrossMapLRN2d::apply(input, options);
}

}  // namespace cresset::nn
