// Fourier transforms: shape rules and bodies over kernels/fft/fft.h, and torch.fft's functions over the three of them.

#include "cresset/kernels/fft/fft.h"

#include <algorithm>
#include <cmath>

#include "cresset/ops/bodies_fft.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using Norm = std::optional<std::string_view>;
enum Normalization : int64_t { kNone, kByRoot, kByCount };

DimVector wrapped(const Tensor& self, IntArrayRef dims) {
  DimVector result;
  for (const int64_t d : dims) result.push_back(wrap_dim(d, self.dim(), false));
  return result;
}

double factor(int64_t normalization, IntArrayRef sizes, IntArrayRef dims) {
  double count = 1;
  for (const int64_t d : dims) count *= static_cast<double>(sizes[static_cast<size_t>(d)]);
  return normalization == kNone ? 1.0 : normalization == kByRoot ? 1.0 / std::sqrt(count) : 1.0 / count;
}

// Results lie with the transformed dimensions last, both groups in the input's order of memory. The order of equal strides, which
// shows where sizes are 1, is the one that std::partition leaves.
DimVector memory_order(const Tensor& self, IntArrayRef dims) {
  DimVector order;
  for (int64_t d = 0; d < self.dim(); d++) order.push_back(d);
  const auto batch_end = std::partition(order.begin(), order.end(), [&](int64_t d) { return std::find(dims.begin(), dims.end(), d) == dims.end(); });
  std::copy(dims.begin(), dims.end(), batch_end);
  const auto farther = [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); };
  std::stable_sort(order.begin(), batch_end, farther);
  std::stable_sort(batch_end, order.end(), farther);
  return order;
}

void move_last(DimVector& order, int64_t dim) {
  order.erase(std::find(order.begin(), order.end(), dim));
  order.push_back(dim);
}

OutSpec in_order(DimVector sizes, const DimVector& order, ScalarType dtype, Device device) {
  OutSpec spec{std::move(sizes), dtype, device};
  spec.strides.resize(spec.sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    spec.strides[d] = stride;
    stride *= std::max<int64_t>(spec.sizes[d], 1);
  }
  return spec;
}

void check_primitive(const char* op, const Tensor& self, IntArrayRef dims, int64_t normalization) {
  uint64_t seen = 0;
  for (const int64_t d : dims) {
    CRESSET_CHECK(!(seen >> d & 1), op, ": FFT dims must be unique, got ", dims);
    CRESSET_CHECK(self.size(d) > 0, op, ": Invalid number of data points (", self.size(d), ") specified, got shape ", self.sizes());
    seen |= uint64_t{1} << d;
  }
  CRESSET_CHECK(normalization >= kNone && normalization <= kByCount, op, ": expected a normalization of 0, 1 or 2, got ", normalization);
}

}  // namespace

namespace meta {

OutSpec _fft_c2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool) {
  CRESSET_CHECK(self.is_complex(), "_fft_c2c: Only supports complex dtypes, but found: ", self.scalar_type());
  const DimVector dims = wrapped(self, dim);
  check_primitive("_fft_c2c", self, dims, normalization);
  if (dims.empty()) return {DimVector(self.sizes()), self.scalar_type(), self.device(), preserved_strides(self)};
  return in_order(DimVector(self.sizes()), memory_order(self, dims), self.scalar_type(), self.device());
}

OutSpec _fft_r2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool onesided) {
  CRESSET_CHECK(self.is_floating_point(), "_fft_r2c: Only supports floating-point dtypes, but found: ", self.scalar_type());
  CRESSET_CHECK(self.scalar_type() == kFloat || self.scalar_type() == kDouble, "_fft_r2c: Unsupported dtype ", self.scalar_type());
  const DimVector dims = wrapped(self, dim);
  CRESSET_CHECK(!dims.empty(), "_fft_r2c: must transform at least one axis");
  check_primitive("_fft_r2c", self, dims, normalization);
  const int64_t last = dims.back();
  DimVector sizes(self.sizes()), order = memory_order(self, dims);
  if (onesided) sizes[static_cast<size_t>(last)] = self.size(last) / 2 + 1;
  move_last(order, last);
  return in_order(std::move(sizes), order, to_complex_type(self.scalar_type()), self.device());
}

