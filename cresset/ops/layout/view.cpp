// Geometry of the view ops (ops/view.toml): each takes the input and returns sizes, strides and offset; nothing is copied.

#include "cresset/base/util/reach.h"
#include "cresset/core/tensor.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::ops::meta {

namespace {

ViewSpec same(const Tensor& self) { return {DimVector(self.sizes()), DimVector(self.strides()), self.storage_offset()}; }

ViewSpec drop_dims(const Tensor& self, uint64_t mask) {
  ViewSpec v;
  v.offset = self.storage_offset();
  for (int64_t d = 0; d < self.dim(); d++) {
    if ((mask >> d & 1) && self.size(d) == 1) continue;
    v.sizes.push_back(self.size(d));
    v.strides.push_back(self.stride(d));
  }
  return v;
}

// `length` of dimension d, from `start` on.
ViewSpec part(const Tensor& self, int64_t d, int64_t start, int64_t length) {
  ViewSpec v = same(self);
  v.sizes[static_cast<size_t>(d)] = length;
  v.offset += start * self.stride(d);
  return v;
}

}  // namespace

ViewSpec alias(const Tensor& self) { return same(self); }

ViewSpec view(const Tensor& self, IntArrayRef size) {
  ViewSpec v;
  v.offset = self.storage_offset();
  v.sizes = infer_size(size, self.numel());
  if (CRESSET_LIKELY(self.is_contiguous() && self.numel() != 0 && self.dim() != 0 && self.strides().back() == 1)) {
    v.strides = contiguous_strides(v.sizes);  // what view_strides() finds, sooner
    return v;
  }
  const auto strides = view_strides(self.sizes(), self.strides(), v.sizes);
  CRESSET_CHECK(strides.has_value(), "view: size ", v.sizes, " is not compatible with input shape ", self.sizes(), " and strides ", self.strides(),
                ", which would need a copy; reshape() makes one");
  v.strides = *strides;
  return v;
}

ViewSpec as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  CRESSET_CHECK(size.size() == stride.size(), "as_strided: mismatch in length of sizes ", size, " and strides ", stride);
  ViewSpec v{DimVector(size), DimVector(stride), storage_offset.value_or(self.storage_offset())};
  CRESSET_CHECK(v.offset >= 0, "as_strided: storage offset must not be negative, got ", v.offset);
  const int64_t needed = checked_reach("as_strided", size, stride, v.offset, self.element_size());
  const int64_t available = static_cast<int64_t>(self.storage().nbytes() / self.element_size());
  CRESSET_CHECK(needed <= available || self.lacks_data(), "as_strided: sizes ", size, ", strides ", stride, " and offset ", v.offset, " need ", needed,
                " elements, the storage has ", available);
  return v;
}

ViewSpec permute(const Tensor& self, IntArrayRef dims) {
  const int64_t n = self.dim();
  CRESSET_CHECK(static_cast<int64_t>(dims.size()) == n, "permute: number of dims ", dims, " does not match the ", n, " dimensions of shape ", self.sizes());
  dim_mask(dims, n);
  ViewSpec v;
  v.offset = self.storage_offset();
  for (const int64_t d : dims) {
    v.sizes.push_back(self.size(d));
    v.strides.push_back(self.stride(d));
  }
  return v;
}

ViewSpec transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  ViewSpec v = same(self);
  const int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
  if (self.dim() == 0) return v;
  std::swap(v.sizes[a], v.sizes[b]);
  std::swap(v.strides[a], v.strides[b]);
  return v;
}

ViewSpec t(const Tensor& self) {
  CRESSET_CHECK(self.dim() <= 2, "t: expects a tensor with at most 2 dimensions, got shape ", self.sizes());
  return self.dim() < 2 ? same(self) : meta::transpose(self, 0, 1);
}

ViewSpec squeeze(const Tensor& self) { return drop_dims(self, ~uint64_t{0}); }
ViewSpec squeeze(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim());
  return drop_dims(self, uint64_t{1} << d);
}
ViewSpec squeeze(const Tensor& self, IntArrayRef dim) { return drop_dims(self, dim_mask(dim, self.dim())); }

ViewSpec unsqueeze(const Tensor& self, int64_t dim) {
  const int64_t n = self.dim(), d = wrap_dim(dim, n + 1);
  ViewSpec v = same(self);
  const int64_t stride = d < n ? self.size(d) * self.stride(d) : 1;
  v.sizes.insert(v.sizes.begin() + d, 1);
  v.strides.insert(v.strides.begin() + d, stride);
  return v;
}

ViewSpec expand(const Tensor& self, IntArrayRef size, bool /*implicit*/) {
  const int64_t n = self.dim(), m = static_cast<int64_t>(size.size());
  CRESSET_CHECK(m >= n, "expand: the number of sizes ", size, " must be at least the number of dimensions of shape ", self.sizes());
  ViewSpec v{DimVector(size), DimVector(size.size()), self.storage_offset()};
  for (int64_t i = m - 1; i >= 0; i--) {
    const int64_t d = i - (m - n);
    if (d < 0) {
      CRESSET_CHECK(size[i] >= 0, "expand: the expanded size ", size[i], " is not allowed in a leading, non-existing dimension ", i);
      v.strides[i] = i + 1 < m ? v.sizes[i + 1] * v.strides[i + 1] : 0;
      if (size[i] != 1) v.strides[i] = 0;
      continue;
    }
    if (size[i] == -1) v.sizes[i] = self.size(d);
    CRESSET_CHECK(v.sizes[i] >= 0, "expand: invalid size ", size[i], " in ", size);
    CRESSET_CHECK(v.sizes[i] == self.size(d) || self.size(d) == 1, "expand: the expanded size ", size[i], " must match the existing size ", self.size(d),
                  " at dimension ", i, ", target sizes ", size, ", tensor sizes ", self.sizes());
    v.strides[i] = self.size(d) == v.sizes[i] ? self.stride(d) : 0;
  }
  return v;
}

