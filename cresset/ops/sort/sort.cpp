// Sorting, selection and searching over kernels/sort/sort.h.

#include "cresset/kernels/sort/sort.h"

#include <cmath>

#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/refusals.h"

namespace cresset::ops {

namespace {

using kernels::Strided;

OutSpecs with_indices(OutSpec values) {
  OutSpec indices = values;
  indices.dtype = kLong;
  return {values, indices};
}

OutSpec one_along(const Tensor& self, int64_t dim, bool keepdim) {
  OutSpec s = like(self);
  const int64_t d = wrap_dim(dim, self.dim());
  if (self.dim() == 0) return s;
  if (keepdim) s.sizes[d] = 1;
  else s.sizes.erase(s.sizes.begin() + d);
  return s;
}

// An output whose reduced dimension has been dropped, seen with length 1 there.
Tensor kept(const Tensor& self, int64_t dim, const Tensor& out) { return out.dim() == self.dim() ? out : out.unsqueeze(wrap_dim(dim, self.dim())); }

}  // namespace

namespace meta {

OutSpecs sort(const Tensor& self, std::optional<bool>, int64_t dim, bool) {
  wrap_dim(dim, self.dim());
  check_sortable("sort", self);
  OutSpec s = like(self);
  s.strides = preserved_strides(self);
  return with_indices(s);
}
OutSpecs topk(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  check_sortable("topk", self);
  CRESSET_CHECK(self.scalar_type() != kBool, "topk: does not support bool inputs");
  const int64_t d = wrap_dim(dim, self.dim()), n = self.dim() == 0 ? 1 : self.size(d);
  CRESSET_CHECK(k >= 0 && k <= n, "topk: selected index k out of range, got k=", k, " for a dimension of size ", n);
  OutSpec s = like(self);
  if (self.dim() > 0) s.sizes[d] = k;
  return with_indices(s);
}
OutSpecs kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  check_ordered("kthvalue", self);
  const int64_t n = self.dim() == 0 ? 1 : self.size(wrap_dim(dim, self.dim()));
  CRESSET_CHECK_INDEX(n > 0, "kthvalue: expected reduction dim ", dim, " to have non-zero size");
  CRESSET_CHECK(k >= 1 && k <= n, "kthvalue: selected number k out of range for dimension ", dim, ", got k=", k, " for size ", n);
  return with_indices(one_along(self, dim, keepdim));
}
OutSpecs _median(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan) {
  const char* const op = ignore_nan ? "nanmedian" : "median";
  wrap_dim(dim, self.dim());
  check_ordered(op, self);
  CRESSET_CHECK_INDEX(self.dim() == 0 || self.size(dim) > 0, op, ": expected reduction dim ", dim, " to have non-zero size");
  return with_indices(one_along(self, dim, keepdim));
}
OutSpec median(const Tensor& self) {
  check_ordered("median", self);
  return {{}, self.scalar_type(), self.device()};
}
OutSpec nanmedian(const Tensor& self) {
  check_ordered("nanmedian", self);
  return {{}, self.scalar_type(), self.device()};
}
OutSpecs mode(const Tensor& self, int64_t dim, bool keepdim) {
  wrap_dim(dim, self.dim());
  check_ordered("mode", self);
  CRESSET_CHECK_INDEX(self.dim() == 0 || self.size(dim) > 0, "mode: expected reduction dim ", dim, " to have non-zero size");
  return with_indices(one_along(self, dim, keepdim));
}

}  // namespace meta

namespace cpu {

void sort(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, const Tensor& values, const Tensor& indices) {
  kernels::sort(view_of(values), view_of(indices), view_of(self), wrap_dim(dim, self.dim()), descending);
}
void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, const Tensor& values, const Tensor& indices) {
  if (values.numel() > 0) kernels::topk(view_of(values), view_of(indices), view_of(self), k, wrap_dim(dim, self.dim()), largest, sorted);
}
void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  const Tensor v = kept(self, dim, values), i = kept(self, dim, indices);
  if (v.numel() > 0) kernels::kthvalue(view_of(v), view_of(i), view_of(self), k, wrap_dim(dim, self.dim()));
}
void _median(const Tensor& self, int64_t dim, bool, bool ignore_nan, const Tensor& values, const Tensor& indices) {
  const Tensor v = kept(self, dim, values), i = kept(self, dim, indices);
  if (v.numel() > 0) kernels::median(view_of(v), view_of(i), view_of(self), wrap_dim(dim, self.dim()), ignore_nan);
}
namespace {

// Of no elements: NaN, or the number that a NaN becomes.
Scalar no_median(ScalarType dtype) {
  if (dtype == kInt) return static_cast<int64_t>(INT32_MIN);
  if (dtype == kLong) return INT64_MIN;
  if (is_integral_type(dtype, true)) return dtype == kBool;
  return std::nan("");
}

void whole_median(const Tensor& self, bool ignore_nan, const Tensor& out) {
  if (self.numel() == 0) {
    out.fill_(no_median(self.scalar_type()));
    return;
  }
  const Tensor flat = self.reshape({-1}), index = cresset::empty({1}, self.options().dtype(kLong));
  kernels::median(view_of(out.view({1})), view_of(index), view_of(flat), 0, ignore_nan);
}

}  // namespace

void median(const Tensor& self, const Tensor& out) { whole_median(self, false, out); }
void nanmedian(const Tensor& self, const Tensor& out) { whole_median(self, true, out); }
void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  const Tensor v = kept(self, dim, values), i = kept(self, dim, indices);
  if (v.numel() > 0) kernels::mode(view_of(v), view_of(i), view_of(self), wrap_dim(dim, self.dim()));
}

}  // namespace cpu

namespace composite {

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) { return cresset::sort(self, std::optional<bool>(), dim, descending); }
Tensor msort(const Tensor& self) { return std::get<0>(cresset::sort(self, 0)); }
Tensor argsort(const Tensor& self, int64_t dim, bool descending) { return std::get<1>(cresset::sort(self, dim, descending)); }
Tensor argsort(const Tensor& self, bool stable, int64_t dim, bool descending) {
  return std::get<1>(cresset::sort(self, std::optional<bool>(stable), dim, descending));
}
std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim) { return cresset::_median(self, dim, keepdim, false); }
std::tuple<Tensor, Tensor> nanmedian(const Tensor& self, int64_t dim, bool keepdim) { return cresset::_median(self, dim, keepdim, true); }

}  // namespace composite

}  // namespace cresset::ops
