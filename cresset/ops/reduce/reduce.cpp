// Reductions and scans: shape rules and bodies over kernels/reduce/reduce.h.

#include <cmath>

#include "cresset/base/warning.h"
#include "cresset/kernels/reduce/reduce.h"

#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/pointwise/watch.h"
#include "cresset/ops/refusals.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

using Dims = OptionalIntArrayRef;

// Which dimensions are reduced: all of them when none is named.
uint64_t reduced(const Tensor& self, Dims dim) {
  const int64_t n = self.dim();
  if (!dim || dim.value().empty()) return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  return dim_mask(dim.value(), n);
}

// The same, but an empty list names none.
uint64_t listed(const Tensor& self, Dims dim) { return dim && dim.value().empty() ? 0 : reduced(self, dim); }

DimVector reduced_shape(const Tensor& self, uint64_t mask, bool keepdim) {
  DimVector shape;
  for (int64_t d = 0; d < self.dim(); d++) {
    if (!(mask >> d & 1)) shape.push_back(self.size(d));
    else if (keepdim) shape.push_back(1);
  }
  return shape;
}

OutSpec reduction(const Tensor& self, uint64_t mask, bool keepdim, ScalarType dtype) { return {reduced_shape(self, mask, keepdim), dtype, self.device()}; }

DimVector bytes(const Tensor& t) {
  DimVector s(t.strides());
  for (int64_t& v : s) v *= static_cast<int64_t>(t.element_size());
  return s;
}

// Strides of `out` laid over the input's dimensions, 0 where they are reduced.
DimVector over_input(const Tensor& self, uint64_t mask, const Tensor& out) {
  DimVector s(static_cast<size_t>(self.dim()), 0);
  const bool keepdim = out.dim() == self.dim();
  int64_t at = 0;
  for (int64_t d = 0; d < self.dim(); d++) {
    const bool dropped = mask >> d & 1;
    if (!dropped) s[d] = out.stride(at) * static_cast<int64_t>(out.element_size());
    if (!dropped || keepdim) at++;
  }
  return s;
}

// For a result of a dtype that is only stored, which a dtype argument asks for: what computes writes a wider one.
template <class Compute> bool computed_wider(const Tensor& out, Compute compute) {
  if (!is_storage_type(out.scalar_type())) return false;
  const Tensor wider = cresset::empty(out.sizes(), out.options().dtype(compute_type(out.scalar_type())));
  compute(wider);
  overwrite(out, wider);
  return true;
}

void run(kernels::ReduceOp op, const Tensor& self, uint64_t mask, const Tensor& out, const Scalar& param = Scalar()) {
  if (computed_wider(out, [&](const Tensor& wider) { run(op, self, mask, wider, param); })) return;
  const DimVector in_strides = bytes(self), out_strides = over_input(self, mask, out);
  kernels::ReduceArgs args;
  args.in = static_cast<const char*>(self.data_ptr());
  args.out = static_cast<char*>(out.data_ptr());
  args.in_dtype = self.scalar_type();
  args.out_dtype = out.scalar_type();
  args.shape = self.sizes();
  args.in_strides = in_strides;
  args.reduce_mask = mask;
  args.out_strides = out_strides;
  args.param = param;
  kernels::reduce(op, args);
  if (PointwiseWatch* const watch = pointwise_watch(); CRESSET_UNLIKELY(watch)) watch->saw(ReductionSight{op, self, out, mask});
}

ScalarType sum_dtype(const Tensor& self, std::optional<ScalarType> dtype) {
  return dtype.value_or(is_integral_type(self.scalar_type(), true) ? kLong : self.scalar_type());
}

ScalarType mean_dtype(const char* op, const Tensor& self, std::optional<ScalarType> dtype) {
  const ScalarType t = dtype.value_or(self.scalar_type());
  CRESSET_CHECK(is_differentiable_type(t), op, ": could not infer output dtype: input dtype must be floating point or complex, got ", t,
                "; pass dtype= or cast the input");
  return t;
}

void check_not_empty(const char* op, const Tensor& self, uint64_t mask) {
  for (int64_t d = 0; d < self.dim(); d++)
    CRESSET_CHECK_INDEX(!(mask >> d & 1) || self.size(d) != 0, op, ": expected reduction dim ", d, " to have non-zero size, got shape ", self.sizes());
}

void check_has_elements(const char* op, const Tensor& self, IntArrayRef dim) {
  CRESSET_CHECK(!dim.empty() || self.numel() > 0, op, ": expected reduction dim to be specified for an input without elements, got shape ", self.sizes());
  check_not_empty(op, self, reduced(self, dim));
}