ViewSpec select(const Tensor& self, int64_t dim, int64_t index) {
  CRESSET_CHECK_INDEX(self.dim() > 0, "select: cannot be applied to a 0-dim tensor");
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  CRESSET_CHECK_INDEX(index >= -n && index < n, "select: index ", index, " out of range for dimension ", dim, " of shape ", self.sizes());
  ViewSpec v = same(self);
  v.offset += (index < 0 ? index + n : index) * v.strides[d];
  v.sizes.erase(v.sizes.begin() + d);
  v.strides.erase(v.strides.begin() + d);
  return v;
}

ViewSpec slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  CRESSET_CHECK(self.dim() > 0, "slice: cannot be applied to a 0-dim tensor");
  CRESSET_CHECK(step > 0, "slice: step must be positive, got ", step);
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  auto clamp = [n](int64_t i) { return i < 0 ? std::max<int64_t>(i + n, 0) : std::min(i, n); };
  const int64_t first = clamp(start.value_or(0)), last = std::max(first, clamp(end.value_or(INT64_MAX)));
  ViewSpec v = same(self);
  v.offset += first * v.strides[d];
  v.sizes[d] = (last - first + step - 1) / step;
  v.strides[d] *= step;
  return v;
}

ViewSpec narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  CRESSET_CHECK(self.dim() > 0, "narrow: cannot be applied to a 0-dim tensor");
  CRESSET_CHECK(length >= 0, "narrow: length must not be negative, got ", length);
  const int64_t n = self.size(dim);
  CRESSET_CHECK_INDEX(start >= -n && start <= n, "narrow: start ", start, " out of range, expected a value in [", -n, ", ", n, "]");
  const int64_t first = start < 0 ? start + n : start;
  CRESSET_CHECK(first + length <= n, "narrow: start ", start, " + length ", length, " exceeds the size ", n, " of dimension ", dim);
  return meta::slice(self, dim, first, first + length, 1);
}

ViewSpec diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
  CRESSET_CHECK(a != b, "diagonal: dimensions cannot be identical, got ", dim1, " and ", dim2);
  ViewSpec v = same(self);
  const int64_t rows = offset < 0 ? v.sizes[a] + offset : v.sizes[a], columns = offset > 0 ? v.sizes[b] - offset : v.sizes[b];
  const int64_t length = std::max<int64_t>(0, std::min(rows, columns));
  if (length > 0) v.offset += offset >= 0 ? offset * v.strides[b] : -offset * v.strides[a];
  const int64_t stride = v.strides[a] + v.strides[b];
  for (const int64_t d : {std::max(a, b), std::min(a, b)}) {
    v.sizes.erase(v.sizes.begin() + d);
    v.strides.erase(v.strides.begin() + d);
  }
  v.sizes.push_back(length);
  v.strides.push_back(stride);
  return v;
}

ViewSpec unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t d = wrap_dim(dimension, self.dim()), n = self.dim() == 0 ? 1 : self.size(d);
  CRESSET_CHECK(size >= 0 && size <= n, "unfold: maximum size for tensor at dimension ", d, " is ", n, ", got ", size);
  CRESSET_CHECK(step > 0, "unfold: step must be positive, got ", step);
  ViewSpec v = same(self);
  v.sizes.push_back(size);
  v.strides.push_back(self.dim() == 0 ? 1 : v.strides[d]);
  if (self.dim() > 0) {
    v.sizes[d] = (n - size) / step + 1;
    v.strides[d] *= step;
  }
  return v;
}

std::vector<ViewSpec> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim(), false), n = self.size(d);
  int64_t total = 0;
  for (const int64_t s : split_sizes) {
    CRESSET_CHECK(s >= 0, "split_with_sizes: sizes must not be negative, got ", split_sizes);
    total += s;
  }
  CRESSET_CHECK(total == n, "split_with_sizes: expects sizes that sum to ", n, " (the size of dimension ", dim, "), got ", split_sizes);
  std::vector<ViewSpec> parts;
  parts.reserve(split_sizes.size());
  int64_t at = 0;
  for (const int64_t s : split_sizes) {
    parts.push_back(part(self, d, at, s));
    at += s;
  }
  return parts;
}

std::vector<ViewSpec> split(const Tensor& self, int64_t split_size, int64_t dim) {
  CRESSET_CHECK(self.dim() > 0, "split: expects at least a 1-dimensional tensor");
  CRESSET_CHECK(split_size >= 0, "split: expects a split_size that is not negative, got ", split_size);
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  CRESSET_CHECK(split_size > 0 || n == 0, "split: split_size can only be 0 if the dimension size is 0, got dimension size ", n);
  std::vector<ViewSpec> parts;
  int64_t at = 0;
  do {
    const int64_t length = std::min(split_size, n - at);
    parts.push_back(part(self, d, at, length));
    at += length;
  } while (at < n);
  return parts;
}

std::vector<ViewSpec> unbind(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim(), false);
  std::vector<ViewSpec> parts;
  parts.reserve(static_cast<size_t>(self.size(d)));
  for (int64_t i = 0; i < self.size(d); i++) parts.push_back(meta::select(self, d, i));
  return parts;
}

}  // namespace cresset::ops::meta
