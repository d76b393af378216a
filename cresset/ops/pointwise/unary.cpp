// Direct bodies and composites of ops/pointwise.toml.

#include <cmath>

#include "cresset/core/hooks.h"
#include "cresset/core/raw_bool.h"
#include "cresset/kernels/pointwise/pointwise_kernels.h"
#include "cresset/ops/bodies_pointwise.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/own.h"
#include "cresset/ops/pointwise/pointwise.h"

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

void polygamma(int64_t n, const Tensor&) { CRESSET_CHECK(n >= 0, "polygamma: expected a non-negative order n, got ", n); }

}  // namespace check

namespace cpu {

Tensor round(const Tensor& self, int64_t decimals) {
  if (decimals == 0 || is_integral_type(self.scalar_type(), true)) return self.round();
  const Scalar params[] = {std::pow(10.0, static_cast<double>(std::abs(decimals))), decimals < 0 ? 1 : 0};
  return pointwise(kRoundDecimals, {self}, params);
}

namespace {

// `self` seen with another dtype and geometry.
Tensor retyped(const Tensor& self, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  auto impl = self.impl()->view(sizes, strides, offset);
  impl->set_dtype(dtype);
  impl->set_view_of(*self.impl());
  if (auto* const note = autograd::view_note().load(std::memory_order_relaxed); CRESSET_UNLIKELY(note != nullptr)) note(*impl);
  return Tensor(std::move(impl));
}

}  // namespace

Tensor _conj(const Tensor& self) {
  CRESSET_CHECK(self.is_complex(), "_conj: expected a complex tensor, got dtype ", self.scalar_type());
  Tensor view = retyped(self, self.scalar_type(), self.sizes(), self.strides(), self.storage_offset());
  view.impl()->set_conj(!self.is_conj());
  return view;
}

Tensor _neg_view(const Tensor& self) {
  CRESSET_CHECK(self.scalar_type() != kBool, "_neg_view: not supported for bool tensors");
  Tensor view = retyped(self, self.scalar_type(), self.sizes(), self.strides(), self.storage_offset());
  view.impl()->set_neg(!self.is_neg());
  return view;
}

Tensor view_as_real(const Tensor& self) {
  CRESSET_CHECK(!self.is_conj(), "view_as_real: not supported for a tensor that is a lazy conjugate; call resolve_conj() first");
  CRESSET_CHECK(self.is_complex(), "view_as_real: only supported for complex tensors, got dtype ", self.scalar_type());
  DimVector sizes(self.sizes()), strides(self.strides());
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return retyped(self, to_real_type(self.scalar_type()), sizes, strides, self.storage_offset() * 2);
}

Tensor view_as_complex(const Tensor& self) {
  const ScalarType t = self.scalar_type();
  CRESSET_CHECK(!self.is_neg(), "view_as_complex: not supported for a tensor that is a lazy negative; call resolve_neg() first");
  CRESSET_CHECK(t == kHalf || t == kFloat || t == kDouble, "view_as_complex: only supported for float16, float32 and float64 tensors, got dtype ", t);
  CRESSET_CHECK(self.dim() > 0 && self.size(-1) == 2, "view_as_complex: expected a last dimension of size 2, got shape ", self.sizes());
  CRESSET_CHECK(self.numel() == 0 || self.stride(-1) == 1, "view_as_complex: the last dimension must have stride 1, got strides ", self.strides());
  CRESSET_CHECK(self.storage_offset() % 2 == 0, "view_as_complex: the storage offset must be divisible by 2, got ", self.storage_offset());
  DimVector sizes(self.sizes().slice(0, self.sizes().size() - 1)), strides;
  for (int64_t d = 0; d + 1 < self.dim(); d++) {
    CRESSET_CHECK(self.size(d) == 1 || self.strides()[d] % 2 == 0, "view_as_complex: all strides but the last must be divisible by 2, got ", self.strides());
    strides.push_back(self.strides()[d] / 2);
  }
  return retyped(self, to_complex_type(t), sizes, strides, self.storage_offset() / 2);
}

// A view in another dtype shares memory and version, and is no view to autograd.
Tensor untracked(const Tensor& t) { return Tensor(t.impl()->alias(true)); }

// Bytes seen as another dtype: the last dimension grows or shrinks by the ratio of the element sizes.
Tensor view(const Tensor& self, ScalarType dtype) {
  if (dtype == self.scalar_type()) return untracked(retyped(self, dtype, self.sizes(), self.strides(), self.storage_offset()));
  if (is_raw_bool(*self.impl())) {
    const Tensor bytes = untracked(self);
    bytes.impl()->set_neg(false);
    return cpu::view(bytes, dtype);
  }
  CRESSET_CHECK(!(self.is_conj() || self.is_neg()), "view: a lazy conjugate or negative cannot be viewed as ", dtype,
                "; call resolve_conj() or resolve_neg() first");
  const int64_t from = static_cast<int64_t>(self.element_size()), to = static_cast<int64_t>(element_size(dtype));
  DimVector sizes(self.sizes()), strides(self.strides());
  auto viewed = [&](IntArrayRef s, IntArrayRef t, int64_t offset) {
    const Tensor out = untracked(retyped(self, dtype, s, t, offset));
    if (dtype == kBool) mark_raw_bool(*out.impl());
    return out;
  };
  if (from == to) return viewed(sizes, strides, self.storage_offset());
  CRESSET_CHECK(self.dim() > 0, "view: a 0-d tensor of dtype ", self.scalar_type(), " cannot be viewed as ", dtype, ", the element sizes differ");
  CRESSET_CHECK(strides.back() == 1, "view: the last dimension must have stride 1 to view ", self.scalar_type(), " as ", dtype, ", got strides ",
                self.strides());
  const int64_t grow = from > to ? from / to : 1, shrink = to > from ? to / from : 1;
  CRESSET_CHECK(sizes.back() % shrink == 0 && self.storage_offset() % shrink == 0, "view: the last dimension and the storage offset must be divisible by ",
                shrink, " to view ", self.scalar_type(), " as ", dtype, ", got shape ", self.sizes());
  for (size_t d = 0; d + 1 < strides.size(); d++) {
    CRESSET_CHECK(strides[d] % shrink == 0, "view: all strides but the last must be divisible by ", shrink, ", got ", self.strides());
    strides[d] = strides[d] * grow / shrink;
  }
  sizes.back() = sizes.back() * grow / shrink;
  return viewed(sizes, strides, self.storage_offset() * grow / shrink);
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (is_integral_type(self.scalar_type(), true)) return self.clone();
  const double limit = largest(self.scalar_type());
  const Scalar params[] = {nan.value_or(0.0), posinf.value_or(limit), neginf.value_or(-limit)};
  return pointwise(kNanToNum, {self}, params);
}

Tensor logit(const Tensor& self, std::optional<double> eps) {
  Tensor x = is_integral_type(self.scalar_type(), true) ? self.to(get_default_dtype()) : self;
  if (eps) x = x.clamp(*eps, 1 - *eps);
  return x.div(x.rsub(1)).log();
}

}  // namespace cpu

