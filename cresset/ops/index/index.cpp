// Indexing, joining and placing over kernels/index/index.h and kernels/layout/layout.h.

#include "cresset/kernels/index/index.h"

#include <algorithm>

#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/core/layout.h"
#include "cresset/kernels/layout/layout.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

namespace {

using kernels::Strided;

void check_index_dtype(const char* op, const Tensor& index) {
  CRESSET_CHECK(index.scalar_type() == kLong || index.scalar_type() == kInt, op, ": expected an index of dtype int64 or int32, got ", index.scalar_type());
}

// 0-d tensors count as one element along their only dimension.
int64_t size_or_one(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.size(d); }
int64_t dims_or_one(const Tensor& t) { return t.dim() == 0 ? 1 : t.dim(); }

void check_gather(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (index.numel() == 0) return;
  CRESSET_CHECK(index.scalar_type() == kLong || index.scalar_type() == kInt, op, ": expected an index of dtype int64, got ", index.scalar_type());
  CRESSET_CHECK(dims_or_one(index) == dims_or_one(self), op, ": expected an index of as many dimensions as self, got ", index.sizes(), " and ", self.sizes());
  for (int64_t i = 0; i < dims_or_one(self); i++)
    CRESSET_CHECK(i == d || size_or_one(index, i) <= size_or_one(self, i), op, ": size does not match at dimension ", i, ", expected index ", index.sizes(),
                  " to be no larger than self ", self.sizes(), " apart from dimension ", d);
  if (!src) return;
  CRESSET_CHECK(src->scalar_type() == self.scalar_type(), op, ": expected self.dtype to be equal to src.dtype, got ", self.scalar_type(), " and ",
                src->scalar_type());
  CRESSET_CHECK(dims_or_one(*src) == dims_or_one(index), op, ": expected an index of as many dimensions as src, got ", index.sizes(), " and ", src->sizes());
  for (int64_t i = 0; i < dims_or_one(self); i++)
    CRESSET_CHECK(size_or_one(index, i) <= size_or_one(*src, i), op, ": expected index ", index.sizes(), " to be no larger than src ", src->sizes());
}

kernels::ScatterReduce reduction_named(std::string_view reduce) {
  if (reduce == "add") return kernels::ScatterReduce::sum;
  CRESSET_CHECK(reduce == "multiply", "scatter: reduce argument must be either add or multiply, got \"", std::string(reduce), "\"");
  return kernels::ScatterReduce::prod;
}

void check_number(const char* op, const Tensor& self, const Scalar& value) {
  CRESSET_CHECK(!value.isComplex() || self.is_complex() || self.scalar_type() == kBool || value.toComplexDouble().imag() == 0, op, ": value ", value,
                " cannot be converted to dtype ", self.scalar_type(), " without overflow");
}

// Index tensors broadcast to one shape; undefined ones stand for whole dimensions. Masks have been expanded before.
struct Indices {
  std::vector<Tensor> keep;
  SmallVector<Strided, 5> list;
};

// Masks stand for the positions where they are true: one index tensor for each of their dimensions.
std::vector<std::optional<Tensor>> expand_masks(const Tensor& self, ArrayRef<std::optional<Tensor>> indices) {
  std::vector<std::optional<Tensor>> list;
  for (const auto& i : indices) {
    if (!i || !i->defined() || (i->scalar_type() != kBool && i->scalar_type() != kByte)) {
      list.push_back(i);
      continue;
    }
    for (int64_t d = 0; d < i->dim(); d++) {
      const int64_t at = static_cast<int64_t>(list.size()) + d;
      CRESSET_CHECK_INDEX(at < self.dim() && i->size(d) == self.size(at), "index: the shape of the mask ", i->sizes(), " at index ", d,
                          " does not fit the indexed tensor of shape ", self.sizes(), " at index ", at);
    }
    for (const Tensor& p : i->nonzero().unbind(1)) list.emplace_back(p);
  }
  return list;
}

void warn_of_byte_masks(ArrayRef<std::optional<Tensor>> indices) {
  for (const auto& i : indices)
    if (i && i->defined() && i->scalar_type() == kByte) warn("index: indexing with dtype torch.uint8 is now deprecated; give the mask dtype bool");
}

Indices broadcast_indices(const Tensor& self, ArrayRef<std::optional<Tensor>> given) {
  const std::vector<std::optional<Tensor>> indices = expand_masks(self, given);
  CRESSET_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.dim(), "index: more indices than dimensions of the tensor, ", self.dim(), ", got ",
                      indices.size());
  DimVector shape;
  bool first = true;
  for (const auto& i : indices) {
    if (!i || !i->defined()) continue;
    CRESSET_CHECK_INDEX(i->scalar_type() == kLong || i->scalar_type() == kInt, "index: tensors used as indices must be int64, int32, uint8 or bool, got ",
                        i->scalar_type());
    try {
      shape = first ? DimVector(i->sizes()) : broadcast_shapes(shape, i->sizes());
    } catch (const Error&) { CRESSET_CHECK_INDEX(false, "index: expected indices that broadcast together, got shapes ", shape, " and ", i->sizes()); }
    first = false;
  }
  Indices r;
  r.keep.reserve(indices.size());
  for (const auto& i : indices) {
    if (!i || !i->defined()) {
      r.list.push_back(Strided{});
      continue;
    }
    r.keep.push_back(i->to(kLong).expand(shape));
    r.list.push_back(view_of(r.keep.back()));
  }
  return r;
}