uint64_t one_dim(const Tensor& self, int64_t dim) { return uint64_t{1} << wrap_dim(dim, self.dim()); }

void run_arg(bool is_max, const Tensor& self, std::optional<int64_t> dim, const Tensor* values, const Tensor& indices) {
  kernels::ArgReduceArgs args;
  const Tensor in = self.dim() == 0 ? self.view({1}) : self;
  const DimVector in_strides = bytes(in);
  args.in = static_cast<const char*>(in.data_ptr());
  args.indices = static_cast<char*>(indices.data_ptr());
  args.dtype = in.scalar_type();
  args.shape = in.sizes();
  args.in_strides = in_strides;
  DimVector value_strides, index_strides;
  if (dim) {
    args.dim = static_cast<int>(wrap_dim(*dim, self.dim()));
    if (self.dim() == 0) {
      index_strides = value_strides = DimVector{0};
    } else {
      const uint64_t mask = uint64_t{1} << args.dim;
      index_strides = over_input(in, mask, indices);
      if (values) value_strides = over_input(in, mask, *values);
    }
    args.index_strides = index_strides;
    args.value_strides = value_strides;
  }
  if (values) args.values = static_cast<char*>(values->data_ptr());
  kernels::arg_reduce(is_max, args);
}

void run_cumulative(kernels::CumOp op, const Tensor& self, int64_t dim, const Tensor& out, const Tensor* indices) {
  if (self.dim() == 0) {
    overwrite(out, self);
    if (indices) indices->zero_();
    return;
  }
  if (computed_wider(out, [&](const Tensor& wider) { run_cumulative(op, self, dim, wider, indices); })) return;
  const DimVector in_strides = bytes(self), out_strides = bytes(out);
  DimVector index_strides;
  kernels::CumulativeArgs args;
  args.in = static_cast<const char*>(self.data_ptr());
  args.out = static_cast<char*>(out.data_ptr());
  args.in_dtype = self.scalar_type();
  args.out_dtype = out.scalar_type();
  args.shape = self.sizes();
  args.in_strides = in_strides;
  args.out_strides = out_strides;
  if (indices) {
    index_strides = bytes(*indices);
    args.indices = static_cast<char*>(indices->data_ptr());
    args.index_strides = index_strides;
  }
  args.dim = static_cast<int>(wrap_dim(dim, self.dim()));
  kernels::cumulative(op, args);
}

void run_var(const Tensor& self, uint64_t mask, const std::optional<Scalar>& correction, bool take_sqrt, const Tensor* var, const Tensor* mean) {
  kernels::VarMeanArgs args;
  const DimVector in_strides = bytes(self);
  DimVector var_strides, mean_strides;
  args.in = static_cast<const char*>(self.data_ptr());
  args.dtype = self.scalar_type();
  args.shape = self.sizes();
  args.in_strides = in_strides;
  args.reduce_mask = mask;
  args.correction = correction ? correction->to<double>() : 1.0;
  int64_t count = 1;
  for (size_t d = 0; d < self.sizes().size(); d++) count *= mask >> d & 1 ? self.sizes()[d] : 1;
  if (self.numel() > 0 && static_cast<double>(count) <= args.correction)
    warn(str(take_sqrt ? "std" : "var", ": no degrees of freedom are left, got ", count, " numbers and a correction of ", args.correction));
  args.take_sqrt = take_sqrt;
  if (var) {
    args.var_out = static_cast<char*>(var->data_ptr());
    var_strides = over_input(self, mask, *var);
    args.var_strides = var_strides;
  }
  if (mean) {
    args.mean_out = static_cast<char*>(mean->data_ptr());
    mean_strides = over_input(self, mask, *mean);
    args.mean_strides = mean_strides;
  }
  kernels::var_mean(args);
}

OutSpec var_spec(const char* op, const Tensor& self, Dims dim, bool keepdim) {
  CRESSET_CHECK(is_differentiable_type(self.scalar_type()), op, ": only floating point and complex dtypes are supported, got ", self.scalar_type());
  return reduction(self, reduced(self, dim), keepdim, to_real_type(self.scalar_type()));
}

ScalarType logic_dtype(const Tensor& self) { return self.scalar_type() == kByte ? kByte : kBool; }

}  // namespace

