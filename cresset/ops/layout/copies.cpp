// Views as tensors of their own, and views written over a copy.

#include "cresset/core/batched.h"
#include "cresset/core/layout.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/sparse/sparse_math.h"
#include "cresset/ops/support.h"

namespace cresset::ops::composite {

namespace {

Tensor separate(const Tensor& view) { return view.clone(MemoryFormat::Contiguous); }

std::vector<Tensor> separate(const std::vector<Tensor>& views) {
  std::vector<Tensor> copies;
  copies.reserve(views.size());
  for (const Tensor& v : views) copies.push_back(separate(v));
  return copies;
}

// A copy of `self` in the same memory order whose part `view` holds `src`.
template <class F> Tensor placed(const char* op, const Tensor& self, const Tensor& src, F view) {
  CRESSET_CHECK(src.device() == self.device(), op, ": expected src on ", self.device(), ", got ", src.device());
  // Under vmap a part that differs by element makes the whole differ.
  const Tensor out = as_batched(src)
                         ? cresset::where(cresset::ones({}, TensorOptions(kBool).device(self.device())), self, src.new_empty(self.sizes(), self.options()))
                         : self.clone();
  const Tensor part = view(out);
  CRESSET_CHECK(part.sizes() == src.sizes(), op, ": expected src of the shape of the part of self, got ", src.sizes(), " and ", part.sizes());
  Tensor(part).copy_(src);
  return out;
}

}  // namespace

Tensor alias_copy(const Tensor& self) { return separate(self); }
Tensor detach_copy(const Tensor& self) { return separate(self.detach()); }
Tensor as_strided_copy(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  return separate(self.as_strided(size, stride, storage_offset));
}
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) { return separate(self.diagonal(offset, dim1, dim2)); }
Tensor expand_copy(const Tensor& self, IntArrayRef size, bool implicit) { return separate(self.expand(size, implicit)); }
Tensor permute_copy(const Tensor& self, IntArrayRef dims) { return separate(self.permute(dims)); }
Tensor squeeze_copy(const Tensor& self) { return separate(self.squeeze()); }
Tensor squeeze_copy(const Tensor& self, int64_t dim) { return separate(self.squeeze(dim)); }
Tensor squeeze_copy(const Tensor& self, IntArrayRef dim) { return separate(self.squeeze(dim)); }
Tensor t_copy(const Tensor& self) { return separate(self.t()); }
Tensor transpose_copy(const Tensor& self, int64_t dim0, int64_t dim1) { return separate(self.transpose(dim0, dim1)); }
Tensor unfold_copy(const Tensor& self, int64_t dimension, int64_t size, int64_t step) { return separate(self.unfold(dimension, size, step)); }
Tensor unsqueeze_copy(const Tensor& self, int64_t dim) { return separate(self.unsqueeze(dim)); }
Tensor view_copy(const Tensor& self, IntArrayRef size) { return separate(self.view(size)); }
Tensor view_copy(const Tensor& self, ScalarType dtype) { return separate(self.view(dtype)); }
Tensor select_copy(const Tensor& self, int64_t dim, int64_t index) { return separate(self.select(dim, index)); }
Tensor slice_copy(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  return separate(self.slice(dim, start, end, step));
}
Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  CRESSET_CHECK(dim < self.dim(), "narrow_copy: dimension out of range, got ", dim, " for shape ", self.sizes());
  if (self.layout() != Layout::Strided) {
    if (!layer_state().grad_mode || !self.requires_grad()) return sparse::narrow_copy(self, dim, start, length);
    const int64_t first = start < 0 ? start + self.size(dim) : start;
    return self.index_select(dim, cresset::arange(first, first + length, TensorOptions(kLong)));
  }
  return separate(self.narrow(dim, start, length));
}
std::vector<Tensor> unbind_copy(const Tensor& self, int64_t dim) { return separate(self.unbind(dim)); }
std::vector<Tensor> split_copy(const Tensor& self, int64_t split_size, int64_t dim) { return separate(self.split(split_size, dim)); }
std::vector<Tensor> split_with_sizes_copy(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  return separate(self.split_with_sizes(split_sizes, dim));
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return placed("diagonal_scatter", self, src, [&](const Tensor& t) { return t.diagonal(offset, dim1, dim2); });
}
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  return placed("select_scatter", self, src, [&](const Tensor& t) { return t.select(dim, index); });
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  return placed("slice_scatter", self, src, [&](const Tensor& t) { return t.slice(dim, start, end, step); });
}
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  return placed("as_strided_scatter", self, src, [&](const Tensor& t) { return t.as_strided(size, stride, storage_offset); });
}
Tensor fill(const Tensor& self, const Scalar& value) { return self.clone().fill_(value); }
Tensor fill(const Tensor& self, const Tensor& value) { return self.clone().fill_(value); }

}  // namespace cresset::ops::composite
