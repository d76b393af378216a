// Searching, counting and distinct values.

#include <cmath>

#include "cresset/base/warning.h"
#include "cresset/core/layout.h"
#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/sort/sort.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/pointwise/pointwise.h"
#include "cresset/ops/refusals.h"

namespace cresset::ops {

namespace {

using kernels::Strided;
using Three = std::tuple<Tensor, Tensor, Tensor>;

void check_boundaries(const Tensor& sequence, const Tensor& values, bool right, std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  const char* op = "searchsorted";
  if (values.scalar_type() == sequence.scalar_type()) check_ordered(op, sequence);
  else check_sortable(op, sequence);
  CRESSET_CHECK(!side || *side == "left" || *side == "right", op, ": side can only be 'left' or 'right' but got ", std::string(side.value_or("")));
  CRESSET_CHECK(!side || *side == "right" || !right, op, ": side and right contradict each other, got side ", std::string(side.value_or("")),
                " while right was True");
  CRESSET_CHECK(sequence.dim() > 0, op, ": input sorted_sequence should have at least one dimension");
  CRESSET_CHECK(values.device() == sequence.device(), op, ": sorted_sequence and input values should be on the same device");
  if (sequence.dim() != 1) {
    bool same = values.dim() == sequence.dim();
    for (int64_t d = 0; same && d + 1 < sequence.dim(); d++) same = values.size(d) == sequence.size(d);
    CRESSET_CHECK(same, op, ": expected sorted_sequence of one dimension, or of the sizes of input but the last, got ", sequence.sizes(), " and ",
                  values.sizes());
  }
  if (!given(sorter)) return;
  CRESSET_CHECK(sorter->sizes() == sequence.sizes(), op, ": sorter must have the same shape as sorted_sequence, got ", sequence.sizes(), " and ",
                sorter->sizes());
  CRESSET_CHECK(sorter->scalar_type() == kLong, op, ": sorter must be a tensor of dtype int64, got ", sorter->scalar_type());
  CRESSET_CHECK(sorter->lacks_data() || sorter->numel() == 0 || (sorter->min().item<int64_t>() >= 0 && sorter->max().item<int64_t>() < sequence.size(-1)), op,
                ": sorter index out of range");
}

ScalarType common_dtype(const Arg& a, const Arg& b) {
  const Arg both[] = {a, b};
  return result_type(both);
}

// A number looked up in a sequence, in their common dtype.
Tensor number_for(const Scalar& value, const Tensor& sequence) {
  return cresset::scalar_tensor(value, sequence.options().dtype(common_dtype(value, sequence)));
}

void check_isin(ScalarType t) { CRESSET_CHECK(t != kBool && !is_complex_type(t), "isin: expected integers or real floating point numbers, got dtype ", t); }

// Numbers of the runs that rows (n, ...) form, and where each begins.
Tensor run_starts(const Tensor& rows) {
  const int64_t n = rows.size(0);
  const Tensor flat = rows.reshape({n, -1});
  const Tensor changes = (flat.narrow(0, 1, n - 1) != flat.narrow(0, 0, n - 1)).any(1);
  return cresset::cat({cresset::ones({1}, changes.options()), changes});
}

Three of_runs(const Tensor& rows, const Tensor& order, bool return_inverse, bool return_counts) {
  const Tensor starts = run_starts(rows), places = starts.nonzero().squeeze(1), number = starts.to(kLong).cumsum(0) - 1;
  const TensorOptions longs = TensorOptions(kLong).device(rows.device());
  const Tensor inverse = return_inverse ? (order.defined() ? cresset::empty_like(number).index_copy(0, order, number) : number) : cresset::empty({0}, longs);
  return {rows.index_select(0, places), inverse, return_counts ? cresset::bincount(number) : cresset::empty({0}, longs)};
}

Three distinct(const char* op, const Tensor& self, bool return_inverse, bool return_counts, int64_t (*find)(void*, int64_t*, int64_t*, const Strided&)) {
  check_ordered(op, self);
  const TensorOptions longs = TensorOptions(kLong).device(self.device());
  Tensor values = cresset::empty({self.numel()}, self.options());
  const Tensor inverse = return_inverse ? cresset::empty(self.sizes(), longs) : cresset::empty({0}, longs);
  Tensor counts = return_counts ? cresset::empty({self.numel()}, longs) : cresset::empty({0}, longs);
  if (self.numel() == 0) return {values, inverse, counts};
  auto data = [](bool wanted, const Tensor& t) { return wanted ? static_cast<int64_t*>(t.data_ptr()) : nullptr; };
  const int64_t n = find(values.data_ptr(), data(return_inverse, inverse), data(return_counts, counts), view_of(self));
  values.resize_({n});
  if (return_counts) counts.resize_({n});
  return {values, inverse, counts};
}

}  // namespace

namespace meta {

OutSpec searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right, std::optional<std::string_view> side,
                     const std::optional<Tensor>& sorter) {
  check_boundaries(sorted_sequence, self, right, side, sorter);
  common_dtype(sorted_sequence, self);
  return {DimVector(self.sizes()), out_int32 ? kInt : kLong, self.device()};
}
OutSpec histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!self.is_complex() && self.scalar_type() != kBool, "histc: not implemented for dtype ", self.scalar_type());
  CRESSET_CHECK(bins > 0, "histc: bins must be > 0, but got ", bins);
  CRESSET_CHECK(std::isfinite(min.toDouble()) && std::isfinite(max.toDouble()), "histc: range of [", min.toDouble(), ", ", max.toDouble(), "] is not finite");
  CRESSET_CHECK(min.toDouble() <= max.toDouble(), "histc: max must be larger than min, got ", min.toDouble(), " and ", max.toDouble());
  return {{bins}, self.scalar_type(), self.device()};
}

}  // namespace meta

