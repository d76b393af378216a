// Sparse tensors: making, checking and looking at them. ops/sparse.toml.

#include "cresset/ops/sparse/sparse.h"

#include "cresset/core/fake_mode.h"
#include "cresset/kernels/sparse/sparse.h"
#include "cresset/ops/bodies_sparse.h"
#include "cresset/ops/entries_index.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace sparse {

const char* title(Layout l) {
  constexpr const char* kTitles[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc", "Mkldnn"};
  return kTitles[static_cast<int>(l)];
}

int64_t product(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) CRESSET_CHECK(!__builtin_mul_overflow(n, s, &n), "sparse: the number of elements of shape ", sizes, " does not fit in 64 bits");
  return n;
}

DimVector joined(IntArrayRef a, IntArrayRef b) {
  DimVector all(a);
  for (const int64_t s : b) all.push_back(s);
  return all;
}

Tensor longs(IntArrayRef numbers) {
  Tensor t = cresset::empty({static_cast<int64_t>(numbers.size())}, TensorOptions(kLong));
  if (!t.lacks_data()) std::copy(numbers.begin(), numbers.end(), t.data_ptr<int64_t>());
  return t;
}

void check_size(const char* op, IntArrayRef size) {
  for (const int64_t s : size) CRESSET_CHECK(s >= 0, op, ": trying to create a tensor with negative dimension ", s, ": ", size);
  product(size);
}

bool lacks_data(const Tensor& t) {
  if (!is_sparse(t)) return t.lacks_data();
  const SparseParts& p = sparse_parts(t);
  return p.values.lacks_data() || p.indices.lacks_data() || (p.plain.defined() && p.plain.lacks_data());
}

Tensor places(const Tensor& keep) {
  if (!keep.lacks_data()) return keep.nonzero().squeeze(1);
  const FakeMode* const mode = mode_of_fake(*keep.impl());
  SymbolicShapes* const shapes = mode ? mode->shapes() : nullptr;
  dispatch::Stack stack{keep};
  if (shapes && keep.numel() > 0 && shapes->run_data_dependent(entry::nonzero, stack)) return stack[0].to_tensor().squeeze(1);
  return cresset::empty({0}, keep.options().dtype(kLong));
}

int64_t unknown_count(const Tensor& like, int64_t most) { return places(cresset::empty({most}, TensorOptions(kBool).device(like.device()))).numel(); }

Tensor flat_positions(const Tensor& positions, IntArrayRef sizes) {
  const Tensor rows = positions.to(kLong).contiguous();
  Tensor flat = cresset::empty({rows.size(1)}, rows.options());
  if (rows.lacks_data()) return flat;
  const bool in_range = kernels::flatten_positions(flat.data_ptr<int64_t>(), rows.data_ptr<int64_t>(), rows.size(1), sizes);
  CRESSET_CHECK_INDEX(in_range, "sparse: an index is out of range for the sizes ", sizes);
  return flat;
}

Tensor positions_of(const Tensor& flat, IntArrayRef sizes) {
  const Tensor dense = flat.contiguous();
  Tensor rows = cresset::empty({static_cast<int64_t>(sizes.size()), dense.numel()}, dense.options());
  if (dense.lacks_data()) return rows;
  kernels::unflatten_positions(rows.data_ptr<int64_t>(), dense.data_ptr<int64_t>(), dense.numel(), sizes);
  return rows;
}

Tensor expanded(const Tensor& pointers, int64_t nnz) {
  const Tensor dense = pointers.contiguous();
  const int64_t n = dense.size(-1) - 1;
  DimVector sizes(dense.sizes());
  sizes.back() = nnz;
  Tensor majors = cresset::empty(sizes, dense.options());
  if (majors.lacks_data()) return majors;
  kernels::expand_pointers(majors.data_ptr(), dense.data_ptr(), dense.scalar_type(), n >= 0 ? dense.numel() / (n + 1) : 0, n, nnz);
  return majors;
}

std::pair<int64_t, int64_t> block_of(const Tensor& t) {
  const SparseParts& p = sparse_parts(t);
  if (!is_blocked(t.layout())) return {1, 1};
  const int64_t at = p.batch_dim() + 1;
  return {p.values.size(at), p.values.size(at + 1)};
}

Tensor element_positions(const Tensor& t) {
  const SparseParts& p = sparse_parts(t);
  if (!p.plain.defined()) return p.indices;
  const int64_t nnz = p.nnz(), batches = product(first(p.plain.sizes(), p.batch_dim()));
  const auto [rows, columns] = block_of(t);
  const Tensor majors = expanded(p.indices, nnz).to(kLong).reshape({-1}), minors = p.plain.to(kLong).reshape({-1});
  Tensor row = is_by_rows(t.layout()) ? majors : minors, column = is_by_rows(t.layout()) ? minors : majors;
  if (is_blocked(t.layout())) {
    const DimVector inside{row.numel(), rows, columns};
    row = (row.view({-1, 1, 1}) * rows + cresset::arange(rows, row.options()).view({1, -1, 1})).expand(inside).reshape({-1});
    column = (column.view({-1, 1, 1}) * columns + cresset::arange(columns, row.options()).view({1, 1, -1})).expand(inside).reshape({-1});
  }
  const Tensor cell = cresset::stack({row, column});
  if (p.batch_dim() == 0) return cell;
  const Tensor batch = positions_of(cresset::arange(batches, row.options()).repeat_interleave(nnz * rows * columns), first(t.sizes(), p.batch_dim()));
  return cresset::cat({batch, cell});
}

