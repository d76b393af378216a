// Differences, integrals and quantiles.

#include <algorithm>
#include <iterator>

#include "cresset/core/batched.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/own.h"

namespace cresset::ops::composite {

namespace {

Tensor difference(const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  const Tensor high = x.narrow(dim, std::min<int64_t>(1, n), std::max<int64_t>(n - 1, 0)), low = x.narrow(dim, 0, std::max<int64_t>(n - 1, 0));
  return x.scalar_type() == kBool ? high.logical_xor(low) : high - low;
}

// The sum of neighbours, once per gap.
Tensor neighbours(const Tensor& y, int64_t dim) { return y.narrow(dim, 0, y.size(dim) - 1) + y.narrow(dim, 1, y.size(dim) - 1); }

// The coordinates x of y along dim, ready to broadcast against it.
Tensor gaps(const char* op, const Tensor& y, const Tensor& x, int64_t dim) {
  Tensor at = x;
  if (x.dim() == 1 && y.dim() > 1) {
    CRESSET_CHECK(x.size(0) == y.size(dim), op, ": expected as many x as y values along dimension ", dim, ", got ", x.size(0), " and ", y.size(dim));
    DimVector shape(static_cast<size_t>(y.dim()), 1);
    shape[wrap_dim(dim, y.dim())] = x.size(0);
    at = x.view(shape);
  } else if (x.dim() < y.dim()) {
    DimVector shape(x.sizes());
    while (static_cast<int64_t>(shape.size()) < y.dim()) shape.insert(shape.begin(), 1);
    at = x.view(shape);
  }
  return difference(at, dim);
}

void check_number(const char* op, const Tensor& y) { CRESSET_CHECK(y.scalar_type() != kBool, op, ": received a bool input, which is not supported"); }

// The other indices of y, dimension dim at zero.
Tensor nothing(const Tensor& y, int64_t dim) {
  DimVector shape(y.sizes());
  shape.erase(shape.begin() + wrap_dim(dim, y.dim()));
  return cresset::zeros(shape, y.options());
}

// df / dx along one dimension: `spacing` is one step (0-d) or the coordinates (1-d).
Tensor slope(const Tensor& f, int64_t d, const Tensor& coordinates, const Scalar& step, int64_t edge_order) {
  const int64_t n = f.size(d);
  CRESSET_CHECK(n > edge_order, "gradient: expected sizes above edge_order, got ", n, " for edge_order ", edge_order);
  auto at = [&](int64_t i, int64_t length) { return f.narrow(d, i, length); };
  if (!coordinates.defined()) {
    const Tensor middle = (at(2, n - 2) - at(0, n - 2)) / step * 0.5;
    if (edge_order == 1) return cresset::cat({(at(1, 1) - at(0, 1)) / step, middle, (at(n - 1, 1) - at(n - 2, 1)) / step}, d);
    const Tensor first = (at(1, 1) * 4.0 - at(0, 1) * 3.0 - at(2, 1)) / step * 0.5;
    const Tensor last = (at(n - 1, 1) * 3.0 - at(n - 2, 1) * 4.0 + at(n - 3, 1)) / step * 0.5;
    return cresset::cat({first, middle, last}, d);
  }
  CRESSET_CHECK(coordinates.dim() == 1 && coordinates.size(0) == n, "gradient: expected coordinates of length ", n, ", got shape ", coordinates.sizes());
  DimVector shape(static_cast<size_t>(f.dim()), 1);
  shape[static_cast<size_t>(d)] = n - 1;
  const Tensor h = difference(coordinates, 0).view(shape);
  auto gap = [&](int64_t i, int64_t length) { return h.narrow(d, i, length); };
  const Tensor h1 = gap(0, n - 2), h2 = gap(1, n - 2);
  const Tensor middle = at(0, n - 2) * (-h2 / (h1 * (h1 + h2))) + at(1, n - 2) * ((h2 - h1) / (h1 * h2)) + at(2, n - 2) * (h1 / (h2 * (h1 + h2)));
  if (edge_order == 1) return cresset::cat({(at(1, 1) - at(0, 1)) / gap(0, 1), middle, (at(n - 1, 1) - at(n - 2, 1)) / gap(n - 2, 1)}, d);
  const Tensor a = gap(0, 1), b = gap(1, 1), p = gap(n - 3, 1), q = gap(n - 2, 1);
  const Tensor first = at(0, 1) * (-(a * 2.0 + b) / (a * (a + b))) + at(1, 1) * ((a + b) / (a * b)) - at(2, 1) * (a / (b * (a + b)));
  const Tensor last = at(n - 3, 1) * (q / (p * (p + q))) - at(n - 2, 1) * ((p + q) / (p * q)) + at(n - 1, 1) * ((q * 2.0 + p) / (q * (p + q)));
  return cresset::cat({first, middle, last}, d);
}

DimVector gradient_dims(const Tensor& self, OptionalIntArrayRef dims, int64_t edge_order) {
  CRESSET_CHECK(self.scalar_type() != kByte, "gradient: does not support uint8 input");
  CRESSET_CHECK(edge_order == 1 || edge_order == 2, "gradient: only supports edge_order=1 and edge_order=2, got ", edge_order);
  DimVector list;
  if (dims) {
    for (const int64_t d : dims.value()) list.push_back(wrap_dim(d, self.dim()));
    dim_mask(dims.value(), self.dim());
  } else {
    for (int64_t d = 0; d < self.dim(); d++) list.push_back(d);
  }
  return list;
}

template <class Step> std::vector<Tensor> slopes(const DimVector& dims, size_t spacings, Step step) {
  CRESSET_CHECK(spacings == dims.size(), "gradient: expected spacing to be unspecified, a number, or a list of the length of dim ", dims.size(), ", got ",
                spacings);
  std::vector<Tensor> results;
  for (size_t i = 0; i < dims.size(); i++) results.push_back(step(dims[i], i));
  return results;
}

}  // namespace

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const std::optional<Tensor>& prepend, const std::optional<Tensor>& append) {
  CRESSET_CHECK(self.dim() >= 1, "diff: expects input to be at least one-dimensional");
  CRESSET_CHECK(n >= 0, "diff: order must be non-negative but got ", n);
  const int64_t d = wrap_dim(dim, self.dim());
  std::vector<Tensor> parts;
  if (given(prepend)) parts.push_back(*prepend);
  parts.push_back(self);
  if (given(append)) parts.push_back(*append);
  for (const Tensor& p : parts) {
    CRESSET_CHECK(p.dim() == self.dim(), "diff: expected prepend and append of as many dimensions as input, got ", p.dim(), " and ", self.dim());
    for (int64_t i = 0; i < self.dim(); i++)
      CRESSET_CHECK(i == d || p.size(i) == self.size(i),
                    "diff: expected prepend and append of the sizes of input but along dim,"
                    " got ",
                    p.sizes(), " and ", self.sizes());
  }
  Tensor x = parts.size() > 1 ? cresset::cat(parts, d) : self;
  if (n == 0) return x.clone();
  for (int64_t i = 0; i < n && (i == 0 || x.size(d) > 0); i++) x = difference(x, d);
  return x;
}

