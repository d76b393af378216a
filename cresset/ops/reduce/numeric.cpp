// Products, statistics and distances out of other ops.

#include <algorithm>
#include <cmath>

#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/core/layout.h"
#include "cresset/kernels/linalg/distance.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/own.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

namespace {

void check_cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  CRESSET_CHECK(x1.dim() >= 2 && x2.dim() >= 2, "cdist: only supports at least 2D tensors, got shapes ", x1.sizes(), " and ", x2.sizes());
  CRESSET_CHECK(x1.size(-1) == x2.size(-1), "cdist: expected x1 and x2 of as many columns, got ", x1.size(-1), " and ", x2.size(-1));
  CRESSET_CHECK(x1.is_floating_point() && x2.is_floating_point(), "cdist: only supports floating-point dtypes, got ", x1.scalar_type(), " and ",
                x2.scalar_type());
  CRESSET_CHECK(p >= 0, "cdist: only supports non-negative p values, got ", p);
  CRESSET_CHECK(!compute_mode || (*compute_mode >= 0 && *compute_mode <= 2), "cdist: possible modes are 0, 1 and 2, got ", compute_mode.value_or(0));
}

void check_pdist(const Tensor& self, double p) {
  CRESSET_CHECK(self.dim() == 2, "pdist: only supports 2D tensors, got shape ", self.sizes());
  CRESSET_CHECK(self.is_floating_point(), "pdist: only supports floating-point dtypes, got ", self.scalar_type());
  CRESSET_CHECK(p >= 0, "pdist: only supports non-negative p values, got ", p);
}

}  // namespace

}  // namespace cresset::ops