Tensor element_values(const Tensor& t, const Tensor& values) {
  const SparseParts& p = sparse_parts(t);
  if (!p.plain.defined()) return values;
  const DimVector dense(behind(t.sizes(), p.batch_dim() + 2));
  int64_t n = values.numel();
  if (const int64_t width = product(dense); width > 0) n /= width;
  else n = product(first(values.sizes(), values.dim() - p.dense_dim));
  return values.reshape(joined({n}, dense));
}

Tensor cloned(const Tensor& t) {
  const SparseParts& p = sparse_parts(t);
  if (p.plain.defined()) return make_compressed(t.layout(), t.sizes(), p.indices.clone(), p.plain.clone(), p.values.clone());
  return make_coo(t.sizes(), p.indices.clone(), p.values.clone(), p.coalesced);
}

Tensor coalesced(const Tensor& coo) {
  const SparseParts& p = sparse_parts(coo);
  const int64_t nnz = p.nnz();
  if (nnz > 0 && lacks_data(coo)) return empty_of(coo.sizes(), coo.options(), p.dense_dim, unknown_count(coo, nnz));
  if (nnz < 2) return make_coo(coo.sizes(), p.indices.clone(), p.values.clone(), true);
  const IntArrayRef sizes = first(coo.sizes(), p.sparse_dim);
  const Tensor flat = flat_positions(p.indices, sizes);
  if (kernels::strictly_increasing(flat.data_ptr<int64_t>(), nnz)) return make_coo(coo.sizes(), p.indices.clone(), p.values.clone(), true);
  const auto [sorted, order] = cresset::sort(flat, /*stable=*/true, 0, false);
  std::vector<int64_t> starts(static_cast<size_t>(nnz) + 1);
  const int64_t count = kernels::segment_starts(starts.data(), sorted.data_ptr<int64_t>(), nnz);
  Tensor unique = cresset::empty({count}, TensorOptions(kLong));
  for (int64_t k = 0; k < count; k++) unique.data_ptr<int64_t>()[k] = sorted.data_ptr<int64_t>()[starts[static_cast<size_t>(k)]];
  const Tensor values = p.values.contiguous();
  DimVector shape(values.sizes());
  shape[0] = count;
  Tensor sums = cresset::empty(shape, values.options());
  kernels::segment_sum(sums.data_ptr(), values.data_ptr(), values.scalar_type(), product(behind(shape, 1)), order.data_ptr<int64_t>(), starts.data(), count);
  return make_coo(coo.sizes(), positions_of(unique, sizes), sums, true);
}

Tensor with_values(const Tensor& pattern, const Tensor& values) {
  const SparseParts& p = sparse_parts(pattern);
  const TensorOptions options = TensorOptions(values.scalar_type()).layout(pattern.layout());
  if (p.plain.defined()) return cresset::_sparse_compressed_tensor_unsafe(p.indices, p.plain, values, pattern.sizes(), options);
  return cresset::_sparse_coo_tensor_with_dims_and_tensors(p.sparse_dim, p.dense_dim, pattern.sizes(), p.indices, values, options, p.coalesced);
}

Tensor values_at(const Tensor& source, const Tensor& positions) {
  const int64_t d = positions.size(0), n = positions.size(1);
  const DimVector rest(behind(source.sizes(), d)), lead(first(source.sizes(), d));
  if (source.layout() == Layout::Strided) {
    const Tensor rows = source.reshape(joined({product(lead)}, rest));
    return n == 0 ? rows.narrow(0, 0, 0) : rows.index_select(0, flat_positions(positions, lead));
  }
  const Tensor coo = source.layout() == Layout::Sparse ? source.coalesce() : source.to_sparse().coalesce();
  if (sparse_parts(coo).sparse_dim != d) return values_at(coo.to_dense(), positions);
  const Tensor values = coo.values();
  const int64_t stored = sparse_parts(coo).nnz();
  if (n == 0 || stored == 0) return cresset::zeros(joined({n}, rest), values.options());
  const Tensor have = flat_positions(sparse_parts(coo).indices, lead), wanted = flat_positions(positions, lead);
  const Tensor at = cresset::searchsorted(have, wanted).clamp_max(stored - 1);
  const Tensor found = have.index_select(0, at) == wanted;
  DimVector shape(rest.size() + 1, 1);
  shape[0] = n;
  return values.index_select(0, at).masked_fill(found.logical_not().view(shape), 0);
}