std::vector<Tensor> gradient(const Tensor& self, const std::optional<Scalar>& spacing, std::optional<int64_t> dim, int64_t edge_order) {
  const DimVector one{dim.value_or(0)};
  const DimVector dims = gradient_dims(self, dim ? OptionalIntArrayRef(one) : OptionalIntArrayRef(), edge_order);
  return slopes(dims, dims.size(), [&](int64_t d, size_t) { return slope(self, d, {}, spacing.value_or(1), edge_order); });
}
std::vector<Tensor> gradient(const Tensor& self, const Scalar& spacing, IntArrayRef dim, int64_t edge_order) {
  const DimVector dims = gradient_dims(self, dim, edge_order);
  return slopes(dims, dims.size(), [&](int64_t d, size_t) { return slope(self, d, {}, spacing, edge_order); });
}
std::vector<Tensor> gradient(const Tensor& self, IntArrayRef dim, int64_t edge_order) { return composite::gradient(self, Scalar(1), dim, edge_order); }
std::vector<Tensor> gradient(const Tensor& self, ArrayRef<Scalar> spacing, std::optional<int64_t> dim, int64_t edge_order) {
  const DimVector one{dim.value_or(0)};
  const DimVector dims = gradient_dims(self, dim ? OptionalIntArrayRef(one) : OptionalIntArrayRef(), edge_order);
  return slopes(dims, spacing.size(), [&](int64_t d, size_t i) { return slope(self, d, {}, spacing[i], edge_order); });
}
std::vector<Tensor> gradient(const Tensor& self, ArrayRef<Scalar> spacing, IntArrayRef dim, int64_t edge_order) {
  const DimVector dims = gradient_dims(self, dim, edge_order);
  return slopes(dims, spacing.size(), [&](int64_t d, size_t i) { return slope(self, d, {}, spacing[i], edge_order); });
}
std::vector<Tensor> gradient(const Tensor& self, TensorList spacing, std::optional<int64_t> dim, int64_t edge_order) {
  const DimVector one{dim.value_or(0)};
  const DimVector dims = gradient_dims(self, dim ? OptionalIntArrayRef(one) : OptionalIntArrayRef(), edge_order);
  for (const Tensor& s : spacing) CRESSET_CHECK(s.device() == self.device(), "gradient: expected all tensors to be on the same device");
  return slopes(dims, spacing.size(), [&](int64_t d, size_t i) { return slope(self, d, spacing[i], 1, edge_order); });
}
std::vector<Tensor> gradient(const Tensor& self, TensorList spacing, IntArrayRef dim, int64_t edge_order) {
  const DimVector dims = gradient_dims(self, dim, edge_order);
  for (const Tensor& s : spacing) CRESSET_CHECK(s.device() == self.device(), "gradient: expected all tensors to be on the same device");
  return slopes(dims, spacing.size(), [&](int64_t d, size_t i) { return slope(self, d, spacing[i], 1, edge_order); });
}

Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  wrap_dim(dim, y.dim(), false);
  if (y.size(dim) == 0) return nothing(y, dim);
  check_number("trapezoid", y);
  check_number("trapezoid", x);
  return (neighbours(y, dim) * gaps("trapezoid", y, x, dim)).sum(IntArrayRef(dim)) / 2.0;
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  wrap_dim(dim, y.dim(), false);
  if (y.size(dim) == 0) return nothing(y, dim);
  check_number("trapezoid", y);
  CRESSET_CHECK(!dx.isComplex() || y.is_complex(), "trapezoid: a complex dx goes with complex values only");
  CRESSET_CHECK(dx.type() != kBool, "trapezoid: received a bool dx, which is not supported");
  return (y.sum(IntArrayRef(dim)) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx;
}
Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim) { return cresset::trapezoid(y, x, dim); }
Tensor trapz(const Tensor& y, double dx, int64_t dim) { return cresset::trapezoid(y, Scalar(dx), dim); }
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  check_number("cumulative_trapezoid", y);
  check_number("cumulative_trapezoid", x);
  return (neighbours(y, dim) * gaps("cumulative_trapezoid", y, x, dim)).cumsum(dim) / 2.0;
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  check_number("cumulative_trapezoid", y);
  CRESSET_CHECK(dx.type() != kBool, "cumulative_trapezoid: received a bool dx, which is not supported");
  return neighbours(y, dim).cumsum(dim) * dx / 2.0;
}

