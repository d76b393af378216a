// Direct bodies and composites of ops/pointwise.toml.

#include <cmath>

#include "cresset/kernels/pointwise.h"
#include "cresset/ops/bodies_pointwise.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/pointwise.h"

namespace cresset::ops {

namespace {

constexpr PointwiseOp kRoundDecimals{"round", kernels::round_decimals_kernel};
constexpr PointwiseOp kNanToNum{"nan_to_num", kernels::nan_to_num_kernel};

double largest(ScalarType t) {
  switch (to_real_type(t)) {
    case ScalarType::Half: return 65504.0;
    case ScalarType::BFloat16: return 3.3895313892515355e38;
    case ScalarType::Float: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

}  // namespace

namespace check {

void heaviside(const Tensor& self, const Tensor& values) {
  CRESSET_CHECK(self.scalar_type() == values.scalar_type(), "heaviside: expected input and values of one dtype, got ", self.scalar_type(), " and ",
                values.scalar_type());
}

}  // namespace check

namespace cpu {

Tensor round(const Tensor& self, int64_t decimals) {
  if (decimals == 0 || is_integral_type(self.scalar_type(), true)) return self.round();
  const Scalar params[] = {std::pow(10.0, static_cast<double>(std::abs(decimals))), decimals < 0 ? 1 : 0};
  return pointwise(kRoundDecimals, {self}, params);
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (is_integral_type(self.scalar_type(), true)) return self.clone();
  const double limit = largest(self.scalar_type());
  const Scalar params[] = {nan.value_or(0.0), posinf.value_or(limit), neginf.value_or(-limit)};
  return pointwise(kNanToNum, {self}, params);
}

}  // namespace cpu

namespace composite {

Tensor conj(const Tensor& self) { return self.is_complex() ? self.conj_physical() : self; }
Tensor resolve_conj(const Tensor& self) { return self; }
Tensor resolve_neg(const Tensor& self) { return self; }

Tensor deg2rad(const Tensor& self) {
  CRESSET_CHECK(!self.is_complex(), "deg2rad: not supported for complex tensors");
  return self.mul(0.017453292519943295769236907684886);
}
Tensor rad2deg(const Tensor& self) {
  CRESSET_CHECK(!self.is_complex(), "rad2deg: not supported for complex tensors");
  return self.mul(57.295779513082320876798154814105);
}

Tensor logit(const Tensor& self, std::optional<double> eps) {
  Tensor x = is_integral_type(self.scalar_type(), true) ? self.to(get_default_dtype()) : self;
  if (eps) x = x.clamp(*eps, 1 - *eps);
  return x.div(x.rsub(1)).log();
}

}  // namespace composite

}  // namespace cresset::ops