Tensor values_like(const Tensor& source, const Tensor& pattern) {
  const SparseParts& p = sparse_parts(pattern);
  if (source.layout() == pattern.layout() && p.plain.defined()) {
    const SparseParts& q = sparse_parts(source);
    if (!lacks_data(source) && !lacks_data(pattern) && q.values.sizes() == p.values.sizes() && cresset::equal(q.indices, p.indices) &&
        cresset::equal(q.plain, p.plain))
      return source.values();
  }
  DimVector shape(first(p.values.sizes(), p.values.dim() - p.dense_dim));
  return values_at(source, element_positions(pattern)).reshape(joined(shape, behind(pattern.sizes(), pattern.dim() - p.dense_dim)));
}

Tensor empty_compressed(IntArrayRef size, const TensorOptions& options, int64_t dense_dim, IntArrayRef blocksize, ScalarType index_dtype, int64_t nnz) {
  const Layout layout = options.layout();
  const TensorOptions plain = TensorOptions(options.dtype()).device(options.device()), whole = plain.dtype(index_dtype);
  const int64_t dims = static_cast<int64_t>(size.size());
  CRESSET_CHECK(dims - dense_dim >= 2, "empty: ", layout, " tensors have 2 dimensions at least, got shape ", size);
  const DimVector batch(first(size, dims - dense_dim - 2));
  const size_t major = is_by_rows(layout) ? 0 : 1;
  const int64_t n = size[static_cast<size_t>(dims - dense_dim - 2) + major] / (blocksize.empty() ? 1 : blocksize[major]);
  const DimVector stored = joined(batch, {nnz});
  return make_compressed(layout, size, cresset::zeros(joined(batch, {n + 1}), whole), cresset::empty(stored, whole),
                         cresset::empty(joined(joined(stored, blocksize), behind(size, dims - dense_dim)), plain));
}

Tensor empty_of(IntArrayRef size, const TensorOptions& options, int64_t dense_dim, int64_t nnz) {
  const Layout layout = options.layout();
  check_size("empty", size);
  const TensorOptions plain = TensorOptions(options.dtype()).device(options.device()), whole = plain.dtype(kLong);
  const int64_t dims = static_cast<int64_t>(size.size());
  if (layout == Layout::Sparse)
    return make_coo(size, cresset::empty({dims - dense_dim, nnz}, whole), cresset::empty(joined({nnz}, behind(size, dims - dense_dim)), plain),
                    dims == dense_dim ? false : true);
  CRESSET_CHECK(!is_blocked(layout), "empty: sparse blocks of what size? ", layout, " needs values");
  return empty_compressed(size, options, dense_dim, {}, kLong, nnz);
}

Tensor empty_like(const Tensor& self, const TensorOptions& given) {
  const TensorOptions options = self.options().merge_in(given.requires_grad(std::nullopt).memory_format(std::nullopt));
  CRESSET_CHECK(!is_compressed(self.layout()) || options.layout() == self.layout(), "empty_like: expected the layout of self, ", self.layout(), ", got ",
                options.layout());
  if (options.layout() == Layout::Strided) return cresset::empty(self.sizes(), options);
  if (options.layout() == self.layout() && is_compressed(self.layout())) {
    const SparseParts& p = sparse_parts(self);
    const auto copy = [&](const Tensor& t) { return t.to(options.device(), t.scalar_type(), false, true); };
    return make_compressed(self.layout(), self.sizes(), copy(p.indices), copy(p.plain),
                           cresset::empty(p.values.sizes(), p.values.options().dtype(options.dtype()).device(options.device())));
  }
  return empty_of(self.sizes(), options, sparse_parts(self).dense_dim);
}

Tensor zeros_like(const Tensor& self, const TensorOptions& given) {
  const TensorOptions options = self.options().merge_in(given.requires_grad(std::nullopt).memory_format(std::nullopt));
  const Layout layout = options.layout();
  if (!is_compressed(self.layout()) || !is_compressed(layout) || self.is_meta()) {
    CRESSET_CHECK(!is_compressed(self.layout()) || layout != Layout::Strided, "zeros_like: expected a sparse layout for a tensor of layout ", self.layout(),
                  ", got ", layout);
    return layout == Layout::Sparse && is_compressed(self.layout()) ? empty_of(self.sizes(), options, sparse_parts(self).dense_dim)
                                                                    : sparse::empty_like(self, given).zero_();
  }
  CRESSET_CHECK(is_blocked(layout) == is_blocked(self.layout()), "zeros_like: a tensor of layout ", self.layout(), " does not tell the blocks of layout ",
                layout);
  const auto [height, width] = block_of(self);
  const DimVector blocks{height, width};
  return empty_compressed(self.sizes(), options, sparse_parts(self).dense_dim, is_blocked(layout) ? IntArrayRef(blocks) : IntArrayRef(), kLong);
}

}  // namespace sparse