namespace {

Tensor quantile_of(const char* op, const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation,
                   bool ignore_nan) {
  CRESSET_CHECK(self.scalar_type() == kFloat || self.scalar_type() == kDouble, op, ": input tensor must be either float or double dtype, got ",
                self.scalar_type());
  CRESSET_CHECK(self.numel() > 0, op, ": input tensor must be non-empty");
  CRESSET_CHECK(q.dim() <= 1, op, ": q must be a scalar or 1D tensor, got shape ", q.sizes());
  CRESSET_CHECK(q.scalar_type() == self.scalar_type(), op, ": expected q of the dtype of input, got ", q.scalar_type(), " and ", self.scalar_type());
  CRESSET_CHECK(q.device() == self.device(), op, ": expected q on the device of input");
  constexpr std::string_view kModes[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  CRESSET_CHECK(std::find(std::begin(kModes), std::end(kModes), interpolation) != std::end(kModes), op,
                ": expected interpolation linear, lower, higher, midpoint or nearest, got ", std::string(interpolation));
  // A graph of the call would be one for these values of q.
  CRESSET_CHECK(physical(q).lacks_data() || dispatch::is_listening() || physical(q).ge(0).logical_and(physical(q).le(1)).all().item<bool>(), op,
                ": expected q within [0, 1]");
  const int64_t d = dim ? wrap_dim(*dim, self.dim()) : 0;
  const Tensor rows = !dim ? self.reshape({-1}) : self.dim() == 0 ? self.unsqueeze(0) : self.movedim(d, -1);
  const Tensor sorted = std::get<0>(rows.sort(-1));
  const int64_t n = sorted.size(-1);
  const Tensor chances = q.reshape({-1}), missing = sorted.isnan();
  Tensor rank;
  if (ignore_nan) rank = (chances * (missing.logical_not().sum(IntArrayRef(-1), true) - 1)).clamp_min(0);
  else rank = cresset::where(missing.any(-1, true), cresset::full_like(chances, n - 1), chances * (n - 1));
  if (interpolation == "lower") rank = rank.floor();
  else if (interpolation == "higher") rank = rank.ceil();
  else if (interpolation == "nearest") rank = rank.round();
  rank = rank.contiguous();
  const Tensor below = rank.to(kLong);
  Tensor values = sorted.gather(-1, below);
  if (interpolation == "linear" || interpolation == "midpoint") {
    const Tensor weight = interpolation == "midpoint" ? cresset::full_like(rank, 0.5) : rank - below;
    const Tensor above = rank.ceil().to(kLong);
    values = values.lerp(sorted.gather(-1, above), weight);
  }
  // (..., q): the dimension back to its place, then the quantiles in front.
  DimVector shape;
  for (int64_t i = 0; i < self.dim(); i++)
    if (keepdim || (dim && i != d)) shape.push_back(dim && i != d ? self.size(i) : 1);
  shape.push_back(chances.numel());
  values = values.reshape(shape);
  return own(q.dim() == 0 ? values.select(-1, 0) : values.movedim(-1, 0));
}

Tensor chance(const char* op, const Tensor& self, double q) {
  CRESSET_CHECK(q >= 0 && q <= 1, op, ": expected q within [0, 1], got ", q);
  return cresset::scalar_tensor(q, self.options());
}

}  // namespace

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantile_of("quantile", self, q, dim, keepdim, interpolation, false);
}
Tensor quantile(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantile_of("quantile", self, chance("quantile", self, q), dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantile_of("nanquantile", self, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantile_of("nanquantile", self, chance("nanquantile", self, q), dim, keepdim, interpolation, true);
}

}  // namespace cresset::ops::composite
