// Checks, direct bodies and composites of ops/activation.toml.

#include <limits>

#include "cresset/dispatch/op.h"
#include "cresset/kernels/pointwise/pointwise_kernels.h"
#include "cresset/ops/bodies_activation.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

namespace {

constexpr PointwiseOp kEluBackward{"elu_backward", kernels::elu_backward_kernel};
constexpr PointwiseOp kEluBackwardFromResult{"elu_backward", kernels::elu_backward_from_result_kernel};
constexpr PointwiseOp kGelu{"gelu", kernels::gelu_kernel};
constexpr PointwiseOp kGeluTanh{"gelu", kernels::gelu_tanh_kernel};
constexpr PointwiseOp kGeluBackward{"gelu_backward", kernels::gelu_backward_kernel};
constexpr PointwiseOp kGeluTanhBackward{"gelu_backward", kernels::gelu_tanh_backward_kernel};

bool is_tanh(std::string_view approximate) {
  CRESSET_CHECK(approximate == "none" || approximate == "tanh", "gelu: approximate must be either none or tanh, got ", std::string(approximate));
  return approximate == "tanh";
}

constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;

}  // namespace

namespace check {

void relu(const Tensor& self) { CRESSET_CHECK(self.scalar_type() != kBool, "relu: boolean inputs are not supported"); }

void hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  CRESSET_CHECK(self.scalar_type() != kBool, "hardtanh: bool inputs are not supported");
  CRESSET_CHECK(is_signed_type(self.scalar_type()) || (min_val.as<double>() >= 0 && max_val.as<double>() >= 0),
                "hardtanh: cannot be done on an unsigned type with negative limits, got ", min_val, " and ", max_val);
}
void leaky_relu_backward(const Tensor&, const Tensor&, const Scalar& negative_slope, bool self_is_result) {
  CRESSET_CHECK(!self_is_result || negative_slope.as<double>() >= 0,
                "leaky_relu_: backward needs the input, which in-place with a negative slope has lost, got slope ", negative_slope);
}
void softshrink(const Tensor&, const Scalar& lambd) { CRESSET_CHECK(lambd.as<double>() >= 0, "softshrink: lambda must be greater or equal to 0, got ", lambd); }

}  // namespace check

namespace cpu {

Tensor elu_backward(const Tensor& grad_output, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, bool is_result,
                    const Tensor& self_or_result) {
  CRESSET_CHECK(!is_result || alpha.as<double>() >= 0, "elu_: backward needs the input, which in-place with a negative alpha has lost, got alpha ", alpha);
  const Scalar params[] = {alpha, scale, input_scale};
  return pointwise(is_result ? kEluBackwardFromResult : kEluBackward, {grad_output, self_or_result}, params);
}

Tensor gelu(const Tensor& self, std::string_view approximate) { return pointwise(is_tanh(approximate) ? kGeluTanh : kGelu, {self}); }
Tensor gelu_backward(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  return pointwise(is_tanh(approximate) ? kGeluTanhBackward : kGeluBackward, {grad_output, self});
}

}  // namespace cpu

namespace composite {

Tensor relu6(const Tensor& self) { return cresset::hardtanh(self, 0, 6); }
Tensor selu(const Tensor& self) { return cresset::elu(self, kSeluAlpha, kSeluScale); }
Tensor celu(const Tensor& self, const Scalar& alpha) {
  CRESSET_CHECK(alpha.as<double>() != 0, "celu: alpha must not be zero");
  return cresset::elu(self, alpha, 1, 1 / alpha.as<double>());
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  CRESSET_CHECK(self.scalar_type() == weight.scalar_type(), "prelu: expected input and weight of one dtype, got ", self.scalar_type(), " and ",
                weight.scalar_type());
  CRESSET_CHECK(weight.dim() <= 1, "prelu: expected weight to be a scalar or 1-d, got shape ", weight.sizes());
  Tensor slope = weight;
  if (weight.numel() != 1) {
    const int64_t channels = self.dim() >= 2 ? self.size(1) : 1;
    CRESSET_CHECK(channels == weight.numel(), "prelu: expected as many weights as channels, got ", weight.numel(), " and ", channels);
    DimVector shape(static_cast<size_t>(self.dim()), 1);
    if (self.dim() >= 2) shape[1] = channels;
    slope = weight.reshape(shape);
  } else if (weight.dim() > self.dim()) {
    slope = weight.reshape(IntArrayRef{});
  }
  const dispatch::Key key = dispatch::key_of(self, weight);
  const LayerState& state = layer_state();
  // One slope for all, and nothing that records or wraps the call: one pass.
  if (weight.numel() == 1 && (((key.layers | state.included) & ~state.excluded) | key.backend) == 0) return cresset::leaky_relu(self, weight.item());
  return cresset::where(self > 0, self, slope * self);
}

Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training, const std::optional<Generator>& generator) {
  CRESSET_CHECK(lower.as<double>() <= upper.as<double>(), "rrelu: lower bound ", lower, " must not be larger than upper bound ", upper);
  if (!training) return cresset::leaky_relu(self, (lower.as<double>() + upper.as<double>()) / 2);
  return self.contiguous() * cresset::_rrelu_noise(self, lower.as<double>(), upper.as<double>(), generator);
}

Tensor softsign(const Tensor& self) { return self / (self.abs() + 1); }
Tensor tanhshrink(const Tensor& self) { return self - self.tanh(); }

Tensor glu(const Tensor& self, int64_t dim) {
  CRESSET_CHECK(self.dim() > 0, "glu: does not support 0-dimensional tensors");
  const int64_t n = self.size(dim);
  CRESSET_CHECK(n % 2 == 0, "glu: the halved dimension must be even, but dimension ", dim, " is of size ", n);
  const Tensor a = self.narrow(dim, 0, n / 2), b = self.narrow(dim, n / 2, n / 2);
  const dispatch::Key key = dispatch::key_of(self);
  const LayerState& state = layer_state();
  const bool recorded = (((key.layers | state.included) & ~state.excluded) | key.backend) != 0;
  // Softplus' gradient without its threshold is this product, in one pass.
  if (!recorded && (self.scalar_type() == kFloat || self.scalar_type() == kDouble))
    return cresset::softplus_backward(a, b, 1, std::numeric_limits<double>::infinity());
  return a * b.sigmoid();
}

}  // namespace composite

}  // namespace cresset::ops