namespace composite {

Tensor conj(const Tensor& self) { return !self.is_complex() ? self : self.layout() == Layout::Strided ? cresset::_conj(self) : self.conj_physical(); }
Tensor resolve_conj(const Tensor& self) { return self.is_conj() ? self.clone() : self; }
Tensor resolve_neg(const Tensor& self) { return self.is_neg() ? self.clone() : self; }

namespace {
// Of what `self` conjugates, if it does: parts of a conjugate are parts of its base or their negatives.
Tensor part(const Tensor& self, int64_t which) { return cresset::view_as_real(self.is_conj() ? cresset::_conj(self) : self).select(-1, which); }
}  // namespace
Tensor real(const Tensor& self) { return self.is_complex() ? part(self, 0) : self; }
Tensor imag(const Tensor& self) {
  CRESSET_CHECK(self.is_complex(), "imag: not implemented for tensors with non-complex dtypes, got ", self.scalar_type());
  return self.is_conj() ? cresset::_neg_view(part(self, 1)) : part(self, 1);
}
Tensor make_complex(const Tensor& real, const Tensor& imag) {
  const ScalarType t = real.scalar_type();
  CRESSET_CHECK(t == imag.scalar_type() && (t == kHalf || t == kFloat || t == kDouble), "complex: expected both inputs to be float16, float32 or float64, got ",
                real.scalar_type(), " and ", imag.scalar_type());
  const std::vector<Tensor> both = cresset::broadcast_tensors({real, imag});
  return own(cresset::view_as_complex(cresset::stack(both, -1)));
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  const ScalarType t = abs.scalar_type();
  CRESSET_CHECK(t == angle.scalar_type() && (t == kHalf || t == kFloat || t == kDouble), "polar: expected both inputs to be float32 or float64, got ", t,
                " and ", angle.scalar_type());
  CRESSET_CHECK_NOT_IMPLEMENTED(t != kHalf, "polar: not implemented for dtype ", t);
  return cresset::make_complex(abs * angle.cos(), abs * angle.sin());
}

ScalarType result_type(const Tensor& tensor, const Tensor& other) { return ops::result_type({Arg(tensor), Arg(other)}); }
ScalarType result_type(const Tensor& tensor, const Scalar& other) { return ops::result_type({Arg(tensor), Arg(other)}); }
ScalarType result_type(const Scalar& scalar, const Tensor& tensor) { return ops::result_type({Arg(scalar), Arg(tensor)}); }
ScalarType result_type(const Scalar& scalar1, const Scalar& scalar2) { return ops::result_type({Arg(scalar1), Arg(scalar2)}); }

Tensor deg2rad(const Tensor& self) {
  CRESSET_CHECK(!self.is_complex(), "deg2rad: not supported for complex tensors");
  return self.mul(0.017453292519943295769236907684886);
}
Tensor rad2deg(const Tensor& self) {
  CRESSET_CHECK(!self.is_complex(), "rad2deg: not supported for complex tensors");
  return self.mul(57.295779513082320876798154814105);
}

// The gradient keeps what polygamma has read, which is not what self then holds.
Tensor& polygamma_(Tensor& self, int64_t n) {
  const Tensor result = cresset::polygamma(n, self.requires_grad() ? self.clone() : self);
  check_castable("polygamma_", result.scalar_type(), self.scalar_type());
  return self.copy_(result);
}

}  // namespace composite

}  // namespace cresset::ops
