// Composites over views: reshaping, splitting, joining and moving of dimensions.

#include "cresset/base/warning.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/entries_view.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/unsafe_view.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/own.h"

namespace cresset::ops {

namespace {

Tensor plain_view(const Tensor& t, IntArrayRef sizes) { return t.view(sizes); }
const dispatch::Op<Tensor(const Tensor&, IntArrayRef)> kUnsafeView("_unsafe_view", "_unsafe_view(Tensor self, int[] size) -> Tensor", 0, nullptr, &plain_view,
                                                                   &plain_view, nullptr, nullptr);

}  // namespace

Tensor unsafe_view(const Tensor& t, IntArrayRef sizes) {
  const dispatch::HeardAs heard(entry::view, kUnsafeView);
  return t.view(sizes);
}

}  // namespace cresset::ops

namespace cresset::ops::composite {

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  CRESSET_CHECK(self.layout() == Layout::Strided, "reshape: not implemented for sparse tensors, got layout ", self.layout(), "; use to_dense() first");
  const DimVector sizes = infer_size(shape, self.numel());
  if (view_strides(self.sizes(), self.strides(), sizes)) return self.view(sizes);
  return own(unsafe_view(self.clone(MemoryFormat::Contiguous), sizes));
}

Tensor reshape_as(const Tensor& self, const Tensor& other) { return self.reshape(other.sizes()); }
Tensor view_as(const Tensor& self, const Tensor& other) { return self.view(other.sizes()); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return self.expand(other.sizes()); }

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t n = self.dim(), first = wrap_dim(start_dim, n), last = wrap_dim(end_dim, n);
  CRESSET_CHECK(first <= last, "flatten: start_dim ", start_dim, " comes after end_dim ", end_dim);
  if (n == 0) return self.reshape({1});
  if (first == last) return self;
  DimVector sizes;
  int64_t run = 1;
  for (int64_t d = first; d <= last; d++) run *= self.size(d);
  for (int64_t d = 0; d < first; d++) sizes.push_back(self.size(d));
  sizes.push_back(run);
  for (int64_t d = last + 1; d < n; d++) sizes.push_back(self.size(d));
  return self.reshape(sizes);
}

Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  const int64_t d = wrap_dim(dim, self.dim(), false);
  CRESSET_CHECK(!sizes.empty(), "unflatten: sizes must not be empty");
  const DimVector parts = infer_size(sizes, self.size(d));
  DimVector shape(self.sizes().slice(0, d));
  shape.append(parts.begin(), parts.end());
  shape.append(self.sizes().begin() + d + 1, self.sizes().end());
  return self.view(shape);
}

Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  CRESSET_CHECK(source.size() == destination.size(), "movedim: source ", source, " and destination ", destination, " differ in their number of elements");
  const int64_t n = self.dim();
  const uint64_t from = dim_mask(source, n), to = dim_mask(destination, n);
  if (n == 0) return self.alias();
  DimVector order(static_cast<size_t>(n), -1);
  for (size_t i = 0; i < source.size(); i++) order[wrap_dim(destination[i], n)] = wrap_dim(source[i], n);
  int64_t next = 0;
  for (int64_t d = 0; d < n; d++) {
    if (to >> d & 1) continue;
    while (from >> next & 1) next++;
    order[d] = next++;
  }
  return self.permute(order);
}
Tensor movedim(const Tensor& self, int64_t source, int64_t destination) { return self.movedim(IntArrayRef(source), IntArrayRef(destination)); }

std::vector<Tensor> split(const Tensor& self, IntArrayRef split_size, int64_t dim) { return self.split_with_sizes(split_size, dim); }

Tensor narrow(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  CRESSET_CHECK(start.dim() == 0 && is_integral_type(start.scalar_type(), false), "narrow: start must be a 0-dim integral tensor, got ", start.scalar_type(),
                " of shape ", start.sizes());
  return self.narrow(dim, start.item<int64_t>(), length);
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  CRESSET_CHECK(self.dim() > 0, "chunk: expects at least a 1-dimensional tensor");
  CRESSET_CHECK(chunks > 0, "chunk: expects `chunks` to be greater than 0, got ", chunks);
  const int64_t n = self.size(dim), size = (n + chunks - 1) / chunks;
  if (size == 0) return self.split_with_sizes(DimVector(static_cast<size_t>(chunks), 0), dim);
  return self.split(size, dim);
}

std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim) {
  CRESSET_CHECK(self.dim() > 0, "tensor_split: expected at least a 1-dimensional tensor, got a tensor with 0 dims");
  const int64_t d = wrap_dim(dim, self.dim(), false), n = self.size(d);
  CRESSET_CHECK(sections > 0, "tensor_split: number of sections must be larger than 0, got ", sections);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t i = 0; i < sections; i++) {
    const int64_t length = n / sections + (i < n % sections);
    parts.push_back(self.slice(d, at, at + length));
    at += length;
  }
  return parts;
}
std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, int64_t dim) {
  CRESSET_CHECK(self.dim() > 0, "tensor_split: expected at least a 1-dimensional tensor, got a tensor with 0 dims");
  const int64_t d = wrap_dim(dim, self.dim(), false);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const int64_t i : indices) {
    parts.push_back(self.slice(d, at, i));
    at = i;
  }
  parts.push_back(self.slice(d, at));
  return parts;
}

