// Reductions of runs of elements, and of their bits.

#include <cmath>
#include <limits>

#include "cresset/core/batched.h"
#include "cresset/core/layout.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"

namespace cresset::ops::composite {

namespace {

// Where the segments begin along the last dimension, and where the last one ends.
Tensor bounds_of(const Tensor& data, const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets, int64_t axis, bool unsafe) {
  const char* op = "segment_reduce";
  CRESSET_CHECK(given(lengths) || given(offsets), op, ": either lengths or offsets must be defined");
  const bool by_offset = given(offsets);
  const Tensor& given_one = by_offset ? *offsets : *lengths;
  const char* name = by_offset ? "offsets" : "lengths";
  CRESSET_CHECK_NOT_IMPLEMENTED(given_one.scalar_type() == kInt || given_one.scalar_type() == kLong, op, ": not implemented for ", name, " of dtype ",
                                given_one.scalar_type());
  CRESSET_CHECK(axis == given_one.dim() - 1, op, ": expected axis to be the last dimension of ", name, " but got ", axis);
  CRESSET_CHECK(given_one.sizes().slice(0, static_cast<size_t>(axis)) == data.sizes().slice(0, static_cast<size_t>(axis)), op, ": expected ", name,
                " to have data's sizes before axis ", axis, ", got ", given_one.sizes(), " for ", data.sizes());
  const Tensor numbers = given_one.detach().to(kLong).contiguous();
  if (by_offset) {
    CRESSET_CHECK(numbers.size(-1) > 0, op, ": expected at least one offset");
    return numbers;
  }
  if (!unsafe && !numbers.lacks_data() && numbers.numel() > 0) {
    CRESSET_CHECK(numbers.min().item<int64_t>() >= 0, op, ": lengths contains a negative value");
    CRESSET_CHECK((numbers.sum(IntArrayRef(-1)) == data.size(axis)).all().item<bool>(), op, ": expected all rows of lengths along axis to sum to ",
                  data.size(axis));
  }
  DimVector first(numbers.sizes());
  first.back() = 1;
  return cresset::cat({cresset::zeros(first, numbers.options()), numbers.cumsum(-1)}, -1);
}

}  // namespace

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const std::optional<Tensor>& lengths, const std::optional<Tensor>& indices,
                      const std::optional<Tensor>& offsets, int64_t axis, bool unsafe, const std::optional<Scalar>& initial) {
  const char* op = "segment_reduce";
  const bool sum = reduce == "sum", mean = reduce == "mean", prod = reduce == "prod", max = reduce == "max" || reduce == "amax",
             min = reduce == "min" || reduce == "amin";
  CRESSET_CHECK(sum || mean || prod || max || min, op, ": expected reduce sum, prod, mean, amax or amin, got ", std::string(reduce));
  CRESSET_CHECK(!given(indices), op, ": reductions by indices are not there, give lengths or offsets");
  CRESSET_CHECK(data.dim() > 0, op, ": expected data of at least one dimension");
  axis = wrap_dim(axis, data.dim());
  const Tensor bounds = bounds_of(data, lengths, offsets, axis, unsafe);
  CRESSET_CHECK_NOT_IMPLEMENTED(data.is_floating_point(), op, ": not implemented for dtype ", data.scalar_type());
  const ScalarType dtype = data.scalar_type();
  const Tensor x = dtype == kHalf || dtype == kBFloat16 ? data.to(kFloat) : data;
  const int64_t segments = bounds.size(-1) - 1;

  // The number of each element's segment; those outside of all go into one more, which is left out.
  DimVector shape(bounds.sizes());
  shape.back() = x.size(axis);
  const Tensor places = cresset::arange(x.size(axis), bounds.options()).expand(shape).contiguous();
  Tensor number = cresset::searchsorted(bounds, places, false, true) - 1;
  number = number.masked_fill(number < 0, segments);
  for (int64_t d = axis + 1; d < x.dim(); d++) number = number.unsqueeze(-1);
  number = number.expand(x.sizes());
  DimVector out(x.sizes());
  out[static_cast<size_t>(axis)] = segments + 1;

  const double infinity = std::numeric_limits<double>::infinity();
  Tensor result;
  if (sum || mean) {
    result = cresset::full(out, initial.value_or(0), x.options()).scatter_add(axis, number, x);
  } else {
    // NaN counts by itself, since it equals no extreme and divides out of no product: its gradient is shared by the NaN of a segment,
    // or is the product of the others.
    const Tensor nan = x.isnan();
    const bool any_nan = !physical(nan).lacks_data() && physical(nan).any().item<bool>();
    const double neutral = max ? -infinity : min ? infinity : 1;
    result = cresset::full(out, neutral, x.options())
                 .scatter_reduce(axis, number, any_nan ? x.masked_fill(nan, neutral) : x,
                                 prod  ? "prod"
                                 : max ? "amax"
                                       : "amin",
                                 false);
    if (any_nan) {
      const Tensor zeros = cresset::zeros(out, x.options()), count = zeros.scatter_add(axis, number, nan.to(x.scalar_type()));
      const Tensor nans = zeros.scatter_add(axis, number, x.masked_fill(nan.logical_not(), 0));
      const Tensor others = prod ? result.masked_fill(count > 1, std::numeric_limits<double>::quiet_NaN()) : count.clamp_min(1).reciprocal();
      result = cresset::where(count > 0, nans * others, result);
    }
    if (initial && prod) result = result * *initial;
    // Elements that equal the initial value share the gradient; it has no part in it.
    if (initial && max) result = result.masked_fill(result < *initial, *initial);
    if (initial && min) result = result.masked_fill(result > *initial, *initial);
  }
  result = result.narrow(axis, 0, segments);
  if (mean) {
    Tensor count = bounds.diff();
    for (int64_t d = axis + 1; d < x.dim(); d++) count = count.unsqueeze(-1);
    const Tensor empty = count == 0;
    result = result / count.masked_fill(empty, 1).to(x.scalar_type());
    result = result.masked_fill(empty, initial ? *initial : Scalar(std::numeric_limits<double>::quiet_NaN()));
  }
  return result.to(dtype).contiguous();
}

