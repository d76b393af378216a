// Stacking, splitting apart, and diagonals.

#include <algorithm>
#include <numeric>

#include "cresset/core/layout.h"
#include "cresset/ops/batched.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/own.h"
#include "cresset/ops/pointwise/pointwise.h"
#include "cresset/ops/support.h"

namespace cresset::ops::composite {

namespace {

std::vector<Tensor> each(TensorList tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> results;
  results.reserve(tensors.size());
  for (const Tensor& t : tensors) results.push_back(f(t));
  return results;
}

void check_some(const char* op, TensorList tensors) { CRESSET_CHECK(!tensors.empty(), op, ": expects a non-empty list of tensors"); }

void check_sections(const char* op, const Tensor& self, int64_t least, int64_t dim, int64_t sections) {
  CRESSET_CHECK(self.dim() >= least, op, ": requires a tensor with at least ", least, " dimension(s), got ", self.dim());
  CRESSET_CHECK(sections > 0 && self.size(dim) % sections == 0, op, ": attempted to split along dimension ", dim, ", but the size of the dimension ",
                self.size(dim), " is not divisible by the split_size ", sections);
}
void check_dims(const char* op, const Tensor& self, int64_t least) {
  CRESSET_CHECK(self.dim() >= least, op, ": requires a tensor with at least ", least, " dimension(s), got ", self.dim());
}
int64_t horizontal(const Tensor& self) { return self.dim() == 1 ? 0 : 1; }

}  // namespace

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? self.reshape({1}) : self; }
Tensor atleast_2d(const Tensor& self) { return self.dim() == 0 ? self.reshape({1, 1}) : self.dim() == 1 ? self.unsqueeze(0) : self; }
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return self.reshape({1, 1, 1});
  if (self.dim() == 1) return self.unsqueeze(0).unsqueeze(-1);
  return self.dim() == 2 ? self.unsqueeze(-1) : self;
}
std::vector<Tensor> atleast_1d(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return cresset::atleast_1d(t); });
}
std::vector<Tensor> atleast_2d(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return cresset::atleast_2d(t); });
}
std::vector<Tensor> atleast_3d(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return cresset::atleast_3d(t); });
}

Tensor hstack(TensorList tensors) {
  check_some("hstack", tensors);
  const std::vector<Tensor> list = cresset::atleast_1d(tensors);
  return cresset::cat(list, horizontal(list[0]));
}
Tensor vstack(TensorList tensors) {
  check_some("vstack", tensors);
  return cresset::cat(cresset::atleast_2d(tensors), 0);
}
Tensor dstack(TensorList tensors) {
  check_some("dstack", tensors);
  return cresset::cat(cresset::atleast_3d(tensors), 2);
}
Tensor column_stack(TensorList tensors) {
  check_some("column_stack", tensors);
  return cresset::hstack(each(tensors, [](const Tensor& t) { return t.dim() <= 1 ? t.reshape({t.numel(), 1}) : t; }));
}
Tensor block_diag(TensorList tensors) {
  SmallVector<Arg, 8> args;
  int64_t rows = 0, cols = 0;
  std::vector<Tensor> blocks;
  for (const Tensor& t : tensors) {
    CRESSET_CHECK(t.dim() <= 2, "block_diag: input tensors must have two or fewer dimensions, got shape ", t.sizes());
    CRESSET_CHECK(t.device() == tensors[0].device(), "block_diag: expected tensors of one device, got ", tensors[0].device(), " and ", t.device());
    args.push_back(Arg(t));
    blocks.push_back(cresset::atleast_2d(t));
    rows += blocks.back().size(0);
    cols += blocks.back().size(1);
  }
  if (tensors.empty()) return cresset::empty({1, 0});
  const ScalarType dtype = result_type(args);
  const Tensor out = cresset::zeros({rows, cols}, tensors[0].options().dtype(dtype));
  int64_t r = 0, c = 0;
  for (const Tensor& b : blocks) {
    out.narrow(0, r, b.size(0)).narrow(1, c, b.size(1)).copy_(b);
    r += b.size(0);
    c += b.size(1);
  }
  return out;
}
Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& t : tensors) CRESSET_CHECK(t.dim() == 1, "cartesian_prod: expects a list of 1D tensors, got shape ", t.sizes());
  check_some("cartesian_prod", tensors);
  if (tensors.size() == 1) return tensors[0];
  return cresset::stack(each(cresset::meshgrid(tensors, "ij"), [](const Tensor& t) { return t.reshape({-1}); }), 1);
}
Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  CRESSET_CHECK(self.dim() == 1, "combinations: expects a 1D tensor, got shape ", self.sizes());
  CRESSET_CHECK(r >= 0, "combinations: expects a non-negative number, got ", r);
  if (r == 0) return cresset::empty({0}, self.options());
  // Positions that rise from column to column.
  const Tensor range = cresset::arange(self.numel(), TensorOptions(kLong).device(self.device()));
  const std::vector<Tensor> grid = cresset::meshgrid(std::vector<Tensor>(static_cast<size_t>(r), range), "ij");
  Tensor mask = cresset::ones(grid[0].sizes(), TensorOptions(kBool).device(self.device()));
  for (size_t i = 0; i + 1 < grid.size(); i++) mask = mask.logical_and(with_replacement ? grid[i] <= grid[i + 1] : grid[i] < grid[i + 1]);
  std::vector<Tensor> columns;
  for (const Tensor& g : grid) columns.push_back(self.index_select(0, g.masked_select(mask)));
  return cresset::stack(columns, 1);
}