namespace meta {

OutSpec sum(const Tensor& self, Dims dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduction(self, reduced(self, dim), keepdim, sum_dtype(self, dtype));
}
OutSpec nansum(const Tensor& self, Dims dim, bool keepdim, std::optional<ScalarType> dtype) {
  CRESSET_CHECK(!self.is_complex(), "nansum: complex inputs are not supported, got dtype ", self.scalar_type());
  return meta::sum(self, dim, keepdim, dtype);
}
OutSpec mean(const Tensor& self, Dims dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduction(self, reduced(self, dim), keepdim, mean_dtype("mean", self, dtype));
}
OutSpec prod(const Tensor& self, std::optional<ScalarType> dtype) { return reduction(self, reduced(self, {}), false, sum_dtype(self, dtype)); }
OutSpec prod(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduction(self, one_dim(self, dim), keepdim, sum_dtype(self, dtype));
}
OutSpec amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  check_sortable("amax", self);
  check_has_elements("amax", self, dim);
  return reduction(self, reduced(self, dim), keepdim, self.scalar_type());
}
OutSpec amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  check_sortable("amin", self);
  check_has_elements("amin", self, dim);
  return reduction(self, reduced(self, dim), keepdim, self.scalar_type());
}
OutSpec max(const Tensor& self) {
  check_ordered("max", self);
  check_has_elements("max", self, {});
  return reduction(self, reduced(self, {}), false, self.scalar_type());
}
OutSpec min(const Tensor& self) {
  check_ordered("min", self);
  check_has_elements("min", self, {});
  return reduction(self, reduced(self, {}), false, self.scalar_type());
}
OutSpecs max(const Tensor& self, int64_t dim, bool keepdim) {
  const uint64_t mask = one_dim(self, dim);
  check_sortable("max", self);
  check_not_empty("max", self, mask);
  return {reduction(self, mask, keepdim, self.scalar_type()), reduction(self, mask, keepdim, kLong)};
}
OutSpecs min(const Tensor& self, int64_t dim, bool keepdim) {
  const uint64_t mask = one_dim(self, dim);
  check_sortable("min", self);
  check_not_empty("min", self, mask);
  return {reduction(self, mask, keepdim, self.scalar_type()), reduction(self, mask, keepdim, kLong)};
}
OutSpec argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  check_sortable("argmax", self);
  CRESSET_CHECK(self.scalar_type() != kBool, "argmax: does not support bool input");
  const uint64_t mask = dim ? one_dim(self, *dim) : reduced(self, {});
  if (!dim) CRESSET_CHECK_INDEX(self.numel() > 0, "argmax: expected reduction dim to be specified for an input without elements, got shape ", self.sizes());
  check_not_empty("argmax", self, mask);
  return reduction(self, mask, keepdim, kLong);
}
OutSpec argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  check_sortable("argmin", self);
  CRESSET_CHECK(self.scalar_type() != kBool, "argmin: does not support bool input");
  const uint64_t mask = dim ? one_dim(self, *dim) : reduced(self, {});
  if (!dim) CRESSET_CHECK_INDEX(self.numel() > 0, "argmin: expected reduction dim to be specified for an input without elements, got shape ", self.sizes());
  check_not_empty("argmin", self, mask);
  return reduction(self, mask, keepdim, kLong);
}
OutSpec all(const Tensor& self, Dims dim, bool keepdim) { return reduction(self, listed(self, dim), keepdim, logic_dtype(self)); }
OutSpec any(const Tensor& self, Dims dim, bool keepdim) { return reduction(self, listed(self, dim), keepdim, logic_dtype(self)); }
OutSpec var(const Tensor& self, Dims dim, const std::optional<Scalar>&, bool keepdim) { return var_spec("var", self, dim, keepdim); }
OutSpec std(const Tensor& self, Dims dim, const std::optional<Scalar>&, bool keepdim) { return var_spec("std", self, dim, keepdim); }
OutSpecs var_mean(const Tensor& self, Dims dim, const std::optional<Scalar>&, bool keepdim) {
  OutSpec m = var_spec("var_mean", self, dim, keepdim);
  OutSpec v = m;
  m.dtype = self.scalar_type();
  return {v, m};
}
OutSpec linalg_vector_norm(const Tensor& self, const Scalar& ord, Dims dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType own = self.scalar_type(), t = mean_dtype("linalg.vector_norm", self, dtype);
  CRESSET_CHECK(is_differentiable_type(own), "linalg.vector_norm: expected a floating point or complex input, got ", own);
  CRESSET_CHECK(is_complex_type(t) == is_complex_type(own), "linalg.vector_norm: dtype should be complex for complex inputs and real for real ones, got ", t,
                " for ", own);
  CRESSET_CHECK(promote_types(own, t) == t, "linalg.vector_norm: the dtype of the input, ", own, ", should be convertible without narrowing to ", t);
  CRESSET_CHECK(!ord.isComplex(), "linalg.vector_norm: expected a real ord, got ", ord);
  const uint64_t mask = reduced(self, dim);
  if (ord.to<double>() < 0 || std::isinf(ord.to<double>()))
    for (int64_t d = 0; d < self.dim(); d++)
      CRESSET_CHECK(!(mask >> d & 1) || self.size(d) != 0, "linalg.vector_norm: cannot compute the ", ord, " norm of an input of shape ", self.sizes(),
                    " over an empty dimension, it has no identity");
  return reduction(self, mask, keepdim, to_real_type(t));
}
OutSpec count_nonzero(const Tensor& self, IntArrayRef dim) { return reduction(self, reduced(self, dim), false, kLong); }
OutSpec cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  wrap_dim(dim, self.dim());
  return {DimVector(self.sizes()), sum_dtype(self, dtype), self.device()};
}
OutSpec cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) { return meta::cumsum(self, dim, dtype); }
OutSpec logcumsumexp(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  CRESSET_CHECK_NOT_IMPLEMENTED(is_differentiable_type(self.scalar_type()), "logcumsumexp: not implemented for dtype ", self.scalar_type());
  return {DimVector(self.sizes()), self.scalar_type(), self.device()};
}
OutSpecs _cumulative_extreme(const Tensor& self, int64_t dim, bool largest) {
  wrap_dim(dim, self.dim());
  check_ordered(largest ? "cummax" : "cummin", self);
  return {OutSpec{DimVector(self.sizes()), self.scalar_type(), self.device()}, OutSpec{DimVector(self.sizes()), kLong, self.device()}};
}

}  // namespace meta