namespace cresset::ops::composite {

namespace {

// beta self + alpha x; self is not read where beta is 0.
Tensor blended(const Tensor& self, const Tensor& x, const Scalar& beta, const Scalar& alpha) {
  const Tensor scaled = alpha.is(1) ? x : x * alpha;
  if (beta.is(0)) return self.scalar_type() == scaled.scalar_type() ? scaled : scaled.to(cresset::result_type(self, scaled));
  return (beta.is(1) ? self : self * beta) + scaled;
}

}  // namespace

Tensor trace(const Tensor& self) {
  CRESSET_CHECK(self.dim() == 2, "trace: expected a matrix, got shape ", self.sizes());
  return self.diagonal().sum();
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const int64_t n = std::max(self.dim(), other.dim());
  DimVector a, b, shape;
  for (int64_t d = 0; d < n; d++) {
    const int64_t i = d - (n - self.dim()), j = d - (n - other.dim()), p = i >= 0 ? self.size(i) : 1, q = j >= 0 ? other.size(j) : 1;
    a.push_back(p);
    a.push_back(1);
    b.push_back(1);
    b.push_back(q);
    shape.push_back(p * q);
  }
  Tensor left = self.reshape(a), right = other.reshape(b);
  // Rows of the product are short runs of one number each: both sides are spread to its rows first where they are small beside it.
  if (n > 1) {
    const int64_t p = a[a.size() - 2], q = b.back(), width = p * q;
    if (p > 1 && q < 256 && self.numel() >= 4 * p && other.numel() >= 4 * q) {
      DimVector pieces(a), tiled(b);
      pieces.back() = q;
      tiled[tiled.size() - 2] = p;
      left = left.expand(pieces);
      right = right.expand(tiled);
      for (DimVector* sizes : {&pieces, &tiled}) {
        sizes->pop_back();
        sizes->back() = width;
      }
      left = left.reshape(pieces);
      right = right.reshape(tiled);
    }
  }
  return own((left * right).reshape(shape));
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  CRESSET_CHECK(dims_self.size() == dims_other.size(), "tensordot: both dimension lists should have same length, got ", dims_self, " and ", dims_other);
  CRESSET_CHECK(self.scalar_type() == other.scalar_type(), "tensordot: both inputs should have same dtype, got ", self.scalar_type(), " and ",
                other.scalar_type());
  const uint64_t summed_a = dim_mask(dims_self, self.dim()), summed_b = dim_mask(dims_other, other.dim());
  Tensor a = self, b = other;
  DimVector first, second, shape;
  int64_t rows = 1, cols = 1, width = 1;
  for (int64_t d = 0; d < self.dim(); d++)
    if (!(summed_a >> d & 1)) {
      first.push_back(d);
      shape.push_back(self.size(d));
      rows *= self.size(d);
    }
  for (size_t i = 0; i < dims_self.size(); i++) {
    const int64_t p = wrap_dim(dims_self[i], self.dim()), q = wrap_dim(dims_other[i], other.dim());
    first.push_back(p);
    second.push_back(q);
    // One side may be broadcast: the other is summed.
    if (a.size(p) == 1) b = b.sum(IntArrayRef(q), true, b.scalar_type());
    else if (b.size(q) == 1) a = a.sum(IntArrayRef(p), true, a.scalar_type());
    CRESSET_CHECK(a.size(p) == b.size(q), "tensordot: contracted dimensions need to match, but first has size ", self.size(p), " in dim ", dims_self[i],
                  " and second has size ", other.size(q), " in dim ", dims_other[i]);
    width *= a.size(p);
  }
  for (int64_t d = 0; d < other.dim(); d++)
    if (!(summed_b >> d & 1)) {
      second.push_back(d);
      shape.push_back(other.size(d));
      cols *= other.size(d);
    }
  const Tensor left = a.permute(first), right = b.permute(second);
  if (rows == 1 && cols == 1) return left.reshape({width}).dot(right.reshape({width})).reshape(shape);
  return left.reshape({rows, width}).mm(right.reshape({width, cols})).reshape(shape);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  CRESSET_CHECK(self.scalar_type() == other.scalar_type(), "inner: expected both inputs to have the same dtype, got ", self.scalar_type(), " and ",
                other.scalar_type());
  if (self.dim() == 0 || other.dim() == 0) return self * other;
  CRESSET_CHECK(self.size(-1) == other.size(-1), "inner: expected equal last dimensions, got shapes ", self.sizes(), " and ", other.sizes());
  return cresset::tensordot(self, other, IntArrayRef(-1), IntArrayRef(-1));
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  CRESSET_CHECK(self.dim() == 1 && other.dim() == 1, "vdot: 1D tensors expected, got shapes ", self.sizes(), " and ", other.sizes());
  return self.conj().dot(other);
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  CRESSET_CHECK(self.dim() == other.dim(), "linalg.cross: expected inputs of as many dimensions, got ", self.dim(), " and ", other.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  CRESSET_CHECK(self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs dimension ", dim, " must have length 3, got ", self.size(d), " and ",
                other.size(d));
  const DimVector shape = broadcast_shapes(self.sizes(), other.sizes());
  const Tensor a = self.expand(shape), b = other.expand(shape);
  auto turned = [d](const Tensor& t, int64_t by) { return t.roll(IntArrayRef(by), IntArrayRef(d)); };
  return turned(a, -1) * turned(b, -2) - turned(a, -2) * turned(b, -1);
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return cresset::linalg_cross(self, other, *dim);
  CRESSET_WARN_ONCE("cross: leaving out dim is deprecated; give it, or use linalg.cross, whose default is the last dimension");
  for (int64_t d = 0; d < self.dim(); d++)
    if (self.size(d) == 3) return cresset::linalg_cross(self, other, d);
  CRESSET_CHECK(false, "cross: no dimension of size 3 in input of shape ", self.sizes());
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  CRESSET_CHECK(batch1.dim() == 3 && batch2.dim() == 3, "addbmm: expected 3D tensors, got shapes ", batch1.sizes(), " and ", batch2.sizes());
  CRESSET_CHECK(self.scalar_type() == batch1.scalar_type(), "addbmm: expected all inputs to have the same dtype, got ", self.scalar_type(), " and ",
                batch1.scalar_type());
  CRESSET_CHECK(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1), "addbmm: incompatible matrix sizes, got ", batch1.sizes(), " and ",
                batch2.sizes());
  const DimVector shape{batch1.size(1), batch2.size(2)};
  const Tensor added = self.expand(shape);
  // The batches side by side: their products add up inside one product.
  const Tensor a = batch1.permute({1, 0, 2}).reshape({shape[0], batch1.size(0) * batch1.size(2)});
  return cresset::addmm(added, a, batch2.reshape({a.size(1), shape[1]}), beta, alpha);
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  CRESSET_CHECK(vec1.dim() == 1 && vec2.dim() == 1, "addr: expected 1-D argument vec1 and vec2, got shapes ", vec1.sizes(), " and ", vec2.sizes());
  const ScalarType common = result_type({Arg(self), Arg(vec1), Arg(vec2)});
  auto check = [&](const char* name, const Scalar& factor) {
    CRESSET_CHECK(!is_integral_type(common, true) || factor.isIntegral(true), "addr: for integral input tensors, ", name,
                  " must not be a floating point number, got ", factor);
    CRESSET_CHECK(common == kBool || !factor.isBoolean(), "addr: boolean ", name, " only supported for Boolean results, got ", common);
    CRESSET_CHECK(is_complex_type(common) || !factor.isComplex(), "addr: complex ", name, " needs complex tensors, got ", common);
  };
  check("beta", beta);
  check("alpha", alpha);
  const DimVector shape{vec1.size(0), vec2.size(0)};
  if (self.is_floating_point() && self.scalar_type() == vec1.scalar_type() && vec1.scalar_type() == vec2.scalar_type() && beta.is(1) &&
      self.scalar_type() != kHalf && self.scalar_type() != kBFloat16)
    return cresset::addcmul(self.expand(shape), vec1.unsqueeze(1), vec2, alpha);
  const Tensor sum = blended(self.expand(shape), cresset::outer(vec1, vec2), beta, alpha);
  return self.scalar_type() == kBool && vec1.scalar_type() == kBool && vec2.scalar_type() == kBool ? sum.to(kBool) : sum;
}

Tensor cov(const Tensor& self, int64_t correction, const std::optional<Tensor>& fweights, const std::optional<Tensor>& aweights) {
  CRESSET_CHECK(self.dim() <= 2, "cov: expected input to have two or fewer dimensions, got shape ", self.sizes());
  CRESSET_CHECK(self.scalar_type() != kBool, "cov: bool dtype is not supported for input");
  const Tensor x = self.dim() < 2 ? self.reshape({1, self.numel()}) : self;
  const int64_t n = x.size(1);
  Tensor weights;
  auto check = [&](const char* name, const Tensor& w) {
    CRESSET_CHECK(w.dim() <= 1, "cov: expected ", name, " to have one or fewer dimensions, got shape ", w.sizes());
    CRESSET_CHECK(w.numel() == n, "cov: expected an element of ", name, " for each observation, got ", w.numel(), " and ", n);
    CRESSET_CHECK(n == 0 || physical(w).lacks_data() || physical(w).min().ge(0).item<bool>(), "cov: ", name, " cannot be negative");
  };
  if (given(fweights)) {
    CRESSET_CHECK(is_integral_type(fweights->scalar_type(), false), "cov: expected fweights to have integral dtype, got ", fweights->scalar_type());
    check("fweights", *fweights);
    weights = *fweights;
  }
  if (given(aweights)) {
    CRESSET_CHECK(aweights->is_floating_point(), "cov: expected aweights to have floating point dtype, got ", aweights->scalar_type());
    check("aweights", *aweights);
    weights = weights.defined() ? weights * *aweights : *aweights;
  }
  const Tensor total = weights.defined() ? weights.sum() : Tensor();
  CRESSET_CHECK(!weights.defined() || n == 0 || physical(weights).lacks_data() || physical(total).ne(0).all().item<bool>(),
                "cov: weights sum to zero, can't be normalized");
  const Tensor mean = weights.defined() ? (x * weights).sum(IntArrayRef(1)) / total
                                        : x.to(is_integral_type(x.scalar_type(), true) ? get_default_dtype() : x.scalar_type()).mean(IntArrayRef(1));
  Tensor factor;
  if (weights.defined()) factor = correction != 0 && given(aweights) ? total - correction * (weights * *aweights).sum() / total : total - correction;
  else
    factor =
        cresset::scalar_tensor(n - correction, TensorOptions(mean.is_complex() ? to_real_type(mean.scalar_type()) : mean.scalar_type()).device(self.device()));
  if (!weights.defined() && n <= correction) warn(str("cov: no degrees of freedom are left, got ", n, " observations and a correction of ", correction));
  factor = factor.clamp_min(0);
  const Tensor centred = x - mean.unsqueeze(1);
  const Tensor weighted = weights.defined() ? centred * weights : centred;
  return (weighted.mm(centred.t().conj().to(weighted.scalar_type())) / factor).squeeze();
}

Tensor corrcoef(const Tensor& self) {
  CRESSET_CHECK(self.dim() <= 2, "corrcoef: expected input to have two or fewer dimensions, got shape ", self.sizes());
  const Tensor c = cresset::cov(self);
  if (c.dim() == 0) return c / c;
  const Tensor d = c.diagonal();
  const Tensor deviation = (d.is_complex() ? cresset::real(d) : d).sqrt();
  const Tensor r = c / deviation.unsqueeze(-1) / deviation.unsqueeze(0);
  return c.is_complex() ? cresset::make_complex(cresset::real(r).clamp(-1, 1), cresset::imag(r).clamp(-1, 1)) : r.clamp(-1, 1);
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) { return cresset::linalg_vector_norm(self - other, p); }

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  CRESSET_CHECK(!p.isComplex() && p.toDouble() > 0, "renorm: non-positive norm not supported, got p=", p.toDouble());
  CRESSET_CHECK(!maxnorm.isComplex() && maxnorm.toDouble() >= 0, "renorm: expected maxnorm to be >= 0, got ", maxnorm.toDouble());
  CRESSET_CHECK(self.dim() > 1, "renorm: expected 2 dimensions or more, got ", self.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  DimVector others;
  for (int64_t i = 0; i < self.dim(); i++)
    if (i != d) others.push_back(i);
  const bool low = self.scalar_type() == kHalf || self.scalar_type() == kBFloat16;
  const Tensor norm = cresset::linalg_vector_norm(low ? self.to(kFloat) : self, p, others, true);
  const Tensor factor = cresset::where(norm > maxnorm, maxnorm / (norm + 1e-7), cresset::ones_like(norm));
  return (self * factor).to(self.scalar_type());
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  check_cdist(x1, x2, p, compute_mode);
  return cresset::linalg_vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, IntArrayRef(-1));
}

