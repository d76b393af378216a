// Reading and writing by places.

#include <algorithm>

#include "cresset/kernels/index/index.h"
#include "cresset/kernels/layout/layout.h"
#include "cresset/ops/differentiates.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"

namespace cresset::ops {

namespace {

using kernels::Strided;

void check_long(const char* op, const Tensor& index) {
  CRESSET_CHECK(index.scalar_type() == kLong, op, ": expected an index of dtype int64, got ", index.scalar_type());
}

void check_vector(const char* op, const Tensor& index) {
  CRESSET_CHECK_INDEX(index.dim() <= 1, op, ": index should have dimension 1 or 0, got shape ", index.sizes());
}

// Checks of the source of index_copy and index_reduce.
void check_source(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_vector(op, index);
  CRESSET_CHECK(self.scalar_type() == source.scalar_type(), op, ": self and source expected to have the same dtype, got ", self.scalar_type(), " and ",
                source.scalar_type());
  CRESSET_CHECK(self.device() == source.device() && self.device() == index.device(), op, ": expected all tensors to be on the same device");
  if (source.dim() == 0) {
    CRESSET_CHECK_INDEX(index.numel() == 1, op, ": when source is a scalar, index should have one element, got ", index.numel());
    return;
  }
  CRESSET_CHECK_INDEX(self.dim() == 0 || self.dim() == source.dim(), op, ": expected source and self to have the same number of dimensions, got ",
                      source.sizes(), " and ", self.sizes());
  for (int64_t i = 0; i < self.dim(); i++)
    CRESSET_CHECK(i == d || self.size(i) == source.size(i), op, ": source ", source.sizes(), " must have the sizes of self ", self.sizes(),
                  " but for dimension ", dim);
  CRESSET_CHECK_INDEX(index.numel() == source.size(self.dim() == 0 ? 0 : d), op, ": number of indices ", index.numel(), " differs from source.size(dim) ",
                      source.size(self.dim() == 0 ? 0 : d));
}

kernels::ScatterReduce reduction(std::string_view reduce) {
  using R = kernels::ScatterReduce;
  if (reduce == "sum") return R::sum;
  if (reduce == "prod") return R::prod;
  if (reduce == "mean") return R::mean;
  if (reduce == "amax") return R::amax;
  CRESSET_CHECK(reduce == "amin", "scatter_reduce: reduce argument must be sum, prod, mean, amax or amin, got ", std::string(reduce));
  return R::amin;
}

}  // namespace

namespace meta {

OutSpec take(const Tensor& self, const Tensor& index) {
  check_long("take", index);
  CRESSET_CHECK_INDEX(self.numel() > 0 || index.numel() == 0, "take: tried to take from an empty tensor");
  return {DimVector(index.sizes()), self.scalar_type(), self.device()};
}
OutSpec put(const Tensor& self, const Tensor& index, const Tensor& source, bool) {
  check_long("put", index);
  CRESSET_CHECK(self.scalar_type() == source.scalar_type(), "put: self and source expected to have the same dtype, got ", self.scalar_type(), " and ",
                source.scalar_type());
  CRESSET_CHECK(index.numel() == source.numel(), "put: expected as many elements in source as in index, got ", source.numel(), " and ", index.numel());
  CRESSET_CHECK_INDEX(self.numel() > 0 || index.numel() == 0, "put: tried to put elements into an empty tensor");
  OutSpec s = like(self);
  s.strides = preserved_strides(self);
  return s;
}
OutSpec index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_long("index_copy", index);
  check_source("index_copy", self, dim, index, source);
  return like(self);
}
OutSpec index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  wrap_dim(dim, self.dim());
  CRESSET_CHECK_INDEX(index.scalar_type() == kLong, "index_fill: expected an index of dtype int64, got ", index.scalar_type());
  check_vector("index_fill", index);
  CRESSET_CHECK(!value.isComplex() || self.is_complex(), "index_fill: converting a complex value to ", self.scalar_type(), " is not supported");
  OutSpec s = like(self);
  s.strides = preserved_strides(self);
  return s;
}
OutSpec masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  CRESSET_CHECK(mask.scalar_type() == kBool, "masked_scatter: expected a bool mask, got ", mask.scalar_type());
  CRESSET_CHECK(self.scalar_type() == source.scalar_type(), "masked_scatter: expected self and source to have the same dtypes, got ", self.scalar_type(),
                " and ", source.scalar_type());
  return {broadcast_shapes(self.sizes(), mask.sizes()), self.scalar_type(), self.device()};
}
OutSpec scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool) {
  reduction(reduce);
  if (index.numel() == 0) return like(self);
  // The same shapes as those of scatter_add.
  check_long("scatter_reduce", index);
  const int64_t d = wrap_dim(dim, self.dim());
  auto dims = [](const Tensor& t) { return std::max<int64_t>(t.dim(), 1); };
  auto size = [](const Tensor& t, int64_t i) { return t.dim() == 0 ? 1 : t.size(i); };
  CRESSET_CHECK(self.scalar_type() == src.scalar_type(), "scatter_reduce: expected self.dtype to be equal to src.dtype, got ", self.scalar_type(), " and ",
                src.scalar_type());
  CRESSET_CHECK(dims(index) == dims(self) && dims(index) == dims(src), "scatter_reduce: expected an index of as many dimensions as self and src, got ",
                index.sizes(), ", ", self.sizes(), " and ", src.sizes());
  for (int64_t i = 0; i < dims(self); i++)
    CRESSET_CHECK((i == d || size(index, i) <= size(self, i)) && size(index, i) <= size(src, i), "scatter_reduce: expected index ", index.sizes(),
                  " to be no larger than self ", self.sizes(), " apart from dimension ", d, " and to be no larger than src ", src.sizes());
  return like(self);
}

}  // namespace meta