namespace cpu {

void searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool, bool right, std::optional<std::string_view> side,
                  const std::optional<Tensor>& sorter, const Tensor& out) {
  if (out.numel() == 0) return;
  if (!sorted_sequence.is_contiguous()) CRESSET_WARN_ONCE("searchsorted: the boundaries have gaps in memory and are copied; make them contiguous() once");
  if (!self.is_contiguous()) CRESSET_WARN_ONCE("searchsorted: the values have gaps in memory and are copied; make them contiguous() before");
  if (given(sorter) && !sorter->is_contiguous()) CRESSET_WARN_ONCE("searchsorted: the sorter has gaps in memory and is copied; make it contiguous() once");
  const ScalarType t = common_dtype(sorted_sequence, self);
  const Tensor values = (self.dim() == 0 ? self.reshape({1}) : self).to(t), sequence = sorted_sequence.to(t), to = self.dim() == 0 ? out.view({1}) : out;
  kernels::searchsorted(view_of(to), view_of(sequence), view_of(values), right || side == "right", given(sorter) ? view_of(*sorter) : Strided{});
}

void histc(const Tensor& self, int64_t, const Scalar& min, const Scalar& max, const Tensor& out) {
  double low = min.toDouble(), high = max.toDouble();
  if (low == high && self.numel() > 0) {
    low = self.min().item().toDouble();
    high = self.max().item().toDouble();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  CRESSET_CHECK(std::isfinite(low) && std::isfinite(high), "histc: range of [", low, ", ", high, "] is not finite");
  CRESSET_CHECK(low < high, "histc: max must be larger than min, got ", low, " and ", high);
  if (is_integral_type(self.scalar_type(), false))
    kernels::visit_dtype(self.scalar_type(), "histc", [&](auto zero) {
      for (const double end : {low, high}) static_cast<void>(Scalar(end).to<decltype(zero)>());
    });
  if (self.scalar_type() == kFloat || self.scalar_type() == kDouble) return kernels::histc(view_of(out), view_of(self), low, high);
  const Tensor counts = cresset::empty(out.sizes(), out.options().dtype(kDouble)), x = self.to(kDouble);
  kernels::histc(view_of(counts), view_of(x), low, high);
  overwrite(out, counts);
}

Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_integral_type(self.scalar_type(), false), "bincount: expected an integral dtype, got ", self.scalar_type());
  CRESSET_CHECK(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  CRESSET_CHECK(self.dim() == 1, "bincount: only supports 1-d non-negative integral inputs, got shape ", self.sizes());
  const bool weighted = given(weights);
  CRESSET_CHECK(!weighted || (weights->dim() == 1 && weights->numel() == self.numel()), "bincount: expected a weight for each element of input, got shape ",
                weighted ? weights->sizes() : IntArrayRef());
  int64_t length = minlength;
  if (self.numel() > 0) {
    CRESSET_CHECK(self.min().item<int64_t>() >= 0, "bincount: only supports 1-d non-negative integral inputs");
    length = std::max(length, self.max().item<int64_t>() + 1);
  }
  const ScalarType dtype = !weighted ? kLong : weights->scalar_type() == kFloat ? kFloat : kDouble;
  const Tensor out = cresset::zeros({length}, TensorOptions(dtype).device(self.device()));
  if (self.numel() == 0) return out;
  const Tensor w = weighted ? weights->to(dtype) : Tensor();
  kernels::bincount(view_of(out), view_of(self), weighted ? view_of(w) : Strided{});
  return out;
}

