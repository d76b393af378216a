// Arithmetic, sums and copies of sparse tensors.

#include "cresset/ops/sparse/sparse_math.h"

#include "cresset/core/result_type.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/support.h"

namespace cresset::ops::sparse {

namespace {

// Positions of a tensor in COO layout, whatever its own is.
Tensor as_coo(const Tensor& t) { return t.layout() == Layout::Sparse ? t : t.detach().to_sparse(); }

Tensor in_layout_of(const Tensor& coo, const Tensor& like) {
  if (coo.layout() == like.layout() || like.layout() == Layout::Sparse) return coo;
  if (!is_blocked(like.layout())) return coo.to_sparse(like.layout());
  const auto [rows, columns] = block_of(like);
  const DimVector blocks{rows, columns};
  return coo.to_sparse(like.layout(), IntArrayRef(blocks));
}

bool same_pattern(const Tensor& a, const Tensor& b) {
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  return a.layout() == b.layout() && p.values.sizes() == q.values.sizes() && p.indices.is_alias_of(q.indices) &&
         p.indices.storage_offset() == q.indices.storage_offset() && p.indices.sizes() == q.indices.sizes() && p.indices.strides() == q.indices.strides() &&
         (!p.plain.defined() || (lacks_data(a) ? p.plain.is_alias_of(q.plain) : cresset::equal(p.plain, q.plain)));
}

void check_same_sizes(const char* op, const Tensor& a, const Tensor& b, const char* more) {
  CRESSET_CHECK(a.sizes() == b.sizes(), op, ": self and other differ in shape, got ", a.sizes(), " while other has size ", b.sizes(), more);
}

ScalarType common_dtype(const Tensor& a, const Tensor& b) { return cresset::result_type(a, b); }

Tensor add_sparse(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  check_same_sizes("add", a, b, " (sparse-sparse addition does not currently support broadcasting)");
  const ScalarType dtype = common_dtype(a, b);
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  if (same_pattern(a, b)) return cresset::with_values(a, p.values.add(q.values, alpha));
  const Tensor x = as_coo(a), y = as_coo(b);
  const SparseParts &r = sparse_parts(x), &s = sparse_parts(y);
  // A tensor without entries is zero, however its dimensions are divided.
  if (r.sparse_dim != s.sparse_dim && s.nnz() == 0) return cresset::with_values(a, p.values.to(dtype));
  if (r.sparse_dim != s.sparse_dim && r.nnz() == 0) return cresset::with_values(b, q.values.to(dtype).mul(alpha));
  CRESSET_CHECK(r.sparse_dim == s.sparse_dim, "add: expected 'self' and 'other' to have same number of sparse dimensions, but self has ", r.sparse_dim,
                " sparse dimensions while other has ", s.sparse_dim, " sparse dimensions");
  const Tensor scaled = alpha.is(1) ? s.values.to(dtype) : s.values.to(dtype).mul(alpha);
  const Tensor both = make_coo(a.sizes(), cresset::cat({r.indices, s.indices}, 1), cresset::cat({r.values.to(dtype), scaled}), false);
  // Two sorted lists make a sorted one; others stay lists of what is to be added.
  return in_layout_of(r.coalesced && s.coalesced ? coalesced(both) : is_compressed(a.layout()) ? coalesced(both) : both, a);
}

// dense += alpha * sparse, in place.
void add_into(const Tensor& dense, const Tensor& sparse, const Scalar& alpha) {
  const SparseParts& p = sparse_parts(sparse);
  if (p.values.numel() == 0) return;
  const Tensor positions = element_positions(sparse);
  const Tensor values = element_values(sparse, p.values).to(dense.scalar_type());
  const int64_t d = positions.size(0);
  if (dense.is_contiguous()) {
    const IntArrayRef lead = first(dense.sizes(), d);
    Tensor rows = dense.detach().view(joined({product(lead)}, behind(dense.sizes(), d)));
    rows.index_add_(0, flat_positions(positions, lead), values, alpha);
    return;
  }
  std::vector<std::optional<Tensor>> indices;
  for (int64_t i = 0; i < d; i++) indices.emplace_back(positions.select(0, i));
  Tensor target = dense.detach();
  target.index_put_(indices, alpha.is(1) ? values : values.mul(alpha), /*accumulate=*/true);
}

Tensor on_number(const Tensor& self, const Tensor& number, bool divides) {
  const SparseParts& p = sparse_parts(self);
  return cresset::with_values(self, divides ? p.values.div(number) : p.values.mul(number));
}

// The shape of a product: dense dimensions broadcast, sparse ones are equal.
DimVector product_sizes(const Tensor& a, const Tensor& b) {
  const int64_t n = sparse_parts(a).sparse_dim;
  const bool coo = a.layout() == Layout::Sparse && b.layout() == Layout::Sparse;
  const bool fits = coo && a.dim() == b.dim() && n == sparse_parts(b).sparse_dim && first(a.sizes(), n) == first(b.sizes(), n);
  if (!fits) check_same_sizes("mul", a, b, " (only dense dimensions of layout Sparse broadcast)");
  return broadcast_shapes(a.sizes(), b.sizes());
}

// The product of two tensors has the positions that both have.
Tensor mul_sparse(const Tensor& a, const Tensor& b) {
  const DimVector sizes = product_sizes(a, b);
  const ScalarType dtype = common_dtype(a, b);
  if (a.sizes() == b.sizes() && same_pattern(a, b) && (is_compressed(a.layout()) || sparse_parts(a).coalesced))
    return cresset::with_values(a, sparse_parts(a).values.mul(sparse_parts(b).values));
  // Entries that repeat stay as they are where only one operand has any.
  const bool coo = a.layout() == Layout::Sparse && b.layout() == Layout::Sparse;
  if (coo && a.is_coalesced() && !b.is_coalesced()) return mul_sparse(b, a);
  const Tensor x = as_coo(a), y = as_coo(b).coalesce();
  const SparseParts &p = sparse_parts(x), &q = sparse_parts(y);
  CRESSET_CHECK(p.sparse_dim == q.sparse_dim, "mul: expected 'self' and 'other' to have same number of sparse dimensions, but self has ", p.sparse_dim,
                " sparse dimensions while other has ", q.sparse_dim, " sparse dimensions");
  const IntArrayRef lead = first(a.sizes(), p.sparse_dim);
  if (p.nnz() == 0 || q.nnz() == 0) {
    const Tensor none =
        make_coo(sizes, p.indices.narrow(1, 0, 0), p.values.narrow(0, 0, 0).mul(q.values.narrow(0, 0, 0)).to(dtype), p.coalesced || !lacks_data(x));
    return in_layout_of(none, a);
  }
  const Tensor wanted = flat_positions(p.indices, lead), have = flat_positions(q.indices, lead);
  const Tensor at = cresset::searchsorted(have, wanted).clamp_max(q.nnz() - 1);
  const Tensor kept = places(have.index_select(0, at).eq(wanted));
  const Tensor values = p.values.index_select(0, kept).mul(q.values.index_select(0, at.index_select(0, kept)));
  return in_layout_of(make_coo(sizes, p.indices.index_select(1, kept), values, p.coalesced), a);
}

// A COO tensor that repeats along sparse dimensions of size 1 and along new leading ones, which are sparse; dense dimensions expand.
Tensor broadcast_coo(const Tensor& sparse, IntArrayRef sizes) {
  const SparseParts& p = sparse_parts(sparse);
  Tensor indices = p.indices, values = p.values;
  const int64_t dims = static_cast<int64_t>(sizes.size()), added = dims - sparse.dim();
  bool sorted = p.coalesced;
  for (int64_t d = dims - p.dense_dim - 1; d >= 0; d--) {
    const bool is_new = d < added;
    const int64_t n = sizes[d], count = indices.size(1);
    if (!is_new && n == sparse.size(d - added)) continue;
    sorted = sorted && (is_new || d == added);
    const int64_t behind = is_new ? 0 : d - added + 1;
    const Tensor row = cresset::arange(n, indices.options()).repeat_interleave(count).unsqueeze(0);
    const Tensor rest = indices.repeat({1, n});
    indices = cresset::cat({rest.narrow(0, 0, std::max<int64_t>(behind - 1, 0)), row, rest.narrow(0, behind, rest.size(0) - behind)});
    values = n == 0 ? values.narrow(0, 0, 0) : cresset::cat(std::vector<Tensor>(static_cast<size_t>(n), values));
  }
  DimVector shape{values.size(0)};
  for (int64_t d = dims - p.dense_dim; d < dims; d++) shape.push_back(sizes[d]);
  return make_coo(sizes, indices, values.expand(shape), sorted);
}

Tensor mul_dense(const Tensor& self, const Tensor& dense) {
  const DimVector sizes = broadcast_shapes(self.sizes(), dense.sizes());
  const bool fits = IntArrayRef(sizes) == self.sizes();
  CRESSET_CHECK(fits || self.layout() == Layout::Sparse, "mul: a sparse tensor of shape ", self.sizes(), " and layout ", self.layout(),
                " cannot be broadcast to ", sizes, ", only one of layout Sparse can");
  const Tensor sparse = fits ? self : broadcast_coo(self, sizes);
  return cresset::with_values(sparse, sparse_parts(sparse).values.mul(values_like(dense.expand(sizes), sparse)));
}

}  // namespace

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_sparse(self) && is_sparse(other)) return add_sparse(self, other, alpha);
  if (is_compressed(self.layout()) && other.sizes() == self.sizes()) {
    Tensor out = other.mul(alpha).to(common_dtype(self, other), false, true).contiguous();
    add_into(out, self, 1);
    return out;
  }
  CRESSET_CHECK(!is_sparse(self), "add: a dense tensor cannot be added to a sparse one, call add(dense, sparse)");
  check_same_sizes("add", self, other, " (dense and sparse shapes do not broadcast)");
  Tensor out = self.detach().to(common_dtype(self, other), false, true);
  add_into(out, other, alpha);
  return out;
}

