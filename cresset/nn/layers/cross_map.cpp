#include "cresset/nn/layers/cross_map.h"

#include <ostream>

#include "cresset/ops/list_functions.h"

namespace cresset::nn {

Tensor functions::CrossMapLRN2d::forward(autograd::AutogradContext* ctx, const Tensor& input, const CrossMapLRN2dOptions& o) {
  const auto [output, scale] = _cross_map_lrn(input, o.size(), o.alpha(), o.beta(), o.k());
  ctx->save_for_backward({input, output, scale});
  ctx->saved_data["size"] = o.size();
  ctx->saved_data["alpha"] = o.alpha();
  ctx->saved_data["beta"] = o.beta();
  return output;
}

autograd::variable_list functions::CrossMapLRN2d::backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
  const auto saved = ctx->get_saved_variables();
  return {_cross_map_lrn_backward(grads[0], saved[0], saved[1], saved[2], ctx->saved_data["size"].to_int(), ctx->saved_data["alpha"].to_double(),
                                  ctx->saved_data["beta"].to_double()),
          Tensor()};
}

void CrossMapLRN2dImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::CrossMapLRN2d(" << options.size() << ", alpha=" << options.alpha() << ", beta=" << options.beta() << ", k=" << options.k() << ")";
}
Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  CRESSET_CHECK_VALUE(input.dim() == 4, "CrossMapLRN2d: expected an input of 4 dimensions, got shape ", input.sizes());
  return functions::CrossMapLRN2d::apply(input, options);
}

}  // namespace cresset::nn