namespace {

using namespace sparse;

// The layout that a caller's options and a function's name agree on.
TensorOptions laid_out(const char* op, const TensorOptions& options, Layout wanted) {
  CRESSET_CHECK(!options.has_layout() || options.layout() == wanted, op, ": layout must be ", title(wanted), " but got ", title(options.layout()));
  return options.layout(wanted);
}

Tensor as_positions(const Tensor& indices) { return indices.scalar_type() == kLong ? indices : indices.to(kLong); }

// Values in the dtype asked for.
Tensor as_values(const Tensor& values, const TensorOptions& options) {
  return options.has_dtype() && options.dtype() != values.scalar_type() ? values.to(options.dtype()) : values;
}

// A single value counts as that of one position.
Tensor at_least_1d(const Tensor& values) { return values.dim() == 0 ? values.unsqueeze(0) : values; }

void check_counts(const Tensor& indices, const Tensor& values) {
  CRESSET_CHECK(indices.dim() == 2, "expected indices of shape (sparse_dim, nnz), got shape ", indices.sizes());
  CRESSET_CHECK(indices.size(1) == values.size(0), "indices and values differ in nnz, got ", indices.size(1), " in indices and ", values.size(0));
}

const char* pointer_name(Layout l) { return is_by_rows(l) ? "crow_indices" : "ccol_indices"; }
const char* plain_name(Layout l) { return is_by_rows(l) ? "col_indices" : "row_indices"; }

void check_compressed(const char* op, Layout layout) { CRESSET_CHECK(is_compressed(layout), op, ": expected a compressed sparse layout, got ", title(layout)); }

// The sizes that pointers, positions and values speak of at least.
DimVector sizes_from(Layout layout, const Tensor& pointers, const Tensor& plain, const Tensor& values) {
  const int64_t batch = plain.dim() - 1, block = is_blocked(layout) ? 2 : 0;
  CRESSET_CHECK(pointers.dim() >= 1 && plain.dim() >= 1, pointer_name(layout), ": expected at least one dimension, got ", pointers.dim());
  CRESSET_CHECK(values.dim() > batch + block, "values need more dimensions than batch and blocks together (=", batch, " + ", block, ") but got ", values.dim());
  DimVector sizes(first(plain.sizes(), batch));
  const int64_t rows = block ? values.size(batch + 1) : 1, columns = block ? values.size(batch + 2) : 1;
  const int64_t major = pointers.size(-1) - 1, minor = plain.numel() > 0 ? plain.max().item().as<int64_t>() + 1 : 0;
  sizes.push_back((is_by_rows(layout) ? major : minor) * rows);
  sizes.push_back((is_by_rows(layout) ? minor : major) * columns);
  for (int64_t d = batch + 1 + block; d < values.dim(); d++) sizes.push_back(values.size(d));
  return sizes;
}

Tensor make(const char* op, const Tensor& pointers, const Tensor& plain, const Tensor& values, IntArrayRef size, const TensorOptions& given,
            std::optional<Layout> wanted) {
  const TensorOptions options = wanted ? laid_out(op, given, *wanted) : given;
  CRESSET_CHECK(wanted || given.has_layout(), "sparse_compressed_tensor: expected a compressed sparse layout, got none");
  check_compressed(op, options.layout());
  cresset::_validate_sparse_compressed_tensor_args(pointers, plain, values, size, options.layout());
  return cresset::_sparse_compressed_tensor_unsafe(pointers, plain, values, size, options);
}

Tensor make(const char* op, const Tensor& pointers, const Tensor& plain, const Tensor& values, const TensorOptions& given, std::optional<Layout> wanted) {
  const TensorOptions options = wanted ? laid_out(op, given, *wanted) : given;
  CRESSET_CHECK(wanted || given.has_layout(), "sparse_compressed_tensor: expected a compressed sparse layout, got none");
  check_compressed(op, options.layout());
  return make(op, pointers, plain, values, sizes_from(options.layout(), pointers, plain, values), options, wanted);
}

const SparseParts& coo_parts(const char* op, const Tensor& t) {
  CRESSET_CHECK(t.layout() == Layout::Sparse, op, ": expected a COO tensor, got layout ", title(t.layout()));
  return sparse_parts(t);
}

const SparseParts& compressed_parts(const char* op, const Tensor& t, bool rows) {
  CRESSET_CHECK(is_compressed(t.layout()) && is_by_rows(t.layout()) == rows, op, " expected sparse ", rows ? "row" : "column",
                " compressed tensor layout but got ", title(t.layout()));
  return sparse_parts(t);
}

// Errors: a tensor that a number of elements is asked of which only data tells, in a mode that refuses to take it for 0.
void check_count(const char* op, const Tensor& self) {
  const FakeMode* const mode = mode_of_fake(*self.impl());
  if (mode && mode->refuses_unknown_counts() && sparse_parts(self).nnz() == 0) shape_depends_on_data(op, "default", self);
}

// A part of `self` that a program asks for.
Tensor part(const char* op, const Tensor& self, const Tensor& part) {
  check_count(op, self);
  Tensor t(part.impl()->alias(true));
  const FakeMode* const mode = mode_of_fake(*t.impl());
  if (mode && mode->shapes()) mode->shapes()->made(intrusive_ptr<TensorImpl>::share(t.impl()));
  return t;
}

}  // namespace