Tensor& add_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  CRESSET_CHECK(can_cast(common_dtype(self, other), self.scalar_type()), "add_: the result of dtype ", common_dtype(self, other), " cannot be cast to ",
                self.scalar_type());
  if (is_sparse(self)) {
    sparse::copy_(self, sparse::add(self, other, alpha), false);
    return self;
  }
  check_same_sizes("add", self, other, " (dense and sparse shapes do not broadcast)");
  add_into(self, other, alpha);
  return self;
}

Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  CRESSET_CHECK(self.scalar_type() != kBool && other.scalar_type() != kBool, "sub: subtraction is not supported for bool tensors; use `^` or logical_xor()");
  return sparse::add(self, other, -alpha);
}
Tensor& sub_(Tensor& self, const Tensor& other, const Scalar& alpha) { return sparse::add_(self, other, -alpha); }

Tensor add_number(const Tensor&, const Scalar&, const Scalar&) {
  CRESSET_CHECK(false, "add: a dense tensor cannot be added to a sparse one, call add(dense, sparse)");
  return {};
}

Tensor mul(const Tensor& self, const Tensor& other) {
  if (is_sparse(self) && other.dim() == 0 && !is_sparse(other)) return on_number(self, other, false);
  if (is_sparse(other) && self.dim() == 0 && !is_sparse(self)) return on_number(other, self, false);
  if (is_sparse(self) && is_sparse(other) && self.dim() != other.dim()) {
    if (other.dim() == 0) return on_number(self, other.to_dense(), false);
    if (self.dim() == 0) return on_number(other, self.to_dense(), false);
  }
  if (is_sparse(self) && is_sparse(other)) return mul_sparse(self, other);
  return is_sparse(self) ? mul_dense(self, other) : mul_dense(other, self);
}
Tensor mul_number(const Tensor& self, const Scalar& other) { return cresset::with_values(self, sparse_parts(self).values.mul(other)); }