Three _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return distinct("unique", self, return_inverse, return_counts, kernels::unique);
}

Three unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  if (!dim || (self.dim() == 1 && wrap_dim(*dim, 1) == 0))
    return distinct("unique_consecutive", self, return_inverse, return_counts, kernels::unique_consecutive);
  const int64_t d = wrap_dim(*dim, self.dim());
  const TensorOptions longs = TensorOptions(kLong).device(self.device());
  if (self.size(d) == 0) {
    CRESSET_CHECK(self.dim() > 0, "unique_consecutive: expected a dimension");
    return {cresset::empty(self.sizes(), self.options()), cresset::empty({0}, longs), cresset::empty({0}, longs)};
  }
  auto [values, inverse, counts] = of_runs(self.movedim(d, 0), {}, return_inverse, return_counts);
  return {values.movedim(0, d), inverse, counts};
}

Three unique_dim(const Tensor& self, int64_t dim, bool, bool return_inverse, bool return_counts) {
  check_ordered("unique_dim", self);
  const int64_t d = wrap_dim(dim, self.dim());
  const TensorOptions longs = TensorOptions(kLong).device(self.device());
  if (self.dim() == 0) return cresset::_unique2(self, true, return_inverse, return_counts);
  const Tensor rows = self.movedim(d, 0);
  const int64_t n = rows.size(0);
  if (rows.numel() == 0) {
    for (int64_t i = 0; i < self.dim(); i++)
      CRESSET_CHECK(i == d || self.size(i) > 0 || n == 0, "unique_dim: expected sizes above 0 beside dim, got shape ", self.sizes());
    return {cresset::empty(self.sizes(), self.options()), cresset::empty({0}, longs), cresset::empty({0}, longs)};
  }
  // Rows in lexicographic order: by the last column first.
  const Tensor flat = rows.reshape({n, -1});
  Tensor order = cresset::arange(n, longs);
  for (int64_t c = flat.size(1) - 1; c >= 0; c--) order = order.index_select(0, flat.select(1, c).index_select(0, order).argsort(true, 0));
  auto [values, inverse, counts] = of_runs(rows.index_select(0, order), order, return_inverse, return_counts);
  return {values.movedim(0, d), inverse, counts};
}

}  // namespace cpu

namespace composite {

Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right, std::optional<std::string_view> side,
                    const std::optional<Tensor>& sorter) {
  CRESSET_CHECK(sorted_sequence.dim() == 1, "searchsorted: the sorted_sequence should be 1 dimension for a number, got shape ", sorted_sequence.sizes());
  return cresset::searchsorted(sorted_sequence, number_for(self, sorted_sequence), out_int32, right, side, sorter);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  CRESSET_CHECK(boundaries.dim() == 1, "bucketize: boundaries tensor must be 1 dimension, got shape ", boundaries.sizes());
  return cresset::searchsorted(boundaries, self, out_int32, right);
}
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  return cresset::bucketize(number_for(self, boundaries), boundaries, out_int32, right);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  check_isin(elements.scalar_type());
  check_isin(test_elements.scalar_type());
  const ScalarType t = common_dtype(elements, test_elements);
  if (test_elements.numel() == 0) return cresset::full(elements.sizes(), invert, TensorOptions(kBool).device(elements.device()));
  const Tensor sorted = std::get<0>(test_elements.to(t).reshape({-1}).sort(0)), x = elements.to(t);
  const Tensor at = cresset::searchsorted(sorted, x).clamp_max(sorted.numel() - 1);
  const Tensor found = sorted.index_select(0, at.reshape({-1})).view(x.sizes());
  return invert ? found != x : found == x;
}
Tensor isin(const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  check_isin(elements.scalar_type());
  check_isin(test_element.type());
  return invert ? elements != test_element : elements == test_element;
}
Tensor isin(const Scalar& element, const Tensor& test_elements, bool assume_unique, bool invert) {
  check_isin(element.type());
  return cresset::isin(number_for(element, test_elements), test_elements, assume_unique, invert);
}

std::vector<Tensor> nonzero_numpy(const Tensor& self) { return (self.dim() == 0 ? self.unsqueeze(0) : self).nonzero().unbind(1); }
std::vector<Tensor> where(const Tensor& condition) { return cresset::nonzero_numpy(condition); }

std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& self, int64_t dim, bool return_inverse, bool return_counts) {
  return cresset::unique_consecutive(self, return_inverse, return_counts, dim);
}

}  // namespace composite

}  // namespace cresset::ops