Tensor pdist(const Tensor& self, double p) {
  check_pdist(self, p);
  const int64_t n = self.size(0);
  const Tensor places = cresset::triu_indices(n, n, 1, TensorOptions(kLong).device(self.device()));
  return cresset::linalg_vector_norm(self.index_select(0, places.select(0, 0)) - self.index_select(0, places.select(0, 1)), p, IntArrayRef(-1));
}

// The two counts in the dtype of self, without dimensions, or as a number for integers.
Tensor ldexp(const Tensor& self, const Tensor& other) {
  const bool whole = is_integral_type(self.scalar_type(), true);
  if (!self.is_complex() && !other.is_complex()) return self * cresset::exp2(whole || other.is_floating_point() ? other : other.to(self.scalar_type()));
  if (whole) return self * cresset::pow(Scalar(2.0), other);
  return self * cresset::full({}, 2, self.options().requires_grad(false)).pow(other);
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  CRESSET_CHECK(p >= 1, "mvlgamma: expected p of at least 1, got ", p);
  const ScalarType t = self.is_floating_point() ? self.scalar_type() : get_default_dtype();
  CRESSET_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "mvlgamma: not implemented for dtype ", self.scalar_type());
  Tensor sum = cresset::full(self.sizes(), static_cast<double>(p * (p - 1)) / 4 * std::log(M_PI), TensorOptions(t).device(self.device()));
  for (int64_t j = 0; j < p; j++) sum = sum + (self.to(t) - static_cast<double>(j) / 2).lgamma();
  return sum;
}
Tensor special_multigammaln(const Tensor& self, int64_t p) { return cresset::mvlgamma(self, p); }