Tensor div(const Tensor& self, const Tensor& other) { return div_mode(self, other, std::nullopt); }
Tensor div_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  CRESSET_CHECK(is_sparse(self) && !is_sparse(other) && other.dim() == 0, "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape ",
                other.sizes(), " for divisor)");
  // Sums of rounded parts are not the rounded sum.
  const Tensor whole = rounding_mode && self.layout() == Layout::Sparse ? self.coalesce() : self;
  return cresset::with_values(whole, sparse_parts(whole).values.div(other, rounding_mode));
}

Tensor div_number(const Tensor& self, const Scalar& other) { return cresset::with_values(self, sparse_parts(self).values.div(other)); }
Tensor div_number_mode(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  const Tensor whole = rounding_mode && self.layout() == Layout::Sparse ? self.coalesce() : self;
  return cresset::with_values(whole, sparse_parts(whole).values.div(other, rounding_mode));
}

Tensor floor_divide(const Tensor& self, const Tensor& other) { return div_mode(self, other, "floor"); }
Tensor floor_divide_number(const Tensor& self, const Scalar& other) { return div_number_mode(self, other, "floor"); }

Tensor pow(const Tensor& self, const Scalar& exponent) {
  CRESSET_CHECK(exponent.isComplex() || exponent.as<double>() != 0, "pow: a sparse tensor to the power 0 would be dense");
  const Tensor whole = self.layout() == Layout::Sparse ? self.coalesce() : self;
  return cresset::with_values(whole, sparse_parts(whole).values.pow(exponent));
}

Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_sparse(self), "Could not run 'aten::threshold_backward' with a sparse gradient of a dense tensor; use to_dense()");
  const Tensor whole = self.layout() == Layout::Sparse ? self.coalesce() : self;
  return cresset::with_values(whole, cresset::threshold_backward(values_like(grad, whole), sparse_parts(whole).values, threshold));
}