// One element assigned to what one mask selects is filling, which converts; byte masks are refused there.
bool fills_mask(ArrayRef<std::optional<Tensor>> indices, const Tensor& values) {
  if (values.numel() != 1) return false;
  const Tensor* mask = nullptr;
  for (const auto& i : indices) {
    if (!i || !i->defined()) continue;
    if (mask || (i->scalar_type() != kBool && i->scalar_type() != kByte)) return false;
    mask = &*i;
  }
  CRESSET_CHECK(!mask || mask->scalar_type() == kBool, "index_put: only boolean masks can be filled, got ", mask->scalar_type());
  return mask != nullptr;
}

// In the memory order of self; what it leaves open the indices decide, seen with ones for the dimensions that are not indexed.
DimVector index_result_strides(const Tensor& self, const Indices& indices, IntArrayRef shape) {
  const kernels::IndexStrides of_self = kernels::index_strides(self.sizes(), self.strides(), indices.list);
  std::vector<DimVector> strides{of_self.strides};
  for (const Tensor& t : indices.keep) {
    DimVector padded(shape.size(), 1);
    for (int64_t d = 0; d < t.dim(); d++) padded[of_self.position + static_cast<size_t>(d)] = t.sizes()[d];
    const std::optional<DimVector> seen = view_strides(t.sizes(), t.strides(), padded);
    strides.push_back(seen ? *seen : contiguous_strides(padded));
    for (size_t d = 0; d < shape.size(); d++)
      if (padded[d] == 1 && shape[d] != 1) strides.back()[d] = 0;
  }
  return dense_strides(shape, strides);
}

bool is_empty(IntArrayRef shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

// Where the result has no elements only the dimensions are looked at, not the indices.
void check_places(const Tensor& self, const Indices& indices) {
  for (size_t d = 0; d < indices.list.size(); d++)
    CRESSET_CHECK_INDEX(!indices.list[d].defined() || self.sizes()[d] > 0 || is_empty(indices.list[d].sizes),
                        "index: index is out of bounds for dimension with size 0, dimension ", d);
}

}  // namespace