OutSpec _fft_c2r(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t last_dim_size) {
  CRESSET_CHECK(self.is_complex(), "_fft_c2r: Only supports complex dtypes, but found: ", self.scalar_type());
  const DimVector dims = wrapped(self, dim);
  CRESSET_CHECK(!dims.empty(), "_fft_c2r: must transform at least one axis");
  check_primitive("_fft_c2r", self, dims, normalization);
  const int64_t last = dims.back();
  CRESSET_CHECK(last_dim_size >= 1, "_fft_c2r: Invalid number of data points (", last_dim_size, ") specified");
  CRESSET_CHECK(self.size(last) >= last_dim_size / 2 + 1, "_fft_c2r: expected at least ", last_dim_size / 2 + 1, " elements along dimension ", last, " for ",
                last_dim_size, " real numbers, got shape ", self.sizes());
  DimVector sizes(self.sizes()), order = memory_order(self, IntArrayRef(dims.data(), dims.size() - 1));
  sizes[static_cast<size_t>(last)] = last_dim_size;
  move_last(order, last);
  return in_order(std::move(sizes), order, to_real_type(self.scalar_type()), self.device());
}

}  // namespace meta

namespace cpu {

void _fft_c2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward, const Tensor& out) {
  if (dim.empty()) return overwrite(out, self);
  const DimVector dims = wrapped(self, dim);
  kernels::fft_c2c(view_of(out), view_of(self), dims, forward, factor(normalization, self.sizes(), dims));
}
void _fft_r2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool, const Tensor& out) {
  const DimVector dims = wrapped(self, dim);
  kernels::fft_r2c(view_of(out), view_of(self), dims, factor(normalization, self.sizes(), dims));
}
void _fft_c2r(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t, const Tensor& out) {
  const DimVector dims = wrapped(self, dim);
  const IntArrayRef others(dims.data(), dims.size() - 1);
  const Tensor half = others.empty() ? self : cresset::_fft_c2c(self, others, kNone, false);
  kernels::fft_c2r(view_of(out), view_of(half), dims.back(), factor(normalization, out.sizes(), dims));
}

}  // namespace cpu