Tensor stack(TensorList tensors, int64_t dim) {
  CRESSET_CHECK(!tensors.empty(), "stack: expects a non-empty list of tensors");
  const int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); i++) {
    CRESSET_CHECK(tensors[i].sizes() == tensors[0].sizes(), "stack: expects each tensor to be equal size, got ", tensors[0].sizes(), " at entry 0 and ",
                  tensors[i].sizes(), " at entry ", i);
    parts.push_back(d < tensors[0].dim() && tensors[0].layout() == Layout::Strided ? tensors[i] : tensors[i].unsqueeze(d));
  }
  const Tensor joined = cresset::cat(parts, d);
  if (d == tensors[0].dim() || tensors[0].layout() != Layout::Strided) return joined;
  // One after the other along the dimension that follows, which is then split: so they keep their memory format.
  DimVector shape(tensors[0].sizes());
  shape.insert(shape.begin() + d, static_cast<int64_t>(tensors.size()));
  return own(joined.view(shape));
}

Tensor adjoint(const Tensor& self) {
  CRESSET_CHECK(self.dim() != 1, "adjoint: expected a matrix, a batch of matrices or a 0-d tensor, got shape ", self.sizes());
  const Tensor turned = self.dim() == 0 ? self.view_as(self) : self.transpose(-2, -1);
  return self.is_complex() ? turned.conj() : turned;
}

namespace {

// Whether the tensor is its own transpose, for want of dimensions.
bool is_number(const Tensor& self) {
  if (self.dim() == 0) CRESSET_WARN_ONCE("mT, mH and H: a tensor without dimensions is its own transpose, and asking for it is deprecated");
  return self.dim() == 0;
}

}  // namespace

Tensor mT(const Tensor& self) {
  if (is_number(self)) return self;
  CRESSET_CHECK(self.dim() >= 2, "mT: expected a matrix or a batch of matrices, got ", self.dim(), " dimensions");
  return self.transpose(-2, -1);
}
Tensor mH(const Tensor& self) {
  CRESSET_CHECK(is_number(self) || self.dim() >= 2, "mH: expected a matrix or a batch of matrices, got ", self.dim(), " dimensions");
  return self.adjoint();
}
Tensor matrix_H(const Tensor& self) {
  CRESSET_CHECK(is_number(self) || self.dim() == 2, "H: expected a matrix, got ", self.dim(), " dimensions");
  return self.adjoint();
}
Tensor numpy_T(const Tensor& self) {
  if (self.dim() != 2) CRESSET_WARN_ONCE("T: reversing the dimensions of what is no matrix is deprecated; use mT, or permute()");
  DimVector order;
  for (int64_t d = self.dim(); d-- > 0;) order.push_back(d);
  return self.permute(order);
}

Tensor flatten_dense_tensors(TensorList tensors) {
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.reshape({-1}));
  return cresset::cat(parts);
}
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    parts.push_back(flat.narrow(0, at, t.numel()).view(t.sizes()));
    at += t.numel();
  }
  return parts;
}

Tensor linalg_diagonal(const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) { return A.diagonal(offset, dim1, dim2); }

Tensor broadcast_to(const Tensor& self, IntArrayRef size) { return self.expand(size); }
std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  DimVector shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sizes());
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) result.push_back(t.expand(shape));
  return result;
}

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  CRESSET_CHECK(!tensors.empty(), "meshgrid: expects a non-empty list of tensors");
  CRESSET_CHECK(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be one of \"xy\" or \"ij\", got ", std::string(indexing));
  const bool swap = indexing == "xy" && tensors.size() >= 2;
  std::vector<Tensor> inputs(tensors.begin(), tensors.end());
  if (swap) std::swap(inputs[0], inputs[1]);
  DimVector shape;
  for (const Tensor& t : inputs) {
    CRESSET_CHECK(t.scalar_type() == inputs[0].scalar_type(), "meshgrid: expects all tensors to have the same dtype, got ", inputs[0].scalar_type(), " and ",
                  t.scalar_type());
    CRESSET_CHECK(t.device() == inputs[0].device(), "meshgrid: expects all tensors to be on the same device, got ", inputs[0].device(), " and ", t.device());
    CRESSET_CHECK(t.dim() <= 1, "meshgrid: expects 0-d or 1-d tensors, got shape ", t.sizes());
    shape.push_back(t.numel());
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < inputs.size(); i++) {
    DimVector sizes(inputs.size(), 1);
    sizes[i] = inputs[i].numel();
    grids.push_back(inputs[i].view(sizes).expand(shape));
  }
  if (swap) std::swap(grids[0], grids[1]);
  return grids;
}

}  // namespace cresset::ops::composite