namespace meta {

OutSpec gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  check_gather("gather", self, dim, index, nullptr);
  return {DimVector(index.sizes()), self.scalar_type(), self.device()};
}
OutSpec scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  check_gather("scatter", self, dim, index, &src);
  return like(self);
}
OutSpec scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
  check_gather("scatter", self, dim, index, nullptr);
  return like(self);
}
OutSpec scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  reduction_named(reduce);
  check_gather("scatter", self, dim, index, &src);
  return like(self);
}
OutSpec scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  check_gather("scatter_add", self, dim, index, &src);
  return like(self);
}
OutSpec index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_dtype("index_select", index);
  CRESSET_CHECK_INDEX(index.dim() <= 1, "index_select: index is supposed to be a vector, got shape ", index.sizes());
  CRESSET_CHECK(self.dim() > 0 || index.numel() == 1, "index_select: an index into a 0-d tensor can have one value only, got ", index.numel());
  CRESSET_CHECK(self.dim() < 2 || size_or_one(self, d) > 0 || index.numel() == 0, "index_select: dimension ", d, " of self has size 0, got ", index.numel(),
                " indices");
  CRESSET_CHECK_INDEX(size_or_one(self, d) > 0 || index.numel() == 0, "index_select: dimension ", d, " of self has size 0, got ", index.numel(), " indices");
  OutSpec s = like(self);
  if (self.dim() > 0) s.sizes[d] = index.numel();
  return s;
}
OutSpec index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar&) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_dtype("index_add", index);
  CRESSET_CHECK_INDEX(index.dim() <= 1, "index_add: index is supposed to be a vector, got shape ", index.sizes());
  CRESSET_CHECK(self.scalar_type() == source.scalar_type(), "index_add: self dtype ", self.scalar_type(), " and source dtype ", source.scalar_type(),
                " must be the same");
  CRESSET_CHECK_INDEX(source.dim() > 0 || index.numel() == 1, "index_add: dimension specified as ", dim, " but source has no dimensions, for ", index.numel(),
                      " indices");
  CRESSET_CHECK(self.dim() == source.dim(), "index_add: source shape ", source.sizes(), " must match self shape ", self.sizes(), " but for dimension ", d);
  CRESSET_CHECK(size_or_one(source, d) == index.numel(), "index_add: number of indices ", index.numel(), " should be equal to the size of source ",
                source.sizes(), " in dimension ", d);
  for (int64_t i = 0; i < self.dim(); i++)
    CRESSET_CHECK(i == d || self.size(i) == source.size(i), "index_add: source shape ", source.sizes(), " must match self shape ", self.sizes(),
                  " but for dimension ", d);
  return like(self);
}
OutSpec index(const Tensor& self, ArrayRef<std::optional<Tensor>> indices) {
  warn_of_byte_masks(indices);
  const Indices i = broadcast_indices(self, indices);
  OutSpec s{kernels::index_shape(self.sizes(), i.list), self.scalar_type(), self.device()};
  bool plain = self.strides() == IntArrayRef(contiguous_strides(self.sizes()));
  for (const Strided& t : i.list) plain = plain && t.sizes.size() < 2;
  if (!plain) s.strides = index_result_strides(self, i, s.sizes);
  return s;
}
OutSpec index_put(const Tensor& self, ArrayRef<std::optional<Tensor>> indices, const Tensor& values, bool accumulate) {
  warn_of_byte_masks(indices);
  for (const auto& mask : indices) {  // how many places it selects is not known, and the result does not depend on it
    if (!mask || !mask->defined() || !mask->lacks_data() || (mask->scalar_type() != kBool && mask->scalar_type() != kByte)) continue;
    OutSpec s = like(self);
    s.strides = preserved_strides(self);
    return s;
  }
  const Indices i = broadcast_indices(self, indices);
  const bool fills = !accumulate && fills_mask(indices, values);
  CRESSET_CHECK(fills || i.keep.size() > 0, "index_put: a mask without dimensions can only be filled, with one value and without accumulate");
  CRESSET_CHECK(fills || values.scalar_type() == self.scalar_type(), "index_put: expected source and destination dtypes to match, got ", self.scalar_type(),
                " for the destination and ", values.scalar_type(), " for the source");
  const DimVector shape = kernels::index_shape(self.sizes(), i.list);
  bool fits = values.dim() <= static_cast<int64_t>(shape.size());
  for (int64_t d = 1; fits && d <= values.dim(); d++) fits = values.size(-d) == 1 || values.size(-d) == shape[shape.size() - static_cast<size_t>(d)];
  CRESSET_CHECK(fits, "index_put: shape mismatch, value tensor of shape ", values.sizes(), " does not broadcast to the indexed places of shape ", shape);
  OutSpec s = like(self);
  s.strides = preserved_strides(self);
  return s;
}
OutSpec cat(TensorList tensors, int64_t dim) {
  CRESSET_CHECK_VALUE(!tensors.empty(), "cat: expected a non-empty list of tensors");
  const Tensor* first = nullptr;
  SmallVector<Arg, 8> args;
  int64_t total = 0;
  auto skipped = [](const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; };
  for (const Tensor& t : tensors) {
    CRESSET_CHECK(t.dim() > 0, "cat: zero-dimensional tensor cannot be concatenated");
    args.push_back(Arg(t));
    if (!first && !skipped(t)) first = &t;
  }
  OutSpec s = like(first ? *first : tensors[0]);
  s.dtype = result_type(args);
  // Vectors without elements fit any dimension.
  const int64_t d = first ? wrap_dim(dim, static_cast<int64_t>(s.sizes.size())) : 0;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    CRESSET_CHECK(t.device() == s.device, "cat: expected all tensors to be on the same device, got ", s.device, " and ", t.device());
    if (skipped(t)) continue;
    CRESSET_CHECK(t.dim() == static_cast<int64_t>(s.sizes.size()), "cat: tensors must have the same number of dimensions, got ", s.sizes.size(), " and ",
                  t.dim());
    for (int64_t k = 0; k < t.dim(); k++)
      CRESSET_CHECK(k == d || t.size(k) == first->size(k), "cat: sizes of tensors must match except in dimension ", d, ", expected size ", first->size(k),
                    " but got size ", t.size(k), " for tensor number ", i, " in the list");
    CRESSET_CHECK(!__builtin_add_overflow(total, t.size(d), &total), "cat: the size of dimension ", d, " does not fit in 64 bits");
  }
  s.sizes[d] = first ? total : 0;
  // The memory format that all tensors share.
  const MemoryFormat format = tensors[0].suggest_memory_format();
  bool shared = format != MemoryFormat::Contiguous;
  for (const Tensor& t : tensors) shared = shared && t.suggest_memory_format() == format;
  if (shared) s.strides = strides_for(s.sizes, format);
  return s;
}
OutSpec flip(const Tensor& self, IntArrayRef dims) {
  dim_mask(dims, self.dim());
  OutSpec s = like(self);
  s.strides = preserved_strides(self);
  return s;
}
OutSpec roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  CRESSET_CHECK(!shifts.empty(), "roll: `shifts` required");
  CRESSET_CHECK(dims.empty() ? shifts.size() == 1 : shifts.size() == dims.size(), "roll: shifts ", shifts, " and dimensions ", dims, " must align");
  for (const int64_t d : dims) {
    CRESSET_CHECK_INDEX(self.dim() > 0, "roll: dimension specified as ", d, " but tensor has no dimensions");
    wrap_dim(d, self.dim());
  }
  // As in PyTorch, a roll by nothing, or all the way round, does not keep the order of memory.
  bool moves = !dims.empty();
  for (size_t i = 0; i < dims.size(); i++) {
    const int64_t size = self.size(dims[i]);
    moves = moves && (self.numel() == 0 || shifts[i] % size != 0);
  }
  OutSpec s = like(self);
  if (moves) s.strides = format_strides(self, s.sizes);
  return s;
}
OutSpec repeat(const Tensor& self, IntArrayRef repeats) {
  CRESSET_CHECK(static_cast<int64_t>(repeats.size()) >= self.dim(), "repeat: number of dimensions of repeat dims ", repeats,
                " is below the number of dimensions of the tensor ", self.sizes());
  OutSpec s = like(self);
  s.sizes = DimVector(repeats);
  for (size_t d = 0; d < repeats.size(); d++) {
    CRESSET_CHECK(repeats[d] >= 0, "repeat: trying to create tensor with negative dimension, got repeats ", repeats);
    const size_t lead = repeats.size() - static_cast<size_t>(self.dim());
    CRESSET_CHECK(d < lead || !__builtin_mul_overflow(repeats[d], self.sizes()[d - lead], &s.sizes[d]), "repeat: ", repeats, " times shape ", self.sizes(),
                  " does not fit in 64 bits");
  }
  return s;
}
OutSpec tril(const Tensor& self, int64_t) {
  CRESSET_CHECK(self.dim() >= 2, "tril: input tensor must have at least 2 dimensions, got shape ", self.sizes());
  return like(self);
}
OutSpec triu(const Tensor& self, int64_t) {
  CRESSET_CHECK(self.dim() >= 2, "triu: input tensor must have at least 2 dimensions, got shape ", self.sizes());
  return like(self);
}
OutSpec embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  CRESSET_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-D, got shape ", weight.sizes());
  CRESSET_CHECK(indices.scalar_type() == kLong || indices.scalar_type() == kInt, "embedding: expected indices of dtype int64 or int32, got ",
                indices.scalar_type());
  OutSpec s = like(weight);
  s.sizes = indices.sizes();
  s.sizes.push_back(weight.size(1));
  return s;
}
OutSpec embedding_dense_backward(const Tensor& grad_output, const Tensor&, int64_t num_weights, int64_t, bool) {
  return {{num_weights, grad_output.size(-1)}, grad_output.scalar_type(), grad_output.device()};
}

}  // namespace meta