namespace {

Normalization normalization_of(Norm norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kByCount;
  if (*norm == "forward") return forward ? kByCount : kNone;
  CRESSET_CHECK(*norm == "ortho", "fft: Invalid normalization mode: \"", std::string(*norm), "\"");
  return kByRoot;
}

// float32, float64 or their complex types. Integers become the default dtype.
Tensor promoted(const char* op, const Tensor& self, bool complex) {
  ScalarType t = is_integral_type(self.scalar_type(), true) ? get_default_dtype() : self.scalar_type();
  CRESSET_CHECK(t == kFloat || t == kDouble || t == kComplexFloat || t == kComplexDouble, op, ": Unsupported dtype ", t);
  if (complex) t = to_complex_type(t);
  return self.to(t);
}

Tensor promoted_real(const char* op, const Tensor& self) {
  CRESSET_CHECK(!self.is_complex(), op, ": expected a real input, got ", self.scalar_type());
  return promoted(op, self, false);
}

// Cut or filled with zeros to these lengths along dims; -1 leaves a dimension.
Tensor resized(const char* op, Tensor x, IntArrayRef dims, IntArrayRef lengths) {
  DimVector pads(static_cast<size_t>(2 * x.dim()), 0);
  bool fill = false;
  for (size_t i = 0; i < dims.size(); i++) {
    if (lengths[i] == -1) continue;
    CRESSET_CHECK(lengths[i] > 0, op, ": Invalid number of data points (", lengths[i], ") specified");
    const int64_t size = x.size(dims[i]);
    if (size > lengths[i]) x = x.narrow(dims[i], 0, lengths[i]);
    pads[static_cast<size_t>(2 * (x.dim() - 1 - dims[i]) + 1)] = std::max<int64_t>(lengths[i] - size, 0);
    fill = fill || size < lengths[i];
  }
  return fill ? cresset::constant_pad_nd(x, pads) : x;
}

void check_length(const char* op, int64_t n) { CRESSET_CHECK(n >= 1, op, ": Invalid number of data points (", n, ") specified"); }

int64_t one_dim(const Tensor& self, int64_t dim) { return wrap_dim(dim, self.dim(), false); }

Tensor real_input(const char* op, const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm, bool forward, bool onesided) {
  const int64_t d = one_dim(self, dim);
  check_length(op, n.value_or(self.size(d)));
  return cresset::_fft_r2c(resized(op, self, d, n.value_or(-1)), d, normalization_of(norm, forward), onesided);
}

Tensor complex_input(const char* op, const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm, bool forward) {
  const int64_t d = one_dim(self, dim);
  check_length(op, n.value_or(self.size(d)));
  return cresset::_fft_c2c(resized(op, self, d, n.value_or(-1)), d, normalization_of(norm, forward), forward);
}

Tensor real_output(const char* op, const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm, bool forward) {
  const Tensor complex = promoted(op, self, true);
  const int64_t d = one_dim(self, dim), length = n.value_or(2 * (self.size(d) - 1));
  check_length(op, length);
  const Tensor x = resized(op, complex, d, n ? length / 2 + 1 : -1);
  return cresset::_fft_c2r(forward ? x.conj() : x, d, normalization_of(norm, forward), length);
}

struct Shape {
  DimVector dims, lengths;
};

// Which dimensions, and the lengths there.
Shape shape_of(const char* op, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  Shape shape;
  if (dim) {
    shape.dims = wrapped(self, dim.value());
    uint64_t seen = 0;
    for (const int64_t d : shape.dims) {
      CRESSET_CHECK(!(seen >> d & 1), op, ": FFT dims must be unique, got ", dim.value());
      seen |= uint64_t{1} << d;
    }
    CRESSET_CHECK(!s || s.value().size() == shape.dims.size(), op, ": expected as many sizes in s as dimensions in dim, got ", dim.value(), " and ",
                  s ? s.value() : IntArrayRef());
  } else {
    const int64_t count = s ? static_cast<int64_t>(s.value().size()) : self.dim();
    CRESSET_CHECK(count <= self.dim(), op, ": Got shape with ", count, " values but input tensor only has ", self.dim(), " dimensions.");
    for (int64_t d = self.dim() - count; d < self.dim(); d++) shape.dims.push_back(d);
  }
  for (size_t i = 0; i < shape.dims.size(); i++) {
    const int64_t n = s && s.value()[i] != -1 ? s.value()[i] : self.size(shape.dims[i]);
    check_length(op, n);
    shape.lengths.push_back(n);
  }
  return shape;
}

Shape shape_with_last(const char* op, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  Shape shape = shape_of(op, self, s, dim);
  CRESSET_CHECK(!shape.dims.empty(), op, " must transform at least one axis");
  return shape;
}

Tensor complex_nd(const char* op, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm, bool forward) {
  const Shape shape = shape_of(op, self, s, dim);
  return cresset::_fft_c2c(resized(op, promoted(op, self, true), shape.dims, shape.lengths), shape.dims, normalization_of(norm, forward), forward);
}

// The last dimension's length is that of the real side.
struct RealSide {
  Shape shape;
  int64_t length;
};
RealSide real_side(const char* op, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  RealSide r{shape_with_last(op, self, s, dim), 0};
  const bool given = s && s.value().back() != -1;
  r.length = given ? s.value().back() : 2 * (self.size(r.shape.dims.back()) - 1);
  check_length(op, r.length);
  r.shape.lengths.back() = r.length / 2 + 1;
  return r;
}

IntArrayRef but_last(const DimVector& v) { return IntArrayRef(v.data(), v.size() - 1); }

}  // namespace

