// Checks, direct bodies and composites of ops/compare.toml.

#include "cresset/core/batched.h"
#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/pointwise/pointwise_kernels.h"
#include "cresset/ops/bodies_compare.h"
#include "cresset/ops/differentiates.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

namespace {

constexpr PointwiseOp kClamp{"clamp", kernels::clamp_kernel};
constexpr PointwiseOp kClampMin{"clamp_min", kernels::clamp_min_kernel};
constexpr PointwiseOp kClampMax{"clamp_max", kernels::clamp_max_kernel};
constexpr PointwiseOp kMaximum{"clamp", kernels::maximum_kernel};
constexpr PointwiseOp kMinimum{"clamp", kernels::minimum_kernel};
constexpr PointwiseOp kClampTensor{"clamp", kernels::clamp_tensor_kernel};

// The bounds take part in promotion: an integer tensor with a float bound becomes float.
Tensor clamp_by(const PointwiseOp& op, const Tensor& self, ArrayRef<Scalar> bounds) {
  ScalarType t = self.scalar_type();
  for (const Scalar& b : bounds) {
    CRESSET_CHECK(!b.isComplex(), op.name, ": not supported for complex bounds");
    t = result_type({Arg(self), Arg(b)}) == t ? t : promote_types(t, result_type({Arg(self), Arg(b)}));
  }
  return pointwise(op, {t == self.scalar_type() ? self : self.to(t)}, bounds.data());
}

void check_condition(const Tensor& condition) {
  CRESSET_CHECK(condition.scalar_type() == kBool || condition.scalar_type() == kByte, "where: expected condition to be a boolean tensor, got dtype ",
                condition.scalar_type());
}

void check_not_complex(const char* op, const Tensor& self, const Tensor& other) {
  CRESSET_CHECK(!self.is_complex() && !other.is_complex(), op, ": not implemented for complex tensors, got dtypes ", self.scalar_type(), " and ",
                other.scalar_type());
}

// A number outside the dtype's range is refused, a complex one that is not real too; bool asks whether it is zero.
void check_fits(const Tensor& self, const Scalar& value) {
  const bool real = !value.isComplex() || self.is_complex() || self.scalar_type() == kBool || value.toComplexDouble().imag() == 0;
  CRESSET_CHECK(real, "masked_fill: value ", value, " cannot be converted to dtype ", self.scalar_type(), " without overflow");
  kernels::visit_dtype(compute_type(self.scalar_type()), "masked_fill", [&](auto zero) { static_cast<void>(value.to<decltype(zero)>()); });
}

}  // namespace

namespace check {

void where(const Tensor& condition, const Tensor&, const Tensor&) { check_condition(condition); }
void where(const Tensor& condition, const Scalar&, const Tensor&) { check_condition(condition); }
void where(const Tensor& condition, const Tensor&, const Scalar&) { check_condition(condition); }

void masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_fits(self, value);
  CRESSET_CHECK(mask.scalar_type() == kBool, "masked_fill: only supports boolean masks, got dtype ", mask.scalar_type());
}

void maximum(const Tensor& self, const Tensor& other) { check_not_complex("maximum", self, other); }
void minimum(const Tensor& self, const Tensor& other) { check_not_complex("minimum", self, other); }
void fmax(const Tensor& self, const Tensor& other) { check_not_complex("fmax", self, other); }
void fmin(const Tensor& self, const Tensor& other) { check_not_complex("fmin", self, other); }

}  // namespace check

namespace cpu {

Tensor clamp_min(const Tensor& self, const Scalar& min) { return clamp_by(kClampMin, self, {min}); }
Tensor clamp_max(const Tensor& self, const Scalar& max) { return clamp_by(kClampMax, self, {max}); }
Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  CRESSET_CHECK(min || max, "clamp: expected min or max, got neither");
  if (!max) return cpu::clamp_min(self, *min);
  if (!min) return cpu::clamp_max(self, *max);
  const Scalar bounds[] = {*min, *max};
  return clamp_by(kClamp, self, bounds);
}
Tensor clamp(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  CRESSET_CHECK(min || max, "clamp: expected min or max, got neither");
  if (!max) return pointwise(kMaximum, {self, *min});
  if (!min) return pointwise(kMinimum, {self, *max});
  return pointwise(kClampTensor, {self, *min, *max});
}

bool equal(const Tensor& self, const Tensor& other) {
  CRESSET_CHECK(self.device() == other.device(), "equal: expected all tensors to be on the same device, got ", self.device(), " and ", other.device());
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  return self.eq(other).all().item<bool>();
}

}  // namespace cpu

namespace composite {

Tensor max(const Tensor& self, const Tensor& other) { return cresset::maximum(self, other); }
Tensor min(const Tensor& self, const Tensor& other) { return cresset::minimum(self, other); }

Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  const ScalarType t = result_type({Arg(self), Arg(other)});
  const TensorOptions options = condition.options().dtype(t);
  return cresset::where(condition, cresset::full({}, self, options), cresset::full({}, other, options));
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  CRESSET_CHECK(value.dim() == 0, "masked_fill: only supports a 0-dimensional value tensor, got a tensor with ", value.dim(), " dimensions");
  CRESSET_CHECK(mask.scalar_type() == kBool, "masked_fill: only supports boolean masks, got dtype ", mask.scalar_type());
  if (!value.lacks_data() && !as_batched(value)) check_fits(self, value.item());
  return cresset::where(mask, value.to(self.scalar_type()), self);
}

Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Tensor& value) {
  // One number may be written over itself.
  const bool is_number = value.dim() == 0 && !value.lacks_data() && !as_batched(value) && !differentiates(value);
  if (is_expanded(self) && is_number) return self.masked_fill_(mask, value.item());
  return store_inplace("masked_fill_", self, composite::masked_fill(kept_input(self), mask, value));
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  CRESSET_CHECK(self.scalar_type() == other.scalar_type(), "isclose: expected both tensors to have the same dtype, got ", self.scalar_type(), " and ",
                other.scalar_type());
  CRESSET_CHECK(rtol >= 0 && atol >= 0, "isclose: rtol and atol must be at least zero, got ", rtol, " and ", atol);
  Tensor close = self.eq(other);
  if (equal_nan && (self.is_floating_point() || self.is_complex())) close = close.logical_or(self.isnan().logical_and(other.isnan()));
  if (rtol == 0 && atol == 0) return close;
  const bool exact = is_integral_type(self.scalar_type(), true);
  const Tensor a = exact ? self.to(get_default_dtype()) : self, b = exact ? other.to(get_default_dtype()) : other;
  const Tensor allowed = b.abs().mul(rtol).add(atol), actual = a.sub(b).abs();
  return close.logical_or(actual.isfinite().logical_and(actual.le(allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return cresset::isclose(self, other, rtol, atol, equal_nan).all().item<bool>();
}

}  // namespace composite

}  // namespace cresset::ops