void on_values(const dispatch::OpEntry& op, dispatch::Stack& stack) {
  const size_t n = op.function_schema().arguments.size(), at = stack.size() - n;
  const Tensor given = stack[at].to_tensor();
  // A function of a sum is not the sum of the function of its parts.
  const Tensor whole = given.layout() == Layout::Sparse ? given.coalesce() : given;
  stack[at] = dispatch::Value(sparse_parts(whole).values);
  dispatch::call_boxed(op, stack);
  stack.back() = dispatch::Value(cresset::with_values(whole, stack.back().to_tensor()));
}

// Samplers draw numbers for the values alone.
void draw_values_(const dispatch::OpEntry& op, dispatch::Stack& stack) {
  const size_t at = stack.size() - op.function_schema().arguments.size();
  const Tensor self = stack[at].to_tensor(), copy = cloned(self);
  stack[at] = dispatch::Value(sparse_parts(copy).values);
  dispatch::call_boxed(op, stack);
  take_parts(self, copy);
  stack.back() = dispatch::Value(self);
}

// ---- Sums

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) { return sparse_parts(self).values.sum(dtype); }

Tensor sum_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const SparseParts& p = sparse_parts(self);
  if (self.dim() == 0) return p.values.sum(dtype);
  DimVector dims;
  if (dim.has_value())
    for (const int64_t d : dim.value()) dims.push_back(wrap_dim(d, self.dim()));
  if (dims.empty())
    for (int64_t d = 0; d < self.dim(); d++) dims.push_back(d);
  std::vector<bool> gone(static_cast<size_t>(self.dim()), false);
  for (const int64_t d : dims) {
    CRESSET_CHECK(!gone[static_cast<size_t>(d)], "sum: dim ", d, " is named more than once in dim");
    gone[static_cast<size_t>(d)] = true;
  }
  if (static_cast<int64_t>(dims.size()) == self.dim() && !keepdim) return p.values.sum(dtype);
  CRESSET_CHECK(!is_compressed(self.layout()) || keepdim, "sum: expected keepdim=True for a CSR tensor, got False");
  const Tensor coo = as_coo(self);
  const SparseParts& q = sparse_parts(coo);
  DimVector inside, sizes;
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < self.dim(); d++) {
    const bool summed = gone[static_cast<size_t>(d)];
    if (summed && d >= q.sparse_dim) inside.push_back(d - q.sparse_dim + 1);
    if (summed && !keepdim) continue;
    sizes.push_back(summed ? 1 : self.size(d));
    if (d < q.sparse_dim) rows.push_back(summed ? cresset::zeros({q.nnz()}, q.indices.options()) : q.indices.select(0, d));
  }
  const Tensor values = inside.empty() ? (dtype                                            ? q.values.to(*dtype)
                                          : is_integral_type(q.values.scalar_type(), true) ? q.values.to(kLong)
                                                                                           : q.values)
                                       : q.values.sum(IntArrayRef(inside), keepdim, dtype);
  // No sparse dimension is left.
  if (rows.empty()) return values.sum(0);
  return in_layout_of(coalesced(make_coo(sizes, cresset::stack(rows), values, false)), self);
}