namespace cpu {

Tensor _sparse_coo_tensor_with_dims_and_tensors(int64_t sparse_dim, int64_t dense_dim, IntArrayRef size, const Tensor& indices, const Tensor& values,
                                                const TensorOptions& options, std::optional<bool> is_coalesced) {
  check_counts(indices, values);
  CRESSET_CHECK(indices.size(0) == sparse_dim && values.dim() - 1 == dense_dim && static_cast<int64_t>(size.size()) == sparse_dim + dense_dim,
                "size does not have sparse_dim + dense_dim entries: len(size) = ", size.size(), ", sparse_dim = ", indices.size(0),
                ", dense_dim = ", values.dim() - 1);
  return make_coo(size, as_positions(indices), as_values(values, options), is_coalesced.value_or(false));
}

Tensor _sparse_compressed_tensor_unsafe(const Tensor& compressed_indices, const Tensor& plain_indices, const Tensor& values, IntArrayRef size,
                                        const TensorOptions& options) {
  check_compressed("_sparse_compressed_tensor_unsafe", options.layout());
  CRESSET_CHECK(
      compressed_indices.scalar_type() == plain_indices.scalar_type() && (plain_indices.scalar_type() == kLong || plain_indices.scalar_type() == kInt),
      pointer_name(options.layout()), " and ", plain_name(options.layout()), " must be both int32 or both int64, got ", compressed_indices.scalar_type(),
      " and ", plain_indices.scalar_type());
  // Conditions on the shapes of the parts for anything to be done with them; what they hold is not looked at.
  const int64_t block = is_blocked(options.layout()) ? 2 : 0;
  CRESSET_CHECK(plain_indices.dim() >= 1 && compressed_indices.dim() == plain_indices.dim() && values.dim() >= plain_indices.dim() + block &&
                    values.size(plain_indices.dim() - 1) == plain_indices.size(-1) && static_cast<int64_t>(size.size()) == values.dim() + 1 - block &&
                    compressed_indices.size(-1) >= 1,
                "sparse_compressed_tensor: ", pointer_name(options.layout()), " of shape ", compressed_indices.sizes(), ", ", plain_name(options.layout()),
                " of shape ", plain_indices.sizes(), " and values of shape ", values.sizes(), " do not make a tensor of shape ", size);
  return make_compressed(options.layout(), size, compressed_indices, plain_indices, as_values(values, options));
}

Tensor values(const Tensor& self) {
  CRESSET_CHECK(cresset::is_sparse(self.layout()), "values: expected a sparse tensor, got layout ", title(self.layout()));
  const SparseParts& p = sparse_parts(self);
  CRESSET_CHECK(p.plain.defined() || p.coalesced, "values: the tensor is not coalesced, call coalesce() before");
  return part("values", self, p.values);
}

Tensor _coalesce(const Tensor& self) {
  coo_parts("coalesce", self);
  return sparse::coalesced(self);
}

}  // namespace cpu

namespace composite {

Tensor sparse_coo_tensor(IntArrayRef size, const TensorOptions& options) {
  return sparse::empty_of(size, laid_out("sparse_coo_tensor", options, Layout::Sparse));
}

Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, const TensorOptions& options, std::optional<bool> is_coalesced) {
  laid_out("sparse_coo_tensor", options, Layout::Sparse);
  const Tensor data = at_least_1d(values), positions = as_positions(indices);
  check_counts(positions, data);
  DimVector size;
  if (positions.size(1) == 0) {
    size.resize(static_cast<size_t>(positions.size(0)), 0);
  } else {
    if (positions.lacks_data()) shape_depends_on_data("sparse_coo_tensor", "indices", positions);
    const Tensor least = positions.amin(1), most = positions.amax(1);
    for (int64_t d = 0; d < positions.size(0); d++) {
      const int64_t low = least.data_ptr<int64_t>()[d];
      CRESSET_CHECK(low >= 0, "found negative index ", low, " for dim ", d);
      size.push_back(most.data_ptr<int64_t>()[d] + 1);
    }
  }
  for (int64_t d = 1; d < data.dim(); d++) size.push_back(data.size(d));
  return cresset::sparse_coo_tensor(positions, data, size, options, is_coalesced);
}

Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, IntArrayRef size, const TensorOptions& options, std::optional<bool> is_coalesced) {
  laid_out("sparse_coo_tensor", options, Layout::Sparse);
  const Tensor data = at_least_1d(values), positions = as_positions(indices);
  cresset::_validate_sparse_coo_tensor_args(positions, data, size, is_coalesced);
  return cresset::_sparse_coo_tensor_unsafe(positions, data, size, options, is_coalesced);
}

Tensor _sparse_coo_tensor_unsafe(const Tensor& indices, const Tensor& values, IntArrayRef size, const TensorOptions& options,
                                 std::optional<bool> is_coalesced) {
  const Tensor data = at_least_1d(values);
  check_counts(indices, data);
  check_size("sparse_coo_tensor", size);
  const Tensor cast = as_values(data, options);
  return cresset::_sparse_coo_tensor_with_dims_and_tensors(indices.size(0), data.dim() - 1, size, indices, cast,
                                                           options.requires_grad(std::nullopt).layout(Layout::Sparse), is_coalesced);
}