namespace {

// 1, x, x^2 ... of each number of a column (..., 1), n of them in its last dimension.
Tensor powers_of(const Tensor& column, int64_t n) {
  DimVector shape(column.sizes());
  shape.back() = std::max<int64_t>(n - 1, 0);
  const Tensor base = is_integral_type(column.scalar_type(), true) ? column.to(kLong) : column;
  const Tensor ones = cresset::ones_like(base);
  return cresset::cat({n == 0 ? ones.narrow(-1, 0, 0) : ones, base.expand(shape).cumprod(-1)}, -1);
}

}  // namespace

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  CRESSET_CHECK(x.scalar_type() != kBool, "linalg.vander: expected x not to be bool");
  CRESSET_CHECK(x.dim() > 0 || N, "linalg.vander: expected x to have at least one dimension, or N");
  const int64_t n = N ? *N : x.size(-1);
  CRESSET_CHECK(n > 1, "linalg.vander: N must be greater than 1, got ", n);
  return powers_of(x.dim() == 0 ? x.reshape({1, 1}) : x.unsqueeze(-1), n);
}
Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  CRESSET_CHECK(x.dim() == 1, "vander: x must be a one-dimensional tensor, got shape ", x.sizes());
  const int64_t n = N ? *N : x.size(0);
  CRESSET_CHECK(n >= 0, "vander: N must be non-negative, got ", n);
  const Tensor powers = powers_of(x.unsqueeze(1), n);
  return increasing ? powers : powers.flip({1});
}

Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return cresset::linalg_vector_norm(v, pow);
  const int64_t kept = wrap_dim(dim, v.dim());
  DimVector dims;
  for (int64_t d = 0; d < v.dim(); d++)
    if (d != kept) dims.push_back(d);
  if (!dims.empty()) return cresset::linalg_vector_norm(v, pow, IntArrayRef(dims), true);
  return pow == 0 ? v.ne(0).to(v.scalar_type()) : v.abs();  // each element is a slice
}