namespace cpu {

using kernels::CumOp;
using kernels::ReduceOp;

void sum(const Tensor& self, Dims dim, bool, std::optional<ScalarType>, const Tensor& out) { run(ReduceOp::sum, self, reduced(self, dim), out); }
void nansum(const Tensor& self, Dims dim, bool, std::optional<ScalarType>, const Tensor& out) { run(ReduceOp::nansum, self, reduced(self, dim), out); }
void mean(const Tensor& self, Dims dim, bool, std::optional<ScalarType>, const Tensor& out) {
  CRESSET_CHECK(is_differentiable_type(out.scalar_type()), "mean: the result does not fit the output's dtype ", out.scalar_type());
  run(ReduceOp::mean, self, reduced(self, dim), out);
}
void prod(const Tensor& self, std::optional<ScalarType>, const Tensor& out) { run(ReduceOp::prod, self, reduced(self, {}), out); }
void prod(const Tensor& self, int64_t dim, bool, std::optional<ScalarType>, const Tensor& out) {
  run(ReduceOp::prod, self, self.dim() ? one_dim(self, dim) : 0, out);
}
void amax(const Tensor& self, IntArrayRef dim, bool, const Tensor& out) { run(ReduceOp::max, self, reduced(self, dim), out); }
void amin(const Tensor& self, IntArrayRef dim, bool, const Tensor& out) { run(ReduceOp::min, self, reduced(self, dim), out); }
void max(const Tensor& self, const Tensor& out) { run(ReduceOp::max, self, reduced(self, {}), out); }
void min(const Tensor& self, const Tensor& out) { run(ReduceOp::min, self, reduced(self, {}), out); }
void max(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) { run_arg(true, self, dim, &values, indices); }
void min(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) { run_arg(false, self, dim, &values, indices); }
void argmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) { run_arg(true, self, dim, nullptr, out); }
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) { run_arg(false, self, dim, nullptr, out); }
void all(const Tensor& self, Dims dim, bool, const Tensor& out) { run(ReduceOp::all, self, listed(self, dim), out); }
void any(const Tensor& self, Dims dim, bool, const Tensor& out) { run(ReduceOp::any, self, listed(self, dim), out); }
void var(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, const Tensor& out) {
  run_var(self, reduced(self, dim), correction, false, &out, nullptr);
}
void std(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, const Tensor& out) {
  run_var(self, reduced(self, dim), correction, true, &out, nullptr);
}
void var_mean(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, const Tensor& out0, const Tensor& out1) {
  run_var(self, reduced(self, dim), correction, false, &out0, &out1);
}
void linalg_vector_norm(const Tensor& self, const Scalar& ord, Dims dim, bool, std::optional<ScalarType> dtype, const Tensor& out) {
  const Tensor in = dtype ? self.to(*dtype) : self;
  run(ReduceOp::norm, in, reduced(in, dim), out, ord);
}
void count_nonzero(const Tensor& self, IntArrayRef dim, const Tensor& out) { run(ReduceOp::count_nonzero, self, reduced(self, dim), out); }
void cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType>, const Tensor& out) { run_cumulative(CumOp::sum, self, dim, out, nullptr); }
void cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType>, const Tensor& out) { run_cumulative(CumOp::prod, self, dim, out, nullptr); }
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) { run_cumulative(CumOp::logsumexp, self, dim, out, nullptr); }
void _cumulative_extreme(const Tensor& self, int64_t dim, bool largest, const Tensor& values, const Tensor& indices) {
  run_cumulative(largest ? CumOp::max : CumOp::min, self, dim, values, &indices);
}

}  // namespace cpu

