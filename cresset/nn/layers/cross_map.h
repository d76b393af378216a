#pragma once
// Local response normalisation across channels under its old name.

#include "cresset/autograd/function.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

struct CRESSET_API CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  CRESSET_ARG(int64_t, size);
  CRESSET_ARG(double, alpha) = 1e-4;
  CRESSET_ARG(double, beta) = 0.75;
  CRESSET_ARG(int64_t, k) = 1;
};

namespace functions {

class CRESSET_API CrossMapLRN2d : public autograd::Function<CrossMapLRN2d> {
 public:
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& input, const CrossMapLRN2dOptions& options);
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads);
};

}  // namespace functions

// (N, C, H, W).
class CRESSET_API CrossMapLRN2dImpl : public detail::OptionsLayer<CrossMapLRN2dImpl, CrossMapLRN2dOptions> {
 public:
  CrossMapLRN2dImpl(int64_t size) : CrossMapLRN2dImpl(CrossMapLRN2dOptions(size)) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options) : OptionsLayer(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(CrossMapLRN2d);

}  // namespace cresset::nn
