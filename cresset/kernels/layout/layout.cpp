// Joining, turning and repeating, and matrices of zeros and ones.
#include "cresset/kernels/layout/layout.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/index_check.h"
#include "cresset/kernels/index/index.h"
#include "cresset/kernels/layout/cpu/transpose.h"

namespace cresset::kernels {

namespace {

char* offset_by(const Strided& a, int64_t elements) { return static_cast<char*>(a.data) + elements * a.item(); }

// Copies `in` to `out` with segments along each dimension exchanged: out[(i + shift) % n] = in[i].
void roll_from(size_t d, const Strided& out, const Strided& in, IntArrayRef shift, DimVector sizes) {
  if (d == sizes.size()) return copy_strided(Strided(out.data, out.dtype, sizes, out.strides), Strided(in.data, in.dtype, sizes, in.strides));
  const int64_t n = sizes[d], s = shift[d];
  Strided to = out, from = in;
  sizes[d] = n - s;
  to.data = offset_by(out, s * out.strides[d]);
  if (sizes[d] > 0) roll_from(d + 1, to, from, shift, sizes);
  if (s == 0) return;
  sizes[d] = s;
  to.data = out.data;
  from.data = offset_by(in, (n - s) * in.strides[d]);
  roll_from(d + 1, to, from, shift, sizes);
}

// Row i of a matrix keeps columns [low(i), high(i)) and is zero elsewhere.
template <class T, bool kLower> void triangle(const Strided& out, const Strided& self, int64_t k) {
  const size_t dims = out.sizes.size();
  const int64_t rows = out.sizes[dims - 2], columns = out.sizes[dims - 1];
  const int64_t out_row = out.strides[dims - 2], self_row = self.strides[dims - 2];
  const int64_t out_step = out.strides[dims - 1], self_step = self.strides[dims - 1];
  DimVector batch(out.sizes);
  batch[dims - 1] = batch[dims - 2] = 1;
  int64_t batches = 1;
  for (int64_t s : batch) batches *= s;
  const auto one_row = [&](T* to, const T* from, int64_t i) {
    const int64_t edge = std::clamp<int64_t>(kLower ? i + k + 1 : i + k, 0, columns);
    const int64_t low = kLower ? 0 : edge, high = kLower ? edge : columns;
    if (out_step == 1 && self_step == 1) {
      if (low > 0) std::memset(static_cast<void*>(to), 0, static_cast<size_t>(low) * sizeof(T));
      if (to != from && high > low) std::memcpy(static_cast<void*>(to + low), from + low, static_cast<size_t>(high - low) * sizeof(T));
      if (high < columns) std::memset(static_cast<void*>(to + high), 0, static_cast<size_t>(columns - high) * sizeof(T));
      return;
    }
    for (int64_t j = 0; j < columns; j++) to[j * out_step] = j >= low && j < high ? from[j * self_step] : T{};
  };
  parallel_for(0, batches * rows, 1 + 32768 / std::max<int64_t>(columns, 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      int64_t rest = r / rows, to = r % rows * out_row, from = r % rows * self_row;
      for (size_t d = dims - 2; d-- > 0; rest /= out.sizes[d]) {
        to += rest % out.sizes[d] * out.strides[d];
        from += rest % out.sizes[d] * self.strides[d];
      }
      one_row(static_cast<T*>(out.data) + to, static_cast<const T*>(self.data) + from, r % rows);
    }
  });
}

template <bool kLower> void triangle_of(const char* op, const Strided& out, const Strided& self, int64_t k) {
  CRESSET_CHECK(self.dim() >= 2, op, ": input tensor must have at least 2 dimensions, got shape ", self.sizes);
  if (out.numel() == 0) return;
  k = std::clamp<int64_t>(k, -self.numel() - 1, self.numel() + 1);
  visit_size(out.dtype, [&](auto tag) { triangle<decltype(tag), kLower>(out, self, k); });
}

// Two dense arrays of a last dimension of 1 side by side: pairs, as complex numbers are.
bool join_pairs(const Strided& out, ArrayRef<Strided> inputs, int64_t dim) {
  const int64_t item = out.item();
  if (inputs.size() != 2 || dim != out.dim() - 1 || item > 8 || !out.is_contiguous()) return false;
  for (const Strided& in : inputs)
    if (in.dim() != out.dim() || in.sizes.back() != 1 || !in.is_contiguous() || 2 * in.numel() != out.numel()) return false;
  const auto kernel = call(transpose_stub);
  const char *first = static_cast<const char*>(inputs[0].data), *second = static_cast<const char*>(inputs[1].data);
  parallel_for(0, inputs[0].numel(), 32768, [&](int64_t begin, int64_t end) {
    kernel(offset_by(out, 2 * begin), 2 * item, first + begin * item, second - first, end - begin, 2, item, false);
  });
  return true;
}

}  // namespace