namespace cpu {

void take(const Tensor& self, const Tensor& index, const Tensor& out) {
  if (out.numel() > 0) kernels::take(view_of(out), view_of(self), view_of(index));
}
void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, const Tensor& out) {
  start_from(self, out);
  const Tensor given = source.reshape(index.sizes());
  if (index.numel() > 0) kernels::put(view_of(out), view_of(index), view_of(given), accumulate);
}
void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Tensor& out) {
  start_from(self, out);
  const Tensor given = source.dim() == self.dim() ? source : source.reshape(self.sizes());
  if (index.numel() > 0) kernels::index_copy(view_of(out), wrap_dim(dim, self.dim()), view_of(index), view_of(given));
}
void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, const Tensor& out) {
  // Where other dimensions are empty too, there is no place that could be missing.
  const bool none = self.dim() > 0 && index.numel() > 0 && self.size(dim) == 0 && std::count(self.sizes().begin(), self.sizes().end(), 0) == 1;
  CRESSET_CHECK_INDEX(!none, "index_fill: index out of range for dimension ", dim, " of size 0");
  start_from(self, out);
  if (index.numel() > 0 && out.numel() > 0) kernels::index_fill(view_of(out), wrap_dim(dim, self.dim()), view_of(index), value);
}
void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source, const Tensor& out) {
  if (!out.is_same(self)) overwrite(out, self.expand(out.sizes()));
  const Tensor where = mask.expand(out.sizes()), from = source.contiguous();
  if (out.numel() > 0) kernels::masked_scatter(view_of(out), view_of(where), from.data_ptr(), from.numel());
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self, const Tensor& out) {
  start_from(self, out);
  if (index.numel() > 0) kernels::scatter_reduce(view_of(out), wrap_dim(dim, self.dim()), view_of(index), view_of(src), reduction(reduce), include_self);
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  CRESSET_CHECK_NOT_IMPLEMENTED(repeats.scalar_type() == kLong || repeats.scalar_type() == kInt, "repeat_interleave: repeats has to be int64 or int32, got ",
                                repeats.scalar_type());
  CRESSET_CHECK(repeats.dim() == 1, "repeat_interleave: only accepts a 1D vector as repeats, got shape ", repeats.sizes());
  if (repeats.lacks_data()) {
    if (!output_size) shape_depends_on_data("repeat_interleave", "Tensor", repeats);
    return cresset::empty({*output_size}, repeats.options());
  }
  const Tensor counts = repeats.to(kLong).contiguous();
  const int64_t* n = static_cast<const int64_t*>(counts.data_ptr());
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); i++) {
    CRESSET_CHECK(n[i] >= 0, "repeat_interleave: repeats can not be negative, got ", n[i]);
    total += n[i];
  }
  CRESSET_CHECK(!output_size || *output_size == total, "repeat_interleave: allocated size ", output_size.value_or(0), " does not match required size ", total);
  const Tensor out = cresset::empty({total}, repeats.options());
  const Tensor places = cresset::arange(counts.numel(), repeats.options());
  if (total > 0) kernels::repeat_interleave(view_of(out), view_of(places), n, 0);
  return out;
}

}  // namespace cpu

namespace composite {

Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  CRESSET_CHECK(value.dim() == 0, "index_fill: only supports a 0-dimensional value tensor, got shape ", value.sizes());
  CRESSET_CHECK(!value.is_complex() || self.is_complex(), "index_fill: converting a complex value to ", self.scalar_type(), " is not supported");
  if (!differentiates(value) && !value.lacks_data()) return cresset::index_fill(self, dim, index, value.item());
  // Chosen by a mask, so that places that are named twice count once in the value's gradient.
  DimVector shape(static_cast<size_t>(self.dim()), 1);
  const int64_t d = wrap_dim(dim, self.dim());
  if (self.dim() > 0) shape[static_cast<size_t>(d)] = self.size(d);
  const Tensor mask = cresset::zeros(shape, TensorOptions(kBool).device(self.device())).index_fill(d, index, true);
  return cresset::where(mask, value.to(self.scalar_type()), self);
}

