// From one layout to another: ops/sparse.toml.

#include "cresset/kernels/sparse/sparse.h"
#include "cresset/ops/bodies_sparse.h"
#include "cresset/ops/refusals.h"
#include "cresset/ops/sparse/sparse.h"

namespace cresset::ops {

namespace sparse {

namespace {

// Pointers and positions in range, whatever their order and however often they come: what loops over rows rely on.
void check_in_range(const Tensor& t, int64_t n_major, int64_t n_minor) {
  if (lacks_data(t)) return;
  const SparseParts& p = sparse_parts(t);
  const int64_t version = static_cast<int64_t>(p.indices.impl()->version()) + p.plain.impl()->version();
  if (__atomic_load_n(&p.checked_version, __ATOMIC_RELAXED) == version) return;
  const Tensor pointers = p.indices.contiguous(), plain = p.plain.contiguous();
  const auto fault = kernels::check_pointers(pointers.data_ptr(), plain.data_ptr(), pointers.scalar_type(), 1, n_major, n_minor, p.nnz());
  CRESSET_CHECK(fault == kernels::PointerFault::none || fault == kernels::PointerFault::order || fault == kernels::PointerFault::crowded,
                "sparse: ", is_by_rows(t.layout()) ? "crow_indices or col_indices" : "ccol_indices or row_indices", " of a ", title(t.layout()),
                " tensor of shape ", t.sizes(), " are out of range");
  __atomic_store_n(&p.checked_version, version, __ATOMIC_RELAXED);
}

}  // namespace

Tensor compressed_from(Layout layout, IntArrayRef sizes, const Tensor& positions, const Tensor& given, IntArrayRef blocksize, ScalarType index_dtype) {
  const int64_t batch = positions.size(0) - 2, batches = product(first(sizes, batch));
  const int64_t b0 = blocksize.empty() ? 1 : blocksize[0], b1 = blocksize.empty() ? 1 : blocksize[1];
  const int64_t rows = sizes[static_cast<size_t>(batch)] / b0, columns = sizes[static_cast<size_t>(batch) + 1] / b1;
  const bool by_row = is_by_rows(layout);
  const int64_t majors = by_row ? rows : columns, minors = by_row ? columns : rows;
  const DimVector grid{batches, majors, minors}, dense(behind(sizes, batch + 2));
  const Tensor row = positions.select(0, batch), column = positions.select(0, batch + 1);
  const Tensor block_row = blocksize.empty() ? row : row.div(b0, "floor"), block_column = blocksize.empty() ? column : column.div(b1, "floor");
  Tensor lot = cresset::zeros({positions.size(1)}, TensorOptions(kLong));
  if (batch > 0) lot = flat_positions(positions.narrow(0, 0, batch), first(sizes, batch));
  Tensor key = flat_positions(cresset::stack({lot, by_row ? block_row : block_column, by_row ? block_column : block_row}), grid), values = given;
  if (!kernels::strictly_increasing(key.data_ptr<int64_t>(), key.numel())) {
    const auto [sorted, order] = cresset::sort(key, /*stable=*/true, 0, false);
    if (blocksize.empty()) {
      key = sorted;
      values = values.index_select(0, order);
    } else {
      std::vector<int64_t> starts(static_cast<size_t>(sorted.numel()) + 1);
      const int64_t count = kernels::segment_starts(starts.data(), sorted.data_ptr<int64_t>(), sorted.numel());
      Tensor unique = cresset::empty({count}, TensorOptions(kLong));
      for (int64_t k = 0; k < count; k++) unique.data_ptr<int64_t>()[k] = sorted.data_ptr<int64_t>()[starts[static_cast<size_t>(k)]];
      const Tensor place = (cresset::searchsorted(unique, key) * b0 + row.remainder(b0)) * b1 + column.remainder(b1);
      values = cresset::zeros(joined({count * b0 * b1}, dense), values.options()).index_copy(0, place, values);
      key = unique;
    }
  } else if (!blocksize.empty()) {
    const Tensor place = (cresset::arange(key.numel(), TensorOptions(kLong)) * b0 + row.remainder(b0)) * b1 + column.remainder(b1);
    values = cresset::zeros(joined({key.numel() * b0 * b1}, dense), values.options()).index_copy(0, place, values);
  }
  const Tensor cells = positions_of(key, grid);
  const int64_t stored = key.numel(), nnz = batches > 0 ? stored / batches : 0;
  if (batches > 1) {
    const Tensor counts = cells.select(0, 0).bincount({}, batches);
    CRESSET_CHECK(counts.eq(nnz).all().item().toBool(), "the matrices of the batch differ in their number of elements");
  }
  const Tensor major = cells.select(0, 1).to(index_dtype).contiguous();
  Tensor pointers = cresset::empty({batches, majors + 1}, TensorOptions(index_dtype));
  kernels::compress_positions(pointers.data_ptr(), major.data_ptr(), index_dtype, batches, majors, nnz);
  const DimVector lots(first(sizes, batch)), filled = joined(lots, {nnz}), shape = blocksize.empty() ? filled : joined(filled, {b0, b1});
  return make_compressed(layout, sizes, pointers.view(joined(lots, {majors + 1})), cells.select(0, 2).to(index_dtype).reshape(filled),
                         values.reshape(joined(shape, dense)));
}

void check_matrix(const Tensor& t) {
  CRESSET_CHECK_INDEX(t.dim() == 2 && (!is_sparse(t) || sparse_parts(t).sparse_dim == 2), "expected a matrix without dense dimensions, got shape ", t.sizes());
}

Tensor by_rows(const Tensor& matrix) {
  Tensor csr = matrix.detach();
  if (csr.layout() != Layout::SparseCsr) csr = csr.to_sparse_csr();
  const SparseParts& p = sparse_parts(csr);
  CRESSET_CHECK(csr.dim() == 2 && p.dense_dim == 0, "expected a matrix without dense dimensions, got shape ", csr.sizes());
  check_in_range(csr, csr.size(0), csr.size(1));
  if (p.indices.is_contiguous() && p.plain.is_contiguous() && p.values.is_contiguous()) return csr;
  return make_compressed(Layout::SparseCsr, csr.sizes(), p.indices.contiguous(), p.plain.contiguous(), p.values.contiguous());
}

}  // namespace sparse

namespace {

using namespace sparse;

std::string function_name(const Tensor& self, Layout to) {
  std::string s = self.layout() == Layout::Strided  ? "dense_to_sparse"
                  : self.layout() == Layout::Sparse ? "sparse_coo_to_sparse"
                                                    : "sparse_compressed_to_sparse";
  constexpr const char* kEnds[] = {"", "", "_csr", "_csc", "_bsr", "_bsc"};
  return s + kEnds[static_cast<int>(to)];
}

// Positions of what is not zero in a dense tensor, of which the first `sparse_dim` dimensions count.
Tensor nonzero_positions(const Tensor& dense, int64_t sparse_dim) {
  Tensor mask = dense.ne(0);
  if (dense.dim() > sparse_dim) mask = mask.flatten(sparse_dim, -1).any(-1);
  return mask.nonzero().t().contiguous();
}

// The pattern of `self` in another layout, with its values, below autograd.
Tensor to_coo(const Tensor& self, std::optional<int64_t> sparse_dim) {
  if (self.layout() == Layout::Strided) {
    const int64_t dims = sparse_dim.value_or(self.dim());
    CRESSET_CHECK(dims >= 0 && dims <= self.dim(), "dense_to_sparse: sparse_dim argument must be in [0,", self.dim(), "] range, but ", dims, " is given");
    CRESSET_CHECK(dims > 0 || self.dim() == 0, "dense_to_sparse: expected sparse_dim above 0 for a tensor with dimensions");
    if (self.lacks_data()) {
      const int64_t nnz = unknown_count(self, product(first(self.sizes(), dims)));
      return empty_of(self.sizes(), self.options().layout(Layout::Sparse), self.dim() - dims, nnz);
    }
    const Tensor positions = nonzero_positions(self, dims);
    return make_coo(self.sizes(), positions, sparse::values_at(self, positions), true);
  }
  const SparseParts& p = sparse_parts(self);
  if (!p.plain.defined()) {
    CRESSET_CHECK(!sparse_dim || *sparse_dim == p.sparse_dim,
                  "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported");
    return self;
  }
  CRESSET_CHECK(!sparse_dim || *sparse_dim == 2, "sparse_compressed_to_sparse: conversion from ", title(self.layout()),
                " to Sparse with sparse_dim argument !=2 is not supported");
  return make_coo(self.sizes(), element_positions(self), element_values(self, p.values), self.layout() == Layout::SparseCsr);
}

Tensor to_compressed(const Tensor& self, Layout layout, OptionalIntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  const std::string name = function_name(self, layout);
  const bool blocked = is_blocked(layout), is_dense = self.layout() == Layout::Strided;
  const IntArrayRef given = blocked ? blocksize.value() : IntArrayRef();
  if (blocked) CRESSET_CHECK(given.size() == 2 && given[0] > 0 && given[1] > 0, name, ": expected a positive blocksize, got ", given);
  const int64_t dense = is_dense ? dense_dim.value_or(0) : sparse_parts(self).dense_dim;
  const int64_t most = std::max<int64_t>(self.dim() - 2, 0);
  CRESSET_CHECK(!is_dense || (dense >= 0 && dense <= most), name, ": expected dense_dim within [0,", most, "] range, but ", dense, " is given");
  CRESSET_CHECK(is_dense || !dense_dim || *dense_dim == dense, name, ": conversion from ", title(self.layout()), " to ", title(layout),
                " with dense_dim argument !=self.dense_dim() is not supported");
  CRESSET_CHECK_INDEX(self.dim() - dense >= 2, name, ": expected a tensor of at least 2 dimensions besides the dense ones, got shape ", self.sizes());
  const int64_t at = self.dim() - dense - 2;
  if (blocked)
    CRESSET_CHECK(self.size(at) % given[0] == 0 && self.size(at + 1) % given[1] == 0, name, ": tensor sparse size (", self.size(at), ",", self.size(at + 1),
                  ") is no multiple of blocksize (", given[0], ",", given[1], ")");
  const int64_t cells = self.size(at) * self.size(at + 1) / (blocked ? given[0] * given[1] : 1);
  // Without data: as many elements as before, or as only data tells.
  auto storing = [&](ScalarType index_dtype, std::optional<int64_t> nnz) {
    return empty_compressed(self.sizes(), self.options().layout(layout), dense, given, index_dtype, nnz ? *nnz : unknown_count(self, cells));
  };
  if (is_dense) {
    for (int64_t d = 0; d < at; d++) CRESSET_CHECK(self.size(d) != 0, name, ": expected batch dimensions without a zero, got shape ", self.sizes());
    if (self.lacks_data()) return storing(kLong, std::nullopt);
    Tensor positions;
    if (!blocked) {
      positions = nonzero_positions(self, at + 2);
    } else {
      // Whole blocks, zeros included.
      DimVector grid(first(self.sizes(), at));
      for (const int64_t n : {self.size(at) / given[0], given[0], self.size(at + 1) / given[1], given[1]}) grid.push_back(n);
      for (int64_t d = at + 2; d < self.dim(); d++) grid.push_back(self.size(d));
      DimVector inside{at + 1, at + 3};
      for (int64_t d = at + 4; d < static_cast<int64_t>(grid.size()); d++) inside.push_back(d);
      Tensor mask = self.ne(0).reshape(grid);
      // From the last dimension on, so that the others keep their numbers.
      for (size_t d = inside.size(); d-- > 0;) mask = mask.any(inside[d]);
      const Tensor blocks = mask.nonzero().t();
      const Tensor zeros = cresset::zeros({blocks.size(1)}, TensorOptions(kLong));
      std::vector<Tensor> rows;
      for (int64_t d = 0; d < at; d++) rows.push_back(blocks.select(0, d).repeat_interleave(given[0] * given[1]));
      const DimVector cell{blocks.size(1), given[0], given[1]};
      const TensorOptions whole(kLong);
      rows.push_back((blocks.select(0, at).view({-1, 1, 1}) * given[0] + cresset::arange(given[0], whole).view({1, -1, 1})).expand(cell).reshape({-1}));
      rows.push_back((blocks.select(0, at + 1).view({-1, 1, 1}) * given[1] + cresset::arange(given[1], whole).view({1, 1, -1})).expand(cell).reshape({-1}));
      positions = cresset::stack(rows);
    }
    const Tensor result = compressed_from(layout, self.sizes(), positions, sparse::values_at(self, positions), given, kLong);
    if (!blocked) refuse_wide_unsigned("index_select", self);
    return result;
  }
  const SparseParts& p = sparse_parts(self);
  if (!p.plain.defined()) {
    CRESSET_CHECK(p.sparse_dim == 2, name, ": conversion from Sparse to ", title(layout), ": expected a tensor with sparse_dim() of 2, got another");
    const bool same_count = p.nnz() == 0 || (p.coalesced && !blocked);
    if (lacks_data(self)) return storing(kLong, same_count ? std::optional<int64_t>(p.nnz()) : std::nullopt);
    const Tensor coo = p.coalesced ? self : sparse::coalesced(self);
    const SparseParts& q = sparse_parts(coo);
    if (layout == Layout::SparseCsr) {
      const int64_t rows = self.size(0);
      Tensor pointers = cresset::empty({rows + 1}, TensorOptions(kLong));
      const Tensor majors = q.indices.select(0, 0).contiguous();
      kernels::compress_positions(pointers.data_ptr(), majors.data_ptr(), kLong, 1, rows, q.nnz());
      CRESSET_CHECK_INDEX(pointers.data_ptr<int64_t>()[rows] == q.nnz(), "sparse: the rows of a coalesced tensor of shape ", self.sizes(),
                          " are out of range or not sorted");
      return make_compressed(layout, self.sizes(), pointers, q.indices.select(0, 1), q.values);
    }
    return compressed_from(layout, self.sizes(), q.indices, q.values, given, kLong);
  }
  const bool same_blocks = is_blocked(self.layout()) && blocked && block_of(self) == std::pair<int64_t, int64_t>(given[0], given[1]);
  if (layout == self.layout() && (!blocked || same_blocks)) return self.detach();
  if (lacks_data(self)) {
    const auto [rows, columns] = block_of(self);
    return storing(p.indices.scalar_type(), p.nnz() == 0 || !blocked ? std::optional<int64_t>(p.nnz() * rows * columns) : std::nullopt);
  }
  return compressed_from(layout, self.sizes(), element_positions(self), element_values(self, p.values), given, p.indices.scalar_type());
}

Layout wanted_layout(std::optional<Layout> layout, OptionalIntArrayRef blocksize) {
  if (layout) return *layout;
  return blocksize.has_value() ? Layout::SparseBsr : Layout::Sparse;
}

// Checks of the arguments of `to_sparse` come first, so that a wrong request has changed nothing.
void check_request(const Tensor& self, Layout layout, OptionalIntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  const std::string from = self.layout() == Layout::Strided ? "dense_to_sparse" : "to_sparse";
  CRESSET_CHECK(is_blocked(layout) || !blocksize.has_value(), from, ": conversion from ", title(self.layout()), " to ", title(layout),
                " takes no blocksize, got one");
  CRESSET_CHECK(!is_blocked(layout) || blocksize.has_value() || is_blocked(self.layout()), from, ": conversion from ", title(self.layout()), " to ",
                title(layout), " needs a blocksize, got none");
  const int64_t most = std::max<int64_t>(self.dim() - (layout == Layout::Sparse ? 0 : 2), 0);
  if (dense_dim && self.layout() == Layout::Strided)
    CRESSET_CHECK(*dense_dim >= 0 && *dense_dim <= most, from, ": expected dense_dim within [0,", most, "] range, but ", *dense_dim, " is given");
}

// The same values, differentiably, in the pattern that the conversion without gradients finds.
Tensor like_pattern(const Tensor& self, const Tensor& pattern) {
  if (pattern.is_same(self)) return self;
  if (self.layout() == Layout::Sparse && sparse_parts(pattern).nnz() == sparse_parts(self).nnz() && pattern.layout() == Layout::Sparse) return self;
  return sparse::with_values(pattern, sparse::values_like(self, pattern));
}

DimVector blocks_or_own(const Tensor& self, Layout layout, OptionalIntArrayRef blocksize) {
  if (blocksize.has_value()) return DimVector(blocksize.value());
  if (!is_blocked(layout)) return {};
  const auto [rows, columns] = block_of(self);
  return {rows, columns};
}

Tensor converted(const Tensor& self, Layout layout, OptionalIntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  if (layout == Layout::Sparse) return to_coo(self, dense_dim ? std::optional<int64_t>(self.dim() - *dense_dim) : std::nullopt);
  const DimVector blocks = blocks_or_own(self, layout, blocksize);
  return to_compressed(self, layout, is_blocked(layout) ? OptionalIntArrayRef(IntArrayRef(blocks)) : OptionalIntArrayRef(), dense_dim);
}

}  // namespace

namespace cpu {

Tensor _to_dense(const Tensor& self, std::optional<ScalarType> dtype, std::optional<bool> masked_grad) {
  return composite::to_dense_by_values(self, dtype, masked_grad);
}

Tensor _to_sparse(const Tensor& self, int64_t sparse_dim) { return to_coo(self, sparse_dim); }
Tensor _to_sparse(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return converted(self, wanted_layout(layout, blocksize), blocksize, dense_dim);
}
Tensor to_sparse_csr(const Tensor& self, std::optional<int64_t> dense_dim) { return to_compressed(self, Layout::SparseCsr, {}, dense_dim); }
Tensor to_sparse_csc(const Tensor& self, std::optional<int64_t> dense_dim) { return to_compressed(self, Layout::SparseCsc, {}, dense_dim); }
Tensor to_sparse_bsr(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return to_compressed(self, Layout::SparseBsr, blocksize, dense_dim);
}
Tensor to_sparse_bsc(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return to_compressed(self, Layout::SparseBsc, blocksize, dense_dim);
}

Tensor sparse_mask(const Tensor& self, const Tensor& mask) { return composite::sparse_mask_by_values(self, mask); }

}  // namespace cpu

namespace {

void check_convertible(const Tensor& self) {
  CRESSET_CHECK(!self.is_complex() || self.layout() != Layout::Strided || !self.requires_grad() || !layer_state().grad_mode,
                "to_sparse: complex results are not recorded for gradients.");
  if (self.layout() == Layout::Strided) refuse_wide_unsigned("nonzero_count_cpu", self);
}

}  // namespace

namespace composite {

Tensor to_dense(const Tensor& self, std::optional<ScalarType> dtype, std::optional<bool> masked_grad) {
  if (self.layout() == Layout::Strided) return dtype ? self.to(*dtype) : self;
  return cresset::_to_dense(self, dtype, masked_grad);
}

Tensor to_dense_by_values(const Tensor& self, std::optional<ScalarType> dtype, std::optional<bool>) {
  CRESSET_CHECK(is_sparse(self.layout()), "to_dense expected sparse tensor layout but got ", title(self.layout()));
  const SparseParts& p = sparse_parts(self);
  if (lacks_data(self)) return cresset::empty(self.sizes(), TensorOptions(dtype.value_or(self.scalar_type())).device(self.device()));
  // Added where positions are repeated.
  const Tensor values = element_values(self, p.plain.defined() || p.coalesced ? self.values() : p.values), positions = element_positions(self);
  const IntArrayRef lead = first(self.sizes(), positions.size(0));
  const DimVector rest(behind(self.sizes(), positions.size(0)));
  const ScalarType out = dtype.value_or(self.scalar_type());
  const Tensor zeros = cresset::zeros(joined({product(lead)}, rest), values.options());
  if (values.numel() == 0) return zeros.view(self.sizes()).to(out);
  const Tensor flat = flat_positions(positions, lead);
  const bool differ = p.plain.defined() || p.coalesced;
  return (differ ? zeros.index_copy(0, flat, values) : zeros.index_add(0, flat, values)).view(self.sizes()).to(out);
}

Tensor to_dense_backward(const Tensor& grad, const Tensor& input, std::optional<bool> masked_grad) {
  if (input.layout() == Layout::Strided) return grad.to_dense();
  if (masked_grad.value_or(true)) return grad.sparse_mask(input.layout() == Layout::Sparse ? input.coalesce() : input);
  if (input.layout() == Layout::Sparse) return grad.to_sparse(sparse_parts(input).sparse_dim);
  const auto [rows, columns] = block_of(input);
  const DimVector blocks{rows, columns};
  return grad.to_sparse(input.layout(), is_blocked(input.layout()) ? OptionalIntArrayRef(IntArrayRef(blocks)) : OptionalIntArrayRef(),
                        sparse_parts(input).dense_dim);
}

Tensor to_sparse(const Tensor& self, int64_t sparse_dim) {
  check_convertible(self);
  if (self.layout() == Layout::Sparse) return to_coo(self, sparse_dim);
  return cresset::_to_sparse(self, sparse_dim);
}
Tensor to_sparse(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  const Layout wanted = wanted_layout(layout, blocksize);
  if (wanted == Layout::Strided) return self.to_dense();
  check_request(self, wanted, blocksize, dense_dim);
  if (wanted == Layout::Sparse) check_convertible(self);
  if (self.layout() == wanted && !is_blocked(wanted)) {
    CRESSET_CHECK(!dense_dim || *dense_dim == sparse_parts(self).dense_dim, "to_sparse: conversion from ", title(wanted), " to ", title(wanted),
                  " with dense_dim argument !=self.dense_dim() is not supported");
    return self;
  }
  return cresset::_to_sparse(self, layout, blocksize, dense_dim);
}

Tensor to_sparse_dim_by_values(const Tensor& self, int64_t sparse_dim) { return like_pattern(self, to_coo(self.detach(), sparse_dim)); }
Tensor to_sparse_by_values(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return like_pattern(self, converted(self.detach(), wanted_layout(layout, blocksize), blocksize, dense_dim));
}
Tensor to_sparse_csr_by_values(const Tensor& self, std::optional<int64_t> dense_dim) {
  return like_pattern(self, to_compressed(self.detach(), Layout::SparseCsr, {}, dense_dim));
}
Tensor to_sparse_csc_by_values(const Tensor& self, std::optional<int64_t> dense_dim) {
  return like_pattern(self, to_compressed(self.detach(), Layout::SparseCsc, {}, dense_dim));
}
Tensor to_sparse_bsr_by_values(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return like_pattern(self, to_compressed(self.detach(), Layout::SparseBsr, blocksize, dense_dim));
}
Tensor to_sparse_bsc_by_values(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return like_pattern(self, to_compressed(self.detach(), Layout::SparseBsc, blocksize, dense_dim));
}

Tensor sparse_mask_by_values(const Tensor& self, const Tensor& mask) {
  CRESSET_CHECK(is_sparse(mask.layout()), "sparse_mask: expected mask to have sparse layout but got ", title(mask.layout()));
  CRESSET_CHECK(self.sizes() == mask.sizes(), "sparse_mask: self and mask differ in shape, got ", self.sizes(), " but mask has size ", mask.sizes());
  return sparse::with_values(mask, sparse::values_like(self, mask));
}

Tensor _convert_indices_from_coo_to_csr(const Tensor& self, int64_t size, bool out_int32) {
  CRESSET_CHECK(self.dim() == 1, "_convert_indices_from_coo_to_csr: expected a vector of sorted rows, got shape ", self.sizes());
  return cresset::searchsorted(self, cresset::arange(size + 1, self.options()), out_int32);
}

Tensor _convert_indices_from_csr_to_coo(const Tensor& crow_indices, const Tensor& col_indices, bool out_int32, bool transpose) {
  CRESSET_CHECK(crow_indices.dim() == 1 && col_indices.dim() == 1, "_convert_indices_from_csr_to_coo: expected vectors, got shapes ", crow_indices.sizes(),
                " and ", col_indices.sizes());
  const TensorOptions options(out_int32 ? kInt : kLong);
  const Tensor rows = cresset::arange(crow_indices.numel() - 1, options).repeat_interleave(crow_indices.diff());
  const Tensor columns = col_indices.to(options.dtype());
  return transpose ? cresset::stack({columns, rows}) : cresset::stack({rows, columns});
}

}  // namespace composite

}  // namespace cresset::ops