void cat(const Strided& out, ArrayRef<Strided> inputs, int64_t dim) {
  if (join_pairs(out, inputs, dim)) return;
  int64_t start = 0;
  for (const Strided& in : inputs) {
    if (in.dim() == 1 && in.sizes[0] == 0) continue;
    const int64_t length = in.sizes[static_cast<size_t>(dim)];
    DimVector sizes;
    const Strided part = narrow(out, dim, start, length, sizes);
    CRESSET_CHECK(part.sizes == in.sizes, "cat: sizes must match except in dimension ", dim, ", got ", in.sizes, ", expected ", part.sizes);
    copy_strided(part, in);
    start += length;
  }
}

void flip(const Strided& out, const Strided& self, IntArrayRef dims) {
  if (out.numel() == 0) return;
  DimVector strides(self.strides);
  int64_t first = 0;
  for (int64_t dim : dims) {
    const size_t d = static_cast<size_t>(dim);
    first += (self.sizes[d] - 1) * self.strides[d];
    strides[d] = -self.strides[d];
  }
  copy_strided(out, Strided(offset_by(self, first), self.dtype, self.sizes, strides));
}

void roll(const Strided& out, const Strided& self, IntArrayRef shifts, IntArrayRef dims) {
  CRESSET_CHECK(shifts.size() == dims.size(), "roll: shifts and dims must align, got ", shifts, " and ", dims);
  if (out.numel() == 0) return;
  DimVector total(self.sizes.size(), 0);
  for (size_t i = 0; i < dims.size(); i++) {
    const size_t d = static_cast<size_t>(dims[i]);
    const int64_t n = self.sizes[d];
    total[d] = (total[d] + shifts[i] % n + n) % n;
  }
  roll_from(0, out, self, total, DimVector(self.sizes));
}

void repeat(const Strided& out, const Strided& self, IntArrayRef repeats) {
  if (out.numel() == 0) return;
  const size_t lead = repeats.size() - self.sizes.size();
  DimVector sizes, to, from;
  for (size_t d = 0; d < repeats.size(); d++) {
    const int64_t n = d < lead ? 1 : self.sizes[d - lead];
    sizes.push_back(repeats[d]);
    to.push_back(n * out.strides[d]);
    from.push_back(0);
    sizes.push_back(n);
    to.push_back(out.strides[d]);
    from.push_back(d < lead ? 0 : self.strides[d - lead]);
  }
  copy_strided(Strided(out.data, out.dtype, sizes, to), Strided(self.data, self.dtype, sizes, from));
}

void repeat_interleave(const Strided& out, const Strided& self, const int64_t* repeats, int64_t dim) {
  std::vector<int64_t> index;
  index.reserve(static_cast<size_t>(out.sizes[static_cast<size_t>(dim)]));
  for (int64_t i = 0; i < self.sizes[static_cast<size_t>(dim)]; i++) {
    CRESSET_CHECK(repeats[i] >= 0, "repeat_interleave: repeats can not be negative, got ", repeats[i]);
    index.insert(index.end(), static_cast<size_t>(repeats[i]), i);
  }
  const int64_t n = static_cast<int64_t>(index.size()), one = 1;
  index_select(out, self, dim, Strided(index.data(), ScalarType::Long, n, one));
}

void tril(const Strided& out, const Strided& self, int64_t k) { triangle_of<true>("tril", out, self, k); }
void triu(const Strided& out, const Strided& self, int64_t k) { triangle_of<false>("triu", out, self, k); }

void one_hot(const Strided& out, const Strided& index) {
  const int64_t classes = out.sizes.back();
  const void* bad = find_outside(index, 0, INT64_MAX);
  CRESSET_CHECK(!bad, "one_hot: class values must be non-negative, got ", read_index(index, bad));
  bad = find_outside(index, 0, classes);
  CRESSET_CHECK(!bad, "one_hot: class values must be smaller than num_classes, got ", read_index(index, bad), " and ", classes);
  fill_strided(out, 0);
  if (index.numel() == 0) return;
  DimVector sizes(index.sizes), index_strides(index.strides);
  sizes.push_back(1);
  index_strides.push_back(0);
  scatter_value(out, out.dim() - 1, Strided(index.data, index.dtype, sizes, index_strides), 1);
}

}  // namespace cresset::kernels