Tensor _sparse_coo_tensor_with_dims(int64_t sparse_dim, int64_t dense_dim, IntArrayRef size, const TensorOptions& options) {
  CRESSET_CHECK(sparse_dim >= 0 && dense_dim >= 0 && sparse_dim + dense_dim == static_cast<int64_t>(size.size()),
                "size does not have sparse_dim + dense_dim entries: len(size) = ", size.size(), ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  return sparse::empty_of(size, options.layout(Layout::Sparse), dense_dim);
}

void _validate_sparse_coo_tensor_args(const Tensor& indices, const Tensor& values, IntArrayRef size, std::optional<bool> is_coalesced, std::optional<bool>) {
  const Tensor data = at_least_1d(values);
  CRESSET_CHECK(indices.dim() == 2, "expected indices of shape (sparse_dim, nnz), got shape ", indices.sizes());
  const int64_t sparse_dim = indices.size(0), dense_dim = data.dim() - 1;
  CRESSET_CHECK(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim, "size does not have sparse_dim + dense_dim entries: len(size) = ", size.size(),
                ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  check_size("sparse_coo_tensor", size);
  check_counts(indices, data);
  const DimVector expected = joined({data.size(0)}, behind(size, sparse_dim));
  CRESSET_CHECK(IntArrayRef(expected) == data.sizes(), "sparse_coo_tensor: expected values of shape ", IntArrayRef(expected), ", got ", data.sizes());
  if (indices.size(1) == 0 || indices.lacks_data()) return;
  const Tensor positions = as_positions(indices), least = positions.amin(1), most = positions.amax(1);
  for (int64_t d = 0; d < sparse_dim; d++) {
    const int64_t low = least.data_ptr<int64_t>()[d], high = most.data_ptr<int64_t>()[d];
    CRESSET_CHECK(low >= 0, "found negative index ", low, " for dim ", d);
    CRESSET_CHECK(high < size[static_cast<size_t>(d)], "an index lies outside size: at dim ", d, ", size is ", size[static_cast<size_t>(d)],
                  " but found index ", high);
  }
  if (!is_coalesced.value_or(false)) return;
  const Tensor flat = flat_positions(positions, first(size, sparse_dim));
  CRESSET_CHECK(kernels::strictly_increasing(flat.data_ptr<int64_t>(), flat.numel()), "is_coalesced=True, got indices that are unsorted or repeated");
}

void _validate_sparse_compressed_tensor_args(const Tensor& pointers, const Tensor& plain, const Tensor& values, IntArrayRef size, Layout layout,
                                             std::optional<bool>) {
  check_compressed("validate_sparse_compressed_tensor_args", layout);
  const std::string p = pointer_name(layout), q = plain_name(layout), major = is_by_rows(layout) ? "rows" : "columns";
  const int64_t block = is_blocked(layout) ? 2 : 0, batch = pointers.dim() - 1, dims = static_cast<int64_t>(size.size());
  const int64_t dense = values.dim() - batch - block - 1;
  CRESSET_CHECK(pointers.dim() >= 1, p, ": expected at least one dimension, got ", pointers.dim());
  CRESSET_CHECK(pointers.dim() == plain.dim(), p, " and ", q, " differ in their number of dimensions, got ", pointers.dim(), " and ", plain.dim(),
                ", respectively");
  CRESSET_CHECK(values.dim() > batch + block, "values need more dimensions than batch and blocks together (=", batch, " + ", block, ") but got ", values.dim());
  CRESSET_CHECK(dims == batch + 2 + dense, "size has another number of dimensions than batch, base and dense ones together (=", batch, " + 2 + ", dense,
                ") but got ", dims);
  check_size("sparse_compressed_tensor", size);
  const IntArrayRef batch_sizes = first(size, batch);
  CRESSET_CHECK(first(pointers.sizes(), batch) == batch_sizes && first(plain.sizes(), batch) == batch_sizes && first(values.sizes(), batch) == batch_sizes,
                "all batch dimensions of ", p, " (=", first(pointers.sizes(), batch), "), ", q, " (=", first(plain.sizes(), batch),
                "), and values (=", first(values.sizes(), batch), ") differ from those of size (=", batch_sizes, ")");
  DimVector blocks{1, 1};
  for (int64_t d = 0; d < block; d++) {
    blocks[static_cast<size_t>(d)] = values.size(batch + 1 + d);
    CRESSET_CHECK(blocks[static_cast<size_t>(d)] > 0 && size[static_cast<size_t>(batch + d)] % blocks[static_cast<size_t>(d)] == 0, "expected size(", batch + d,
                  ") to be a multiple of the blocks' size, which is ", blocks[static_cast<size_t>(d)], " there as the shape of values says, got ",
                  size[static_cast<size_t>(batch + d)]);
  }
  const int64_t rows = size[static_cast<size_t>(batch)] / blocks[0], columns = size[static_cast<size_t>(batch) + 1] / blocks[1];
  const int64_t n_major = is_by_rows(layout) ? rows : columns, n_minor = is_by_rows(layout) ? columns : rows, nnz = values.size(batch);
  CRESSET_CHECK(pointers.size(-1) == n_major + 1, p, ".shape[-1] differs from the number of ",
                block ? std::string(is_by_rows(layout) ? "row" : "column") + " blocks" : major, " + 1 (=", n_major + 1, "), but got ", pointers.size(-1));
  CRESSET_CHECK(plain.size(-1) == nnz, q, ".shape[-1] must be equal to nnz (=", nnz, ") as defined by values.shape[", batch, "], but got ", plain.size(-1));
  for (int64_t d = 0; d < dense; d++)
    CRESSET_CHECK(values.size(batch + 1 + block + d) == size[static_cast<size_t>(batch + 2 + d)], "values.shape[", batch + 1 + block + d,
                  "] (=", values.size(batch + 1 + block + d), ") must be equal to tensor shape[", batch + 2 + d,
                  "] (=", size[static_cast<size_t>(batch + 2 + d)], ")");
  for (const auto& [name, indices] : {std::pair(p, pointers), std::pair(q, plain)})
    CRESSET_CHECK(indices.dim() == 0 || indices.size(-1) <= 1 || indices.stride(-1) == 1, name, ": expected a contiguous tensor per batch, got strides ",
                  indices.strides());
  CRESSET_CHECK(pointers.scalar_type() == plain.scalar_type(), p, " and ", q, " must have the same dtype, got ", pointers.scalar_type(), " and ",
                plain.scalar_type(), ", respectively");
  CRESSET_CHECK(pointers.scalar_type() == kLong || pointers.scalar_type() == kInt, p, " and ", q, " must be an int32 or int64 type, but got ",
                pointers.scalar_type());
  if (pointers.lacks_data() || plain.lacks_data()) return;
  const Tensor dense_pointers = pointers.contiguous(), dense_plain = plain.contiguous();
  const char* minor = is_by_rows(layout) ? (block ? "ncolblocks" : "ncols") : (block ? "nrowblocks" : "nrows");
  const char* majors = is_by_rows(layout) ? (block ? "nrowblocks" : "nrows") : (block ? "ncolblocks" : "ncols");
  using kernels::PointerFault;
  switch (kernels::check_pointers(dense_pointers.data_ptr(), dense_plain.data_ptr(), pointers.scalar_type(), product(batch_sizes), n_major, n_minor, nnz)) {
    case PointerFault::none: return;
    case PointerFault::first: CRESSET_CHECK(false, "`", p, "[..., 0] == 0` is not satisfied."); break;
    case PointerFault::last: CRESSET_CHECK(false, p, "[..., -1] differs from nnz"); break;
    case PointerFault::steps:
    case PointerFault::crowded: CRESSET_CHECK(false, "`0 <= ", p, "[..., 1:] - ", p, "[..., :-1] <= ", minor, "` is not satisfied."); break;
    case PointerFault::range: CRESSET_CHECK(false, "`0 <= ", q, " < ", minor, "` is not satisfied."); break;
    case PointerFault::order:
      CRESSET_CHECK(false, q, "[..., ", p, "[..., i - 1]:", p, "[..., i]] for all i = 1, ..., ", majors, " are unsorted or repeated along the last dimension");
  }
}

Tensor sparse_compressed_tensor(const Tensor& a, const Tensor& b, const Tensor& values, IntArrayRef size, const TensorOptions& options) {
  return make("sparse_compressed_tensor", a, b, values, size, options, std::nullopt);
}
Tensor sparse_compressed_tensor(const Tensor& a, const Tensor& b, const Tensor& values, const TensorOptions& options) {
  return make("sparse_compressed_tensor", a, b, values, options, std::nullopt);
}

#define CRESSET_SPARSE_FACTORIES(name, layout_)                                                                                                   \
  Tensor sparse_##name##_tensor(const Tensor& a, const Tensor& b, const Tensor& values, IntArrayRef size, const TensorOptions& options) {         \
    return make("sparse_" #name "_tensor", a, b, values, size, options, Layout::layout_);                                                         \
  }                                                                                                                                               \
  Tensor sparse_##name##_tensor(const Tensor& a, const Tensor& b, const Tensor& values, const TensorOptions& options) {                           \
    return make("sparse_" #name "_tensor", a, b, values, options, Layout::layout_);                                                               \
  }                                                                                                                                               \
  Tensor _sparse_##name##_tensor_unsafe(const Tensor& a, const Tensor& b, const Tensor& values, IntArrayRef size, const TensorOptions& options) { \
    return cresset::_sparse_compressed_tensor_unsafe(a, b, values, size, laid_out("sparse_" #name "_tensor", options, Layout::layout_));          \
  }
CRESSET_SPARSE_FACTORIES(csr, SparseCsr)
CRESSET_SPARSE_FACTORIES(csc, SparseCsc)
CRESSET_SPARSE_FACTORIES(bsr, SparseBsr)
CRESSET_SPARSE_FACTORIES(bsc, SparseBsc)
#undef CRESSET_SPARSE_FACTORIES

int64_t sparse_dim(const Tensor& self) { return cresset::is_sparse(self.layout()) ? sparse_parts(self).sparse_dim : 0; }
int64_t dense_dim(const Tensor& self) { return cresset::is_sparse(self.layout()) ? sparse_parts(self).dense_dim : self.dim(); }
int64_t _dimI(const Tensor& self) { return coo_parts("_dimI", self).sparse_dim; }
int64_t _dimV(const Tensor& self) { return coo_parts("_dimV", self).dense_dim; }
int64_t _nnz(const Tensor& self) {
  CRESSET_CHECK_NOT_IMPLEMENTED(cresset::is_sparse(self.layout()), "Could not run 'aten::_nnz' with arguments from the 'CPU' backend; the operator is ",
                                "registered for: SparseCPU, SparseCsrCPU");
  check_count("_nnz", self);
  return sparse_parts(self).nnz();
}
bool is_coalesced(const Tensor& self) { return coo_parts("is_coalesced", self).coalesced; }

Tensor& _coalesced_(Tensor& self, bool coalesced) {
  const SparseParts& p = coo_parts("_coalesced_", self);
  auto parts = make_intrusive<SparseParts>(p);
  parts->coalesced = coalesced;
  self.impl()->set_parts(std::move(parts));
  self.impl()->bump_version();
  return self;
}

Tensor coalesce(const Tensor& self) { return coo_parts("coalesce", self).coalesced ? self : cresset::_coalesce(self); }

// The values of equal positions are added one after the other.
Tensor coalesce_values(const Tensor& self) {
  const SparseParts& p = coo_parts("coalesce", self);
  const IntArrayRef sizes = first(self.sizes(), p.sparse_dim);
  const Tensor pattern = sparse::coalesced(self), unique = flat_positions(sparse_parts(pattern).indices, sizes);
  DimVector shape(p.values.sizes());
  shape[0] = unique.numel();
  const Tensor at = cresset::searchsorted(unique, flat_positions(p.indices, sizes));
  return sparse::with_values(pattern, cresset::zeros(shape, p.values.options()).index_add(0, at, p.values));
}

Tensor indices(const Tensor& self) {
  const SparseParts& p = coo_parts("indices", self);
  CRESSET_CHECK(p.coalesced, "indices: the tensor is not coalesced, call coalesce() before");
  return part("indices", self, p.indices);
}
Tensor _indices(const Tensor& self) { return part("_indices", self, coo_parts("_indices", self).indices); }
Tensor _values(const Tensor& self) { return part("_values", self, coo_parts("_values", self).values); }
Tensor crow_indices(const Tensor& self) { return part("crow_indices", self, compressed_parts("crow_indices", self, true).indices); }
Tensor col_indices(const Tensor& self) { return part("col_indices", self, compressed_parts("col_indices", self, true).plain); }
Tensor ccol_indices(const Tensor& self) { return part("ccol_indices", self, compressed_parts("ccol_indices", self, false).indices); }
Tensor row_indices(const Tensor& self) { return part("row_indices", self, compressed_parts("row_indices", self, false).plain); }

Tensor& sparse_resize_(Tensor& self, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  const SparseParts& p = coo_parts("sparse_resize_", self);
  self.impl()->check_writable();
  CRESSET_CHECK(sparse_dim + dense_dim == static_cast<int64_t>(size.size()), "size does not have sparse_dim + dense_dim entries: len(size) = ", size.size(),
                ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  check_size("sparse_resize_", size);
  if (p.nnz() == 0) return composite::sparse_resize_and_clear_(self, size, sparse_dim, dense_dim);
  CRESSET_CHECK(sparse_dim == p.sparse_dim && dense_dim == p.dense_dim, "changing the number of sparse or dense dimensions (from ", p.sparse_dim, " and ",
                p.dense_dim, " to ", sparse_dim, " and ", dense_dim, ") of a sparse tensor with elements would lose some");
  for (size_t d = 0; d < size.size(); d++)
    CRESSET_CHECK(size[d] >= self.sizes()[d], "shrinking the size of ", d < static_cast<size_t>(sparse_dim) ? "sparse" : "dense", " dimensions (from ",
                  self.sizes(), " to ", size, ") of a sparse tensor with elements would lose some");
  Tensor values = p.values;
  if (behind(size, sparse_dim) != behind(self.sizes(), sparse_dim)) {
    values = cresset::zeros(joined({p.nnz()}, behind(size, sparse_dim)), p.values.options());
    Tensor part = values;
    for (int64_t d = 1; d < values.dim(); d++) part = part.narrow(d, 0, p.values.size(d));
    part.copy_(p.values);
  }
  take_parts(self, make_coo(size, p.indices, values, p.coalesced));
  self.impl()->bump_version();
  return self;
}

Tensor& sparse_resize_and_clear_(Tensor& self, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  coo_parts("sparse_resize_and_clear_", self);
  self.impl()->check_writable();
  CRESSET_CHECK(sparse_dim + dense_dim == static_cast<int64_t>(size.size()), "size does not have sparse_dim + dense_dim entries: len(size) = ", size.size(),
                ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  take_parts(self, sparse::empty_of(size, self.options(), dense_dim));
  self.impl()->bump_version();
  return self;
}

Tensor& resize_as_sparse_(Tensor& self, const Tensor& the_template) {
  const SparseParts& p = coo_parts("resize_as_sparse_", the_template);
  return self.sizes() == the_template.sizes() ? self : self.sparse_resize_(the_template.sizes(), p.sparse_dim, p.dense_dim);
}

Tensor& copy_sparse_to_sparse_(Tensor& self, const Tensor& src, bool non_blocking) { return self.copy_(src, non_blocking); }

}  // namespace composite

}  // namespace cresset::ops