namespace cpu {

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  if (index.numel() > 0) kernels::gather(view_of(out), view_of(self), wrap_dim(dim, self.dim()), view_of(index));
}
void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  start_from(self, out);
  if (index.numel() > 0) kernels::scatter(view_of(out), wrap_dim(dim, self.dim()), view_of(index), view_of(src));
}
void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, const Tensor& out) {
  start_from(self, out);
  check_number("scatter", self, value);
  if (index.numel() > 0) kernels::scatter_value(view_of(out), wrap_dim(dim, self.dim()), view_of(index), value);
}
void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, const Tensor& out) {
  start_from(self, out);
  if (index.numel() > 0)
    kernels::scatter_reduce(view_of(out), wrap_dim(dim, self.dim()), view_of(index), view_of(src), reduction_named(reduce), true, "scatter");
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  start_from(self, out);
  if (index.numel() > 0) kernels::scatter_add(view_of(out), wrap_dim(dim, self.dim()), view_of(index), view_of(src));
}
void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  if (out.numel() > 0) kernels::index_select(view_of(out), view_of(self), wrap_dim(dim, self.dim()), view_of(index));
}
void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha, const Tensor& out) {
  start_from(self, out);
  if (index.numel() == 0) return;
  const int64_t d = wrap_dim(dim, self.dim());
  const auto add = [&](const Tensor& to, const Tensor& at, const Tensor& from) { kernels::index_add(view_of(to), d, view_of(at), view_of(from), alpha); };
  if (out.scalar_type() != kHalf && out.scalar_type() != kBFloat16) return add(out, index, source);
  // Many terms of a sum would be lost in the rounding of 16 bits. Of many slices only those that are named are copied.
  const bool few = 4 * index.numel() < size_or_one(self, d) && index.dim() == 1;
  const auto [slices, places, counts] = few ? cresset::_unique2(index.to(kLong), true, true, false) : std::tuple(index, index, index);
  if (few)
    for (const int64_t at : {slices[0].item<int64_t>(), slices[-1].item<int64_t>()})
      CRESSET_CHECK_INDEX(at >= 0 && at < self.size(d), "index_add: index ", at, " is out of bounds for dimension ", d, " with size ", self.size(d));
  const Tensor sums = (few ? out.index_select(d, slices) : out).to(kFloat);
  add(sums, places, source.to(kFloat));
  if (few) out.index_copy_(d, slices, sums.to(out.scalar_type()));
  else out.copy_(sums);
}
void index(const Tensor& self, ArrayRef<std::optional<Tensor>> indices, const Tensor& out) {
  const Indices i = broadcast_indices(self, indices);
  if (out.numel() == 0) return check_places(self, i);
  kernels::index(view_of(out), view_of(self), i.list);
}
void index_put(const Tensor& self, ArrayRef<std::optional<Tensor>> indices, const Tensor& values, bool accumulate, const Tensor& out) {
  const Indices i = broadcast_indices(self, indices);
  if (out.is_same(self)) check_apart("index_put_", out, inputs_of(indices, values));
  start_from(self, out);
  if (i.keep.empty()) {  // one mask without dimensions
    for (const auto& mask : indices)
      if (mask && mask->defined() && !mask->item().toBool()) return;
  }
  const DimVector shape = kernels::index_shape(self.sizes(), i.list);
  if (is_empty(shape)) return check_places(self, i);
  const Tensor v = values.to(self.scalar_type()).expand(shape);
  kernels::index_put(view_of(out), i.list, view_of(v), accumulate);
}
void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  std::vector<Tensor> keep;
  keep.reserve(tensors.size());
  SmallVector<Strided, 8> list;
  for (const Tensor& t : tensors) {
    keep.push_back(t.scalar_type() == out.scalar_type() ? t : t.to(out.scalar_type()));
    list.push_back(view_of(keep.back()));
  }
  if (out.numel() > 0) kernels::cat(view_of(out), list, wrap_dim(dim, out.dim()));
}
void flip(const Tensor& self, IntArrayRef dims, const Tensor& out) {
  DimVector wrapped;
  for (const int64_t d : dims)
    if (self.dim() > 0) wrapped.push_back(wrap_dim(d, self.dim()));
  kernels::flip(view_of(out), view_of(self), wrapped);
}
void roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims, const Tensor& out) {
  if (self.numel() == 0) return;
  if (dims.empty()) {
    const Tensor flat = self.contiguous().view({-1}), to = out.view({-1});
    kernels::roll(view_of(to), view_of(flat), shifts, {0});
    return;
  }
  DimVector wrapped;
  for (const int64_t d : dims) wrapped.push_back(wrap_dim(d, self.dim()));
  kernels::roll(view_of(out), view_of(self), shifts, wrapped);
}
void repeat(const Tensor& self, IntArrayRef repeats, const Tensor& out) {
  if (out.numel() > 0) kernels::repeat(view_of(out), view_of(self), repeats);
}
void tril(const Tensor& self, int64_t diagonal, const Tensor& out) { kernels::tril(view_of(out), view_of(self), diagonal); }
void triu(const Tensor& self, int64_t diagonal, const Tensor& out) { kernels::triu(view_of(out), view_of(self), diagonal); }
void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, const Tensor& out) {
  if (indices.numel() > 0) kernels::embedding(view_of(out), view_of(weight), view_of(indices));
}
void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t, int64_t padding_idx, bool scale_grad_by_freq, const Tensor& out) {
  kernels::embedding_backward(view_of(out), view_of(grad_output), view_of(indices), padding_idx, scale_grad_by_freq);
}