namespace {

void check_repeated_dim(const Tensor& self, std::optional<int64_t> dim) {
  CRESSET_CHECK_INDEX(!dim || self.dim() > 0, "repeat_interleave: dimension specified as ", dim.value_or(0), " but tensor has no dimensions");
}

}  // namespace

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) {
  CRESSET_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
                "index_reduce: reduce argument must be prod, mean, amax or amin, got ", std::string(reduce));
  CRESSET_CHECK(index.scalar_type() == kLong || index.scalar_type() == kInt, "index_reduce: expected an index of dtype int64 or int32, got ",
                index.scalar_type());
  check_source("index_reduce", self, dim, index, source);
  if (self.dim() == 0) return cresset::index_reduce(self.reshape({1}), 0, index.reshape({1}), source.reshape({1}), reduce, include_self).reshape({});
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor from = source.dim() == 0 ? source.expand(self.sizes()) : source;
  DimVector shape(static_cast<size_t>(self.dim()), 1);
  shape[static_cast<size_t>(d)] = index.numel();
  return self.scatter_reduce(d, index.to(kLong).reshape(shape).expand(from.sizes()), from, reduce, include_self);
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  check_repeated_dim(self, dim);
  const Tensor x = dim ? self : self.reshape({-1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim());
  CRESSET_CHECK(repeats.dim() <= 1, "repeat_interleave: repeats must be 0-dim or 1-dim tensor, got shape ", repeats.sizes());
  const int64_t n = x.dim() == 0 ? 1 : x.size(d);
  CRESSET_CHECK(repeats.dim() == 0 || repeats.numel() == 1 || repeats.numel() == n,
                "repeat_interleave: expected one repeat, or one for each index of dim, got repeats.size(0) = ", repeats.numel(), " and input.size(", d,
                ") = ", n);
  const Tensor counts = repeats.numel() == n && repeats.dim() == 1 ? repeats : repeats.reshape({1}).expand({n});
  const Tensor places = cresset::repeat_interleave(counts, output_size);
  return x.dim() == 0 ? x.reshape({1}).index_select(0, places) : x.index_select(d, places);
}
Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  CRESSET_CHECK(repeats >= 0, "repeat_interleave: repeats must be non-negative, got ", repeats);
  check_repeated_dim(self, dim);
  Tensor x = dim ? self : self.reshape({-1});
  if (x.dim() == 0) x = x.reshape({1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim()), n = x.size(d);
  CRESSET_CHECK(!output_size || *output_size == n * repeats, "repeat_interleave: allocated size ", output_size.value_or(0), " does not match required size ",
                n * repeats);
  DimVector wide(x.sizes()), shape(x.sizes());
  wide.insert(wide.begin() + d + 1, repeats);
  shape[static_cast<size_t>(d)] *= repeats;
  return x.unsqueeze(d + 1).expand(wide).clone(MemoryFormat::Contiguous).view(shape);
}

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  CRESSET_CHECK(size >= 0, "nonzero_static: size must be non-negative, got ", size);
  if (self.lacks_data()) {
    const TensorOptions options = TensorOptions(kLong).device(self.device());
    return self.is_meta() ? cresset::empty({self.dim(), size}, options).t() : cresset::empty({size, self.dim()}, options);
  }
  const Tensor found = self.nonzero();
  const int64_t used = std::min(size, found.size(0));
  const Tensor rest = cresset::full({size - used, self.dim()}, fill_value, TensorOptions(kLong).device(self.device()));
  return cresset::cat({found.narrow(0, 0, used), rest}, 0);
}

namespace {

// Where the mask is false an index may be anything: 0 stands for it.
std::vector<std::optional<Tensor>> safe_indices(const Tensor& self, const Tensor& mask, ArrayRef<std::optional<Tensor>> indices) {
  std::vector<std::optional<Tensor>> list;
  for (size_t d = 0; d < indices.size(); d++) {
    if (!indices[d] || !indices[d]->defined()) list.emplace_back();
    else list.emplace_back((*indices[d] * mask).clamp(-self.size(static_cast<int64_t>(d)), self.size(static_cast<int64_t>(d)) - 1));
  }
  return list;
}

}  // namespace

Tensor _unsafe_masked_index(const Tensor& self, const Tensor& mask, ArrayRef<std::optional<Tensor>> indices, const Scalar& fill) {
  if (self.numel() == 0) {
    // Nothing may be read: all of the mask must be false.
    return cresset::full(mask.sizes(), fill, self.options());
  }
  const Tensor read = self.index(safe_indices(self, mask, indices));
  return read.masked_fill(mask.logical_not(), fill);
}
Tensor _unsafe_masked_index_put_accumulate(const Tensor& self, const Tensor& mask, ArrayRef<std::optional<Tensor>> indices, const Tensor& values) {
  if (self.numel() == 0) return self.clone();
  return self.index_put(safe_indices(self, mask, indices), values.masked_fill(mask.logical_not(), 0), true);
}

}  // namespace composite

}  // namespace cresset::ops