Tensor any(const Tensor& self) { return sparse_parts(self.layout() == Layout::Sparse ? self.coalesce() : self).values.any(); }

Tensor norm(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const bool whole = !dim.has_value() || dim.value().empty() || static_cast<int64_t>(dim.value().size()) == self.dim();
  CRESSET_CHECK(whole, "norm: of a sparse tensor only the norm over all dimensions is known, expected dim to be empty or all of them");
  CRESSET_CHECK(!keepdim, "norm: of a sparse tensor expected keepdim=False, got True");
  // Zeros add nothing to sums of powers, but they count for the smallest and for powers below 0.
  const bool counts_zeros = !ord.isComplex() && ord.as<double>() < 0;
  const Tensor values = sparse_parts(self.layout() == Layout::Sparse ? self.coalesce() : self).values;
  return cresset::linalg_vector_norm(counts_zeros ? self.to_dense() : values, ord, std::nullopt, false, dtype);
}

// ---- Copies

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  CRESSET_CHECK(!memory_format || *memory_format == MemoryFormat::Preserve || *memory_format == MemoryFormat::Contiguous, "unsupported memory format option ",
                *memory_format);
  return cloned(self);
}

Tensor to_copy(const Tensor& self, const TensorOptions& options, bool, std::optional<MemoryFormat>) {
  const ScalarType dtype = options.has_dtype() ? options.dtype() : self.scalar_type();
  if (options.has_device() && options.device().type() != self.device().type()) {
    CRESSET_CHECK_NOT_IMPLEMENTED(is_sparse(self) && (options.device().is_meta() || lacks_data(self)), "to: ", title(self.layout()),
                                  " tensors cannot be moved to ", options.device());
    const SparseParts& p = sparse_parts(self);
    const TensorOptions there = self.options().dtype(dtype).device(options.device());
    if (!p.plain.defined()) return empty_of(self.sizes(), there, p.dense_dim);
    const auto [rows, columns] = block_of(self);
    const DimVector blocks{rows, columns};
    return empty_compressed(self.sizes(), there, p.dense_dim, is_blocked(self.layout()) ? IntArrayRef(blocks) : IntArrayRef(), p.indices.scalar_type());
  }
  if (!is_sparse(self)) return self.to(dtype).to_sparse(options.layout());
  if (options.has_layout() && options.layout() == Layout::Strided) return self.to_dense(dtype);
  const Tensor copy = cloned(self);
  const Tensor cast = cresset::with_values(copy, sparse_parts(copy).values.to(dtype));
  return options.has_layout() && options.layout() != self.layout() ? cast.to_sparse(options.layout()) : cast;
}