// Results whose shape depends on the data.
Tensor nonzero(const Tensor& self) {
  const int64_t count = kernels::count_nonzero(view_of(self));
  // One coordinate after the other: each is contiguous.
  const Tensor out = cresset::empty({self.dim(), count}, TensorOptions(kLong).device(self.device()));
  if (out.numel() > 0) kernels::nonzero(out.data_ptr<int64_t>(), count, view_of(self));
  return out.t();
}
Tensor _masked_select(const Tensor& self, const Tensor& mask) {
  Tensor out = cresset::empty({kernels::count_nonzero(view_of(mask))}, self.options());
  if (out.numel() > 0) kernels::masked_select(out.data_ptr(), view_of(self), view_of(mask));
  return out;
}

}  // namespace cpu

namespace composite {

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return cresset::scatter(self, dim, index, cresset::full({}, value, self.options()).expand(index.sizes()), reduce);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  CRESSET_CHECK(mask.scalar_type() == kBool, "masked_select: expected a bool mask, got ", mask.scalar_type());
  const DimVector shape = broadcast_shapes(self.sizes(), mask.sizes());
  return cresset::_masked_select(self.expand(shape), mask.expand(shape));
}
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  CRESSET_CHECK(indices.scalar_type() == kLong, "take_along_dim: expected indices of dtype int64, got ", indices.scalar_type());
  if (!dim) return composite::take_along_dim(self.reshape({-1}), indices.reshape({-1}), 0);
  CRESSET_CHECK(self.dim() == indices.dim(), "take_along_dim: expected input and indices with the same number of dimensions, got ", self.sizes(), " and ",
                indices.sizes());
  DimVector to_self(self.sizes()), to_index(indices.sizes());
  const int64_t d = wrap_dim(*dim, self.dim());
  to_self[d] = to_index[d] = 1;
  DimVector shape = broadcast_shapes(to_self, to_index);
  to_self = to_index = shape;
  to_self[d] = self.size(d);
  to_index[d] = indices.size(d);
  const Tensor wrapped = cresset::where(indices.lt(0), indices.add(self.size(d)), indices);
  return self.expand(to_self).gather(d, wrapped.expand(to_index));
}
Tensor tile(const Tensor& self, IntArrayRef dims) {
  DimVector repeats(dims);
  while (static_cast<int64_t>(repeats.size()) < self.dim()) repeats.insert(repeats.begin(), 1);
  return self.repeat(repeats);
}
Tensor one_hot(const Tensor& self, int64_t num_classes) {
  CRESSET_CHECK(self.scalar_type() == kLong, "one_hot: only applicable to index tensors of dtype int64, got ", self.scalar_type());
  CRESSET_CHECK(self.numel() > 0 || num_classes > 0, "one_hot: cannot infer the number of classes from an empty tensor");
  int64_t classes = num_classes;
  if (self.numel() > 0 && !physical(self).lacks_data()) {
    const Tensor& all = classes == -1 ? self : physical(self);
    CRESSET_CHECK(all.min().item<int64_t>() >= 0, "one_hot: class values must be non-negative");
    const int64_t highest = all.max().item<int64_t>();
    if (classes == -1) classes = highest + 1;
    CRESSET_CHECK(highest < classes, "one_hot: class values must be smaller than num_classes, got ", highest, " with num_classes=", classes);
  }
  // Without data it is a symbol, or an error.
  if (classes == -1 && self.lacks_data()) classes = self.max().item<int64_t>() + 1;
  CRESSET_CHECK(classes >= 1, "one_hot: num_classes should be positive, got ", classes);
  DimVector shape(self.sizes());
  shape.push_back(classes);
  return cresset::zeros(shape, self.options()).scatter(-1, self.unsqueeze(-1), 1);
}
Tensor argwhere(const Tensor& self) { return self.nonzero(); }
Tensor fliplr(const Tensor& self) {
  CRESSET_CHECK(self.dim() >= 2, "fliplr: input must be >= 2-d, got shape ", self.sizes());
  return self.flip(IntArrayRef(1));
}
Tensor flipud(const Tensor& self) {
  CRESSET_CHECK(self.dim() >= 1, "flipud: input must be >= 1-d, got shape ", self.sizes());
  return self.flip(IntArrayRef(0));
}
Tensor concat(TensorList tensors, int64_t dim) { return cresset::cat(tensors, dim); }

}  // namespace composite

}  // namespace cresset::ops