Tensor hash_tensor(const Tensor& self, IntArrayRef dim, bool keepdim, int64_t mode) {
  CRESSET_CHECK(mode == 0, "hash_tensor: unknown mode ", mode, ", expected 0");
  CRESSET_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "hash_tensor: not implemented for dtype ", self.scalar_type());
  CRESSET_CHECK(self.numel() > 0 || !dim.empty(), "hash_tensor: expected a dim to reduce over, since the input of shape ", self.sizes(), " is empty");
  std::vector<bool> reduced(static_cast<size_t>(std::max<int64_t>(self.dim(), 1)), dim.empty());
  for (const int64_t d : dim) {
    auto at = reduced[static_cast<size_t>(wrap_dim(d, self.dim()))];
    CRESSET_CHECK(!at, "hash_tensor: dim ", d, " appears twice");
    at = true;
  }
  DimVector order, kept, shape;
  for (int64_t d = 0; d < self.dim(); d++) {
    const bool gone = reduced[static_cast<size_t>(d)];
    CRESSET_CHECK_INDEX(!gone || self.size(d) > 0, "hash_tensor: expected dim ", d, " to have non-zero size, got shape ", self.sizes());
    if (!gone) {
      order.push_back(d);
      kept.push_back(self.size(d));
    }
    if (!gone || keepdim) shape.push_back(gone ? 1 : self.size(d));
  }
  for (int64_t d = 0; d < self.dim(); d++)
    if (reduced[static_cast<size_t>(d)]) order.push_back(d);
  const Tensor plain = self.detach();
  Tensor bits = self.is_floating_point() ? plain.to(kDouble).view(kLong) : plain.scalar_type() == kUInt64 ? plain.view(kLong) : plain.to(kLong);
  int64_t others = 1;
  for (const int64_t n : kept) others *= n;
  bits = bits.permute(order).reshape({others, others > 0 ? bits.numel() / others : 1});
  while (bits.size(1) > 1) {
    const int64_t half = bits.size(1) / 2;
    const Tensor folded = cresset::bitwise_xor(bits.narrow(1, 0, half), bits.narrow(1, half, half));
    bits = bits.size(1) % 2 ? cresset::cat({folded, bits.narrow(1, 2 * half, 1)}, 1) : folded;
  }
  return bits.view(shape).view(kUInt64);
}

}  // namespace cresset::ops::composite