Tensor _safe_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  // Rows that are masked out are zero, and so are their derivatives.
  const Tensor masked = (self == -INFINITY).all(dim, true);
  return cresset::softmax(self.masked_fill(masked, 0), dim, dtype).masked_fill(masked, 0);
}

}  // namespace cresset::ops::composite

namespace cresset::ops::cpu {

namespace {

bool has_distance_kernel(const Tensor& x) { return x.device().is_cpu() && !x.lacks_data() && (x.scalar_type() == kFloat || x.scalar_type() == kDouble); }

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  check_cdist(x1, x2, p, compute_mode);
  if (!has_distance_kernel(x1) || !has_distance_kernel(x2) || x1.scalar_type() != x2.scalar_type()) return composite::cdist(x1, x2, p, compute_mode);
  const size_t dims1 = static_cast<size_t>(x1.dim()) - 2, dims2 = static_cast<size_t>(x2.dim()) - 2;
  const DimVector batch = broadcast_shapes(x1.sizes().slice(0, dims1), x2.sizes().slice(0, dims2));
  auto of_batch = [&](const Tensor& x) {
    DimVector shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.expand(shape).contiguous();
  };
  const Tensor a = of_batch(x1), b = of_batch(x2);
  DimVector shape = batch;
  shape.push_back(x1.size(-2));
  shape.push_back(x2.size(-2));
  const Tensor out = cresset::empty(shape, x1.options());
  kernels::DistanceArgs args;
  args.dtype = x1.scalar_type();
  args.x1 = a.data_ptr();
  args.x2 = b.data_ptr();
  for (const int64_t size : batch) args.batches *= size;
  args.rows1 = x1.size(-2);
  args.rows2 = x2.size(-2);
  args.columns = x1.size(-1);
  args.batch1 = args.rows1 * args.columns;
  args.batch2 = args.rows2 * args.columns;
  args.p = p;
  kernels::distances(args, out.data_ptr());
  return out;
}

Tensor pdist(const Tensor& self, double p) {
  check_pdist(self, p);
  const int64_t n = self.size(0);
  if (!self.is_meta() && !has_distance_kernel(self)) return composite::pdist(self, p);
  const Tensor out = cresset::empty({n * (n - 1) / 2}, self.options());
  if (self.is_meta()) return out;
  kernels::pair_distances(self.scalar_type(), self.contiguous().data_ptr(), n, self.size(1), p, out.data_ptr());
  return out;
}

}  // namespace cresset::ops::cpu