std::vector<Tensor> hsplit(const Tensor& self, int64_t sections) {
  check_dims("hsplit", self, 1);
  check_sections("hsplit", self, 1, horizontal(self), sections);
  return self.tensor_split(sections, horizontal(self));
}
std::vector<Tensor> hsplit(const Tensor& self, IntArrayRef indices) {
  check_dims("hsplit", self, 1);
  return self.tensor_split(indices, horizontal(self));
}
std::vector<Tensor> vsplit(const Tensor& self, int64_t sections) {
  check_dims("vsplit", self, 2);
  check_sections("vsplit", self, 2, 0, sections);
  return self.tensor_split(sections, 0);
}
std::vector<Tensor> vsplit(const Tensor& self, IntArrayRef indices) {
  check_dims("vsplit", self, 2);
  return self.tensor_split(indices, 0);
}
std::vector<Tensor> dsplit(const Tensor& self, int64_t sections) {
  check_dims("dsplit", self, 3);
  check_sections("dsplit", self, 3, 2, sections);
  return self.tensor_split(sections, 2);
}
std::vector<Tensor> dsplit(const Tensor& self, IntArrayRef indices) {
  check_dims("dsplit", self, 3);
  return self.tensor_split(indices, 2);
}

// The parts share the memory of the whole, but nothing watches over that: they are no views and count their own versions.
static std::vector<Tensor> unwatched(std::vector<Tensor> parts) {
  for (Tensor& part : parts) {
    part = own(std::move(part));
    part.impl()->share_version_of(*part.impl()->alias(false));
  }
  return parts;
}
std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) { return unwatched(self.chunk(chunks, dim)); }
std::vector<Tensor> unsafe_split(const Tensor& self, int64_t split_size, int64_t dim) { return unwatched(self.split(split_size, dim)); }
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  return unwatched(self.split_with_sizes(split_sizes, dim));
}

Tensor ravel(const Tensor& self) { return self.contiguous().reshape({-1}); }
Tensor rot90(const Tensor& self, int64_t k, IntArrayRef dims) {
  CRESSET_CHECK(dims.size() == 2, "rot90: expected total rotation dims == 2, got dims ", dims);
  CRESSET_CHECK(self.dim() >= 2, "rot90: expected total dims >= 2, got ", self.dim());
  const int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
  CRESSET_CHECK(a != b, "rot90: expected rotation dims to be different, got dims ", dims);
  k = ((k % 4) + 4) % 4;
  if (k == 1) return self.flip(IntArrayRef(b)).transpose_(a, b);
  if (k == 2) return self.flip({a, b});
  if (k == 3) return self.flip(IntArrayRef(a)).transpose_(a, b);
  return self.clone(MemoryFormat::Contiguous);
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t n = self.dim() + 1, a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  CRESSET_CHECK(a != b, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  CRESSET_CHECK_INDEX(self.dim() > 0, "diag_embed: expected a tensor of at least one dimension");
  const int64_t length = self.size(-1) + std::abs(offset);
  DimVector shape(self.sizes().slice(0, static_cast<size_t>(self.dim() - 1)));
  shape.insert(shape.begin() + std::min(a, b), length);
  shape.insert(shape.begin() + std::max(a, b), length);
  const Tensor out = zeros_for(self, shape);
  out.diagonal(offset, a, b).copy_(self);
  return out;
}
Tensor diagflat(const Tensor& self, int64_t offset) { return self.reshape({-1}).diag(offset); }
Tensor diag(const Tensor& self, int64_t diagonal) {
  CRESSET_CHECK(self.dim() == 1 || self.dim() == 2, "diag: supports 1D or 2D tensors, got shape ", self.sizes());
  return self.dim() == 1 ? cresset::diag_embed(self, diagonal) : self.diagonal(diagonal).clone();
}

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  if (size.empty()) return self.sum();
  const int64_t lead = self.dim() - static_cast<int64_t>(size.size());
  bool fits = lead >= 0;
  DimVector dims;
  for (int64_t d = 0; d < lead; d++) dims.push_back(d);
  for (int64_t d = std::max<int64_t>(lead, 0); d < self.dim(); d++) {
    const int64_t wanted = size[static_cast<size_t>(d - lead)];
    fits = fits && (wanted == 1 || wanted == self.size(d));
    if (wanted == 1 && self.size(d) != 1) dims.push_back(d);
  }
  CRESSET_CHECK(fits, "sum_to_size: size ", size, " is not expandable to size ", self.sizes());
  const Tensor sum = dims.empty() ? self : self.sum(dims, true);
  return lead > 0 ? sum.view(size) : sum;
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  CRESSET_CHECK(self.dim() > 2, "channel_shuffle: expects input with > 2 dims, got shape ", self.sizes());
  CRESSET_CHECK(groups > 0 && self.size(1) % groups == 0, "channel_shuffle: number of groups must be positive and divide the channels, got ", groups,
                " groups and ", self.size(1), " channels");
  DimVector split(self.sizes());
  split[1] = groups;
  split.insert(split.begin() + 2, self.size(1) / groups);
  return own(self.reshape(split).transpose(1, 2).clone(MemoryFormat::Contiguous).view(self.sizes()).contiguous(self.suggest_memory_format()));
}

Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, const TensorOptions& options) {
  CRESSET_CHECK(size.size() == physical_layout.size(), "empty_permuted: expected a physical_layout of ", size.size(), " dimensions, got ", physical_layout);
  DimVector strides(size.size());
  uint64_t seen = 0;
  int64_t step = 1;
  for (size_t i = size.size(); i-- > 0;) {
    const int64_t d = physical_layout[i];
    CRESSET_CHECK(d >= 0 && d < static_cast<int64_t>(size.size()) && !(seen >> d & 1), "empty_permuted: expected physical_layout to be a permutation, got ",
                  physical_layout);
    seen |= uint64_t{1} << d;
    strides[static_cast<size_t>(d)] = step;
    step *= std::max<int64_t>(size[static_cast<size_t>(d)], 1);
  }
  return cresset::empty_strided(size, strides, options);
}

