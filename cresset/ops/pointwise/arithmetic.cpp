// Checks and composites of ops/arithmetic.toml.

#include "cresset/kernels/pointwise/pointwise_kernels.h"
#include "cresset/ops/bodies_arithmetic.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/pointwise/pointwise.h"
#include "cresset/ops/refusals.h"

namespace cresset::ops {

namespace {

constexpr PointwiseOp kPow{"pow", kernels::pow_kernel};
constexpr PointwiseOp kSquare{"pow", kernels::square_kernel};

void check_alpha(const char* op, ScalarType result, const Scalar& alpha) {
  CRESSET_CHECK(!alpha.isBoolean() || result == kBool, op, ": boolean alpha is only supported for boolean results, got a result of dtype ", result);
  CRESSET_CHECK(is_floating_type(result) || is_complex_type(result) || alpha.isIntegral(true), op,
                ": for integral inputs, alpha must not be a floating point number, got ", alpha);
  CRESSET_CHECK(is_complex_type(result) || !alpha.isComplex(), op, ": for non-complex inputs, alpha must not be a complex number, got ", alpha);
}

// Whether alpha fits every result: the default 1, and integers for all but bool.
bool is_plain(const Scalar& alpha) { return alpha.tag() == Scalar::Tag::Int; }

void check_not_bool(const Tensor& a, bool other_is_bool) {
  CRESSET_CHECK(a.scalar_type() != kBool && !other_is_bool,
                "sub: subtraction with a bool tensor is not supported; use bitwise_xor, logical_xor or logical_not instead");
}

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  CRESSET_CHECK(a.scalar_type() == b.scalar_type(), op, ": expected dtype ", a.scalar_type(), ", got ", b.scalar_type());
}

}  // namespace

namespace check {

void alpha(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (!is_plain(alpha)) check_alpha("add", result_type({self, other}), alpha);
}
void alpha(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  if (!is_plain(alpha)) check_alpha("add", result_type({self, other}), alpha);
}
void sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_not_bool(self, other.scalar_type() == kBool);
  if (!is_plain(alpha)) check_alpha("sub", result_type({self, other}), alpha);
}
void sub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  check_not_bool(self, other.isBoolean());
  if (!is_plain(alpha)) check_alpha("sub", result_type({self, other}), alpha);
}
void neg(const Tensor& self) {
  CRESSET_CHECK(self.scalar_type() != kBool, "neg: negation of a bool tensor is not supported; use bitwise_not or logical_not instead");
  refuse_wide_unsigned("neg_cpu", self);
}
void lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  check_same_dtype("lerp", self, end);
  CRESSET_CHECK(self.is_complex() || !weight.isComplex() || weight.toComplexDouble().imag() == 0, "lerp: weight ", weight, " cannot be converted to dtype ",
                self.scalar_type(), " without overflow");
}
void lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  check_same_dtype("lerp", self, end);
  if (weight.dim() > 0) check_same_dtype("lerp", self, weight);
}
void addcdiv(const Tensor&, const Tensor& tensor1, const Tensor& tensor2, const Scalar&) {
  CRESSET_CHECK(!is_integral_type(tensor1.scalar_type(), true) || !is_integral_type(tensor2.scalar_type(), true),
                "addcdiv: integer division is not supported, got dtypes ", tensor1.scalar_type(), " and ", tensor2.scalar_type(),
                "; divide with rounding_mode and use add, or convert to floating point");
}

}  // namespace check

namespace cpu {

namespace {

// Errors: the exponent is no number of the dtype; those of wide floating-point dtypes may be infinite.
void check_exponent(const Scalar& exponent, ScalarType t) {
  switch (t) {
    case kByte: exponent.to<uint8_t>(); break;
    case kChar: exponent.to<int8_t>(); break;
    case kShort: exponent.to<int16_t>(); break;
    case kInt: exponent.to<int32_t>(); break;
    case kLong: exponent.to<int64_t>(); break;
    case kHalf: exponent.toHalf(); break;
    case kBFloat16: exponent.toBFloat16(); break;
    default: break;
  }
}

}  // namespace

Tensor pow(const Tensor& self, const Scalar& exponent) {
  const ScalarType t = result_type({self, exponent});
  CRESSET_CHECK(!is_integral_type(t, true) || exponent.is(0) || exponent.as<int64_t>() >= 0 || exponent.isBoolean(),
                "pow: integers to negative integer powers are not allowed, got ", exponent);
  check_exponent(exponent, t);
  if (t == kBool && self.scalar_type() == kBool) return exponent.toBool() ? self.clone() : cresset::ones_like(self);
  if (t == self.scalar_type()) {
    if (exponent.is(0)) return cresset::ones_like(self);
    if (exponent.is(1)) return self.clone();
    if (exponent.is(2)) return pointwise(kSquare, {self});
    const bool is_half = t == kHalf || t == kBFloat16;  // round once
    if (is_floating_type(t)) {
      if (exponent.is(0.5)) return cresset::sqrt(self);
      if (exponent.is(-0.5)) return cresset::rsqrt(self);
      if (exponent.is(-1)) return cresset::reciprocal(self);
      if (exponent.is(-2) && !is_half) return pointwise(kSquare, {self}).reciprocal_();
    }
  }
  return pointwise(kPow, {self, exponent});
}

}  // namespace cpu

namespace composite {

namespace {

template <class Other> Tensor div_with_mode(const Tensor& self, const Other& other, std::optional<std::string_view> mode) {
  if (!mode) return cresset::div(self, other);
  if (*mode == "floor") return cresset::_div_floor(self, other);
  CRESSET_CHECK(*mode == "trunc", "div: expected rounding_mode None, 'trunc' or 'floor', got '", std::string(*mode), "'");
  return cresset::_div_trunc(self, other);
}

ScalarType power_dtype(ScalarType t) { return is_complex_type(t) ? kComplexDouble : kDouble; }

}  // namespace

Tensor div(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) { return div_with_mode(self, other, rounding_mode); }
Tensor div(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) { return div_with_mode(self, other, rounding_mode); }

Tensor square(const Tensor& self) { return self.pow(2); }

Tensor float_power(const Tensor& self, const Tensor& exponent) {
  const ScalarType t = power_dtype(is_complex_type(exponent.scalar_type()) ? exponent.scalar_type() : self.scalar_type());
  return self.to(t).pow(exponent.to(t));
}
Tensor float_power(const Tensor& self, const Scalar& exponent) {
  const ScalarType t = power_dtype(exponent.isComplex() ? kComplexDouble : self.scalar_type());
  return self.to(t).pow(exponent);
}
Tensor float_power(const Scalar& self, const Tensor& exponent) {
  const ScalarType t = power_dtype(self.isComplex() ? kComplexDouble : exponent.scalar_type());
  return cresset::pow(self, exponent.to(t));
}

Tensor positive(const Tensor& self) {
  CRESSET_CHECK(self.scalar_type() != kBool, "positive: not supported for bool tensors");
  return self;
}

}  // namespace composite

}  // namespace cresset::ops