Tensor& copy_(Tensor& self, const Tensor& src, bool) {
  CRESSET_CHECK(is_sparse(self) && is_sparse(src), "copy_: expected both tensors dense or both sparse, got self layout = ", self.layout(),
                " and src layout = ", src.layout());
  if (self.is_same(src)) return self;
  if (is_compressed(self.layout())) {
    CRESSET_CHECK(self.layout() == src.layout() && self.sizes() == src.sizes(), "copy_: expected a ", title(self.layout()), " tensor of shape ", self.sizes(),
                  ", got ", title(src.layout()), " of shape ", src.sizes());
  } else {
    CRESSET_CHECK(src.layout() == Layout::Sparse, "copy_: expected a Sparse tensor, got ", title(src.layout()));
  }
  const Tensor copy = cloned(src);
  take_parts(self, self.scalar_type() == src.scalar_type() ? copy : cresset::with_values(copy, sparse_parts(copy).values.to(self.scalar_type())));
  return self;
}

Tensor& zero_(Tensor& self) {
  if (is_blocked(self.layout())) {
    const SparseParts& p = sparse_parts(self);
    take_parts(self, cresset::with_values(self, cresset::zeros_like(p.values)));
    return self;
  }
  take_parts(self, empty_of(self.sizes(), self.options(), sparse_parts(self).dense_dim));
  return self;
}

namespace {

// New rows hold nothing; of rows that go, the elements that the smaller matrix has no room for go too.
void resize_compressed(Tensor& self, IntArrayRef size) {
  const SparseParts& p = sparse_parts(self);
  CRESSET_CHECK(size.size() >= 2 && p.dense_dim == 0, "resize_: only matrices and batches of them can be resized, got shape ", size);
  const bool by_row = self.layout() == Layout::SparseCsr;
  const int64_t last = static_cast<int64_t>(size.size()) - 1, rows = size[by_row ? last - 1 : last], columns = size[by_row ? last : last - 1];
  const int64_t old_rows = self.size(by_row ? -2 : -1), old_columns = self.size(by_row ? -1 : -2);
  CRESSET_CHECK(columns >= old_columns, "resize_: the ", by_row ? "columns" : "rows", " of a ", title(self.layout()), " tensor cannot become fewer, got ",
                columns, " after ", old_columns);
  const IntArrayRef batch = size.slice(0, size.size() - 2);
  int64_t batches = 1;
  for (const int64_t n : batch) batches *= n;
  const Tensor starts = p.indices.reshape({-1, old_rows + 1}), places = p.plain.reshape({starts.size(0), -1}),
               values = p.values.detach().reshape({starts.size(0), -1});
  CRESSET_CHECK(batches <= starts.size(0), "resize_: a batch of ", starts.size(0), " matrices cannot become one of ", batches);
  const int64_t count = std::min(places.size(1), rows * columns);
  Tensor resized = cresset::full({batches, rows + 1}, count, starts.options());
  const int64_t kept = std::min(rows, old_rows);
  resized.narrow(1, 0, kept).copy_(starts.narrow(0, 0, batches).narrow(1, 0, kept).clamp_max(count));
  auto shaped = [&](const Tensor& t) {
    DimVector wanted(batch.begin(), batch.end());
    wanted.push_back(t.size(1));
    return t.contiguous().reshape(IntArrayRef(wanted));
  };
  take_parts(self, make_compressed(self.layout(), size, shaped(resized), shaped(places.narrow(0, 0, batches).narrow(1, 0, count)),
                                   shaped(values.narrow(0, 0, batches).narrow(1, 0, count))));
}

}  // namespace

Tensor& resize_(Tensor& self, IntArrayRef size, std::optional<MemoryFormat>) {
  if (self.sizes() == size) return self;
  if (self.layout() == Layout::SparseCsr || self.layout() == Layout::SparseCsc) {
    resize_compressed(self, size);
    return self;
  }
  CRESSET_CHECK(self.layout() == Layout::Sparse, "resize_: a ", title(self.layout()), " tensor cannot be resized from ", self.sizes(), " to ", size);
  take_parts(self, empty_of(size, self.options()));
  return self;
}

Tensor empty(IntArrayRef size, const TensorOptions& options, std::optional<MemoryFormat>) {
  CRESSET_CHECK(!is_blocked(options.layout()), "empty_sparse_compressed: expected layout CSR or CSC, got ", title(options.layout()));
  return empty_of(size, options);
}

}  // namespace cresset::ops::sparse