Tensor _chunk_cat(TensorList tensors, int64_t dim, int64_t num_chunks) {
  check_some("_chunk_cat", tensors);
  CRESSET_CHECK(num_chunks >= 1, "_chunk_cat: expected num_chunks >= 1, got ", num_chunks);
  const int64_t d = wrap_dim(dim, tensors[0].dim());
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    CRESSET_CHECK(t.numel() > 0, "_chunk_cat: expected tensors that are not empty");
    CRESSET_CHECK(t.scalar_type() == tensors[0].scalar_type() && t.dim() > d, "_chunk_cat: expected tensors of one dtype with more than ", d, " dimensions");
    for (int64_t i = 0; i < d; i++)
      CRESSET_CHECK(t.size(i) == tensors[0].size(i), "_chunk_cat: expected the same sizes before dimension ", d, ", got ", tensors[0].sizes(), " and ",
                    t.sizes());
    // Padded to a multiple of num_chunks along dim, then (leading, num_chunks, rest).
    const int64_t rows = (t.size(d) + num_chunks - 1) / num_chunks * num_chunks;
    DimVector pad(static_cast<size_t>(2 * (t.dim() - d)), 0), shape(t.sizes().slice(0, static_cast<size_t>(d)));
    pad[pad.size() - 1] = rows - t.size(d);
    shape.push_back(num_chunks);
    shape.push_back(-1);
    parts.push_back(cresset::constant_pad_nd(t, pad, 0).reshape(shape));
  }
  return cresset::cat(parts, d + 1);
}

Tensor& fill_diagonal_(Tensor& self, const Scalar& fill_value, bool wrap) {
  CRESSET_CHECK(self.dim() >= 2, "fill_diagonal_: expected at least 2 dimensions, got ", self.dim());
  const int64_t rows = self.size(0), columns = self.size(1);
  CRESSET_CHECK(self.dim() == 2 || std::all_of(self.sizes().begin(), self.sizes().end(), [&](int64_t size) { return size == rows; }),
                "fill_diagonal_: expected more than 2 dimensions to be of equal length, got ", self.sizes());
  if (wrap && self.dim() == 2 && columns > 0 && rows > columns + 1) {
    const Tensor places = cresset::arange(0, self.numel(), columns + 1, self.options().dtype(kLong).requires_grad(false));
    return self.index_put_({cresset::floor_divide(places, columns), cresset::remainder(places, columns)},
                           cresset::full({}, fill_value, self.options().requires_grad(false)));
  }
  const int64_t step = std::accumulate(self.strides().begin(), self.strides().end(), int64_t{0});
  self.as_strided({std::min(rows, columns)}, {step}, self.storage_offset()).fill_(fill_value);
  return self;
}

Tensor isreal(const Tensor& self) { return self.is_complex() ? cresset::imag(self) == 0 : cresset::ones_like(self, TensorOptions(kBool)); }

}  // namespace cresset::ops::composite