namespace composite {

Tensor fft_fft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  const Tensor x = promoted("fft", self, false);
  return x.is_complex() ? complex_input("fft", x, n, dim, norm, true) : real_input("fft", x, n, dim, norm, true, false);
}
Tensor fft_ifft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  const Tensor x = promoted("ifft", self, false);
  return x.is_complex() ? complex_input("ifft", x, n, dim, norm, false) : real_input("ifft", x, n, dim, norm, false, false).conj();
}
Tensor fft_rfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  return real_input("rfft", promoted_real("rfft", self), n, dim, norm, true, true);
}
Tensor fft_irfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) { return real_output("irfft", self, n, dim, norm, false); }
Tensor fft_hfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) { return real_output("hfft", self, n, dim, norm, true); }
Tensor fft_ihfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  return real_input("ihfft", promoted_real("ihfft", self), n, dim, norm, false, true).conj();
}

Tensor fft_fftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) { return complex_nd("fftn", self, s, dim, norm, true); }
Tensor fft_ifftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) { return complex_nd("ifftn", self, s, dim, norm, false); }

Tensor fft_rfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  CRESSET_CHECK(!self.is_complex(), "rfftn: expected a real input, got ", self.scalar_type());
  const Shape shape = shape_with_last("rfftn", self, s, dim);
  return cresset::_fft_r2c(resized("rfftn", promoted("rfftn", self, false), shape.dims, shape.lengths), shape.dims, normalization_of(norm, true), true);
}
Tensor fft_irfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const RealSide side = real_side("irfftn", self, s, dim);
  const Tensor x = resized("irfftn", promoted("irfftn", self, true), side.shape.dims, side.shape.lengths);
  return cresset::_fft_c2r(x, side.shape.dims, normalization_of(norm, false), side.length);
}
Tensor fft_hfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const RealSide side = real_side("hfftn", self, s, dim);
  const DimVector& dims = side.shape.dims;
  const Normalization how = normalization_of(norm, true);
  const Tensor x = resized("hfftn", promoted("hfftn", self, true), dims, side.shape.lengths);
  const Tensor half = dims.size() == 1 ? x : cresset::_fft_c2c(x, but_last(dims), how, true);
  return cresset::_fft_c2r(half.conj(), dims.back(), how, side.length);
}
Tensor fft_ihfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const Shape shape = shape_with_last("ihfftn", self, s, dim);
  CRESSET_CHECK(!self.is_complex(), "ihfftn: Only supports floating-point dtypes, but found: ", self.scalar_type());
  const Normalization how = normalization_of(norm, false);
  const Tensor x = resized("ihfftn", promoted("ihfftn", self, false), shape.dims, shape.lengths);
  const Tensor half = cresset::_fft_r2c(x, shape.dims.back(), how, true);
  if (shape.dims.size() == 1) return half.conj();
  return cresset::_fft_c2c(cresset::conj_physical(half), but_last(shape.dims), how, false);
}

Tensor fft_fft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, Norm norm) { return cresset::fft_fftn(self, s, dim, norm); }
Tensor fft_ifft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, Norm norm) { return cresset::fft_ifftn(self, s, dim, norm); }
Tensor fft_rfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, Norm norm) { return cresset::fft_rfftn(self, s, dim, norm); }
Tensor fft_irfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, Norm norm) { return cresset::fft_irfftn(self, s, dim, norm); }
Tensor fft_hfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, Norm norm) { return cresset::fft_hfftn(self, s, dim, norm); }
Tensor fft_ihfft2(const Tensor& self, OptionalIntArrayRef s, IntArrayRef dim, Norm norm) { return cresset::fft_ihfftn(self, s, dim, norm); }

}  // namespace composite

}  // namespace cresset::ops