namespace composite {

std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim) { return cresset::_cumulative_extreme(self, dim, true); }
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim) { return cresset::_cumulative_extreme(self, dim, false); }
Tensor all(const Tensor& self) { return cresset::all(self, OptionalIntArrayRef(), false); }
Tensor any(const Tensor& self) { return cresset::any(self, OptionalIntArrayRef(), false); }
Tensor all(const Tensor& self, int64_t dim, bool keepdim) { return cresset::all(self, OptionalIntArrayRef(dim), keepdim); }
Tensor any(const Tensor& self, int64_t dim, bool keepdim) { return cresset::any(self, OptionalIntArrayRef(dim), keepdim); }
Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) { return cresset::sum(self, OptionalIntArrayRef(), false, dtype); }
Tensor mean(const Tensor& self, std::optional<ScalarType> dtype) { return cresset::mean(self, OptionalIntArrayRef(), false, dtype); }
Tensor var(const Tensor& self, bool unbiased) { return cresset::var(self, OptionalIntArrayRef(), Scalar(unbiased ? 1 : 0), false); }
Tensor std(const Tensor& self, bool unbiased) { return cresset::std(self, OptionalIntArrayRef(), Scalar(unbiased ? 1 : 0), false); }
Tensor var(const Tensor& self, Dims dim, bool unbiased, bool keepdim) { return cresset::var(self, dim, Scalar(unbiased ? 1 : 0), keepdim); }
Tensor std(const Tensor& self, Dims dim, bool unbiased, bool keepdim) { return cresset::std(self, dim, Scalar(unbiased ? 1 : 0), keepdim); }
Tensor norm(const Tensor& self, const Scalar& p) { return cresset::linalg_vector_norm(self, p); }
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return cresset::linalg_vector_norm(self, p.value_or(2), dim, keepdim);
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return dim ? cresset::count_nonzero(self, IntArrayRef(*dim)) : cresset::count_nonzero(self, IntArrayRef());
}
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) {
  const Tensor x = is_integral_type(self.scalar_type(), true) ? self.to(get_default_dtype()) : self;
  if (x.numel() == 0) return x.exp().sum(dim, keepdim).log();
  CRESSET_CHECK(!dim.empty() || x.dim() == 0 || keepdim, "logsumexp: expected a dimension to reduce, got none for shape ", x.sizes());
  Tensor high = cresset::amax(x.is_complex() ? cresset::view_as_real(x).select(-1, 0) : x, dim, true).detach();
  high = high.masked_fill(high.abs() == INFINITY, 0);
  const Tensor total = (x - high).exp().sum(dim, keepdim).log();
  return total + (keepdim ? high : high.reshape(total.sizes()));
}
Tensor nanmean(const Tensor& self, Dims dim, bool keepdim, std::optional<ScalarType> dtype) {
  CRESSET_CHECK(is_differentiable_type(self.scalar_type()), "nanmean: expected a floating point or complex input, got ", self.scalar_type());
  return cresset::nansum(self, dim, keepdim, dtype) / self.isnan().logical_not().sum(dim, keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return cresset::var_mean(self, OptionalIntArrayRef(), Scalar(unbiased ? 1 : 0), false);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return cresset::var_mean(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return cresset::std_mean(self, OptionalIntArrayRef(), Scalar(unbiased ? 1 : 0), false);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return cresset::std_mean(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool keepdim) {
  auto [v, m] = cresset::var_mean(self, dim, correction, keepdim);
  return {v.sqrt(), m};
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const DimVector dims = dim ? DimVector{*dim} : DimVector();
  return {cresset::amin(self, dims, keepdim), cresset::amax(self, dims, keepdim)};
}

}  // namespace composite

namespace cpu {

// With a gradient of its own, out of the input and the result.
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) { return composite::logsumexp(self, dim, keepdim); }

}  // namespace cpu

}  // namespace cresset::ops
