// Rules of joining, of gathering and scattering, and of indices.

#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func::rules {

void cat(BatchCall& c) {
  const std::vector<Tensor> tensors = c.arguments[0].to_tensor_list();
  int64_t rank = -1;
  for (const Tensor& t : tensors)
    if (t.dim() != 1 || t.size(0) != 0) rank = t.dim();
  std::vector<Tensor> parts;
  // Vectors without elements stand beside anything, as ever.
  for (const Tensor& t : tensors)
    if (rank < 0 || t.dim() == rank) parts.push_back(c.spread(t));
  CRESSET_CHECK(rank != 0, "cat: zero-dimensional tensor cannot be concatenated");
  Stack values{parts, BatchCall::shifted(c.arguments[1].to_int(), std::max<int64_t>(rank, 1))};
  c.give(c.run(std::move(values)));
}

// Tensors of one rank and a dimension as argument 1: gather, scatter and their like.
void along_dim(BatchCall& c) {
  const int64_t rank = c.tensor(0).dim();
  Stack values;
  for (const Value& v : c.arguments)
    values.push_back(dispatch::map_tensors(v, [&](const Tensor& t) { return t.dim() == 0 ? c.spread(t).unsqueeze(1) : c.spread(t); }));
  values[1] = BatchCall::shifted(c.arguments[1].to_int(), rank);
  const Tensor found = c.run(std::move(values))[0].to_tensor();
  const bool number = (c.schema.name == "gather" ? c.tensor(2).dim() : rank) == 0;
  c.give(number ? found.squeeze(1) : found);
}

// `index` (batch, k) in the shape of a tensor of `sizes` with k numbers along `dim`, repeated.
static Tensor index_like(const Tensor& index, IntArrayRef sizes, int64_t dim) {
  DimVector shape(sizes.size(), 1), full(sizes);
  shape[0] = index.size(0);
  shape[static_cast<size_t>(dim)] = full[static_cast<size_t>(dim)] = index.size(1);
  return index.view(shape).expand(full);
}

static Tensor flat_index(const BatchCall& c, const Tensor& index) {
  CRESSET_CHECK_INDEX(index.dim() <= 1, c.schema.name, ": index is supposed to be a vector, got shape ", index.sizes());
  const Tensor all = c.spread(index);
  return (index.dim() == 0 ? all.unsqueeze(1) : all).to(kLong);
}

void index_select(BatchCall& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  const int64_t dim = BatchCall::shifted(c.arguments[1].to_int(), self.dim());
  if (!c.batched(index)) {
    const Tensor all = self.dim() == 0 ? c.front(self).unsqueeze(1) : c.front(self);
    const Tensor found = cresset::index_select(all, dim, index);
    return c.give(self.dim() == 0 ? found.squeeze(1) : found);
  }
  const Tensor at = flat_index(c, index);
  if (!c.batched(self) && self.dim() > 0) return c.give(cresset::index_select(self, dim - 1, at.flatten()).unflatten(dim - 1, {c.size, at.size(1)}), dim - 1);
  const Tensor all = self.dim() == 0 ? c.spread(self).unsqueeze(1) : c.spread(self);
  const Tensor found = cresset::gather(all, dim, index_like(at, all.sizes(), dim));
  c.give(self.dim() == 0 ? found.squeeze(1) : found);
}

// index_add, index_copy, index_fill: the same places for all elements.
void index_change(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  const int64_t rank = self.dim();
  if (rank == 0) return run_by_element(c);
  const int64_t dim = BatchCall::shifted(c.arguments[1].to_int(), rank);
  const bool has_source = c.arguments[3].is_tensor();
  if (has_source && c.tensor(3).dim() != rank) return run_by_element(c);
  if (!c.batched(2)) {
    Stack values = c.arguments;
    values[0] = c.spread(self);
    values[1] = dim;
    if (has_source) values[3] = c.spread(c.tensor(3));
    return c.give(c.run(std::move(values)));
  }
  if (c.schema.name != "index_add") return run_by_element(c);
  const Tensor source = c.spread(c.tensor(3)), alpha = c.arguments[4].to_scalar().is(1) ? source : source * c.arguments[4].to_scalar();
  c.give(cresset::scatter_add(c.spread(self), dim, index_like(flat_index(c, c.tensor(2)), source.sizes(), dim), alpha));
}

void take(BatchCall& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(1);
  const Tensor all = (self.dim() == 0 ? c.spread(self).unsqueeze(1) : c.spread(self)).flatten(1);
  const int64_t n = all.size(1);
  const Tensor at = (index.dim() == 0 ? c.spread(index).unsqueeze(1) : c.spread(index)).flatten(1);
  const Tensor found = cresset::gather(all, 1, cresset::where(at < 0, at + n, at));
  DimVector sizes(index.sizes());
  sizes.insert(sizes.begin(), c.size);
  c.give(found.view(sizes));
}

// ---- indices ------------------------------------------------------------------------------------------------------------

namespace {
struct Indices {
  std::vector<std::optional<Tensor>> at;  // one for each dimension that an index is for; masks as positions
  int64_t rank = 0;                       // of the broadcast indices
  bool batched = false, adjacent = true;
  int64_t first = 0;  // position of the first index
  int64_t taken = 0;  // how many dimensions are indexed
};
}  // namespace

static bool is_mask(const Tensor& t) { return t.scalar_type() == kBool || t.scalar_type() == kByte; }

static Indices read_indices(const BatchCall& c, const std::vector<std::optional<Tensor>>& given) {
  Indices found;
  for (const auto& i : given) {
    if (!i || !i->defined()) {
      found.at.emplace_back();
      continue;
    }
    if (!is_mask(*i)) {
      found.at.emplace_back(i);
      continue;
    }
    CRESSET_CHECK(!c.batched(*i), "vmap: the shape of the result would depend on data, which batching does not allow, in ", "indexing with a boolean mask.");
    if (i->dim() == 0) {
      found.at.clear();
      return found;
    }
    for (const Tensor& positions : i->nonzero().unbind(1)) found.at.emplace_back(positions);
  }
  bool gap = false;
  for (size_t d = 0; d < found.at.size(); d++) {
    if (!found.at[d]) {
      gap = gap || found.taken > 0;
      continue;
    }
    if (found.taken == 0) found.first = static_cast<int64_t>(d);
    found.adjacent = found.adjacent && !gap;
    found.taken++;
    found.rank = std::max(found.rank, found.at[d]->dim());
    found.batched = found.batched || c.batched(*found.at[d]);
  }
  return found;
}

// The indices for the values: the batch of self is a further dimension before them, indexed by position where indices are batched.
static std::vector<std::optional<Tensor>> physical_indices(const BatchCall& c, const Indices& indices, bool self_batched) {
  std::vector<std::optional<Tensor>> at;
  if (self_batched) {
    at.emplace_back();
    if (indices.batched) {
      DimVector shape(static_cast<size_t>(indices.rank) + 1, 1);
      shape[0] = c.size;
      at[0] = cresset::arange(c.size, TensorOptions(kLong)).view(shape);
    }
  }
  for (const auto& i : indices.at) at.push_back(i ? std::optional<Tensor>(indices.batched ? c.padded(*i, indices.rank) : *i) : i);
  return at;
}

void index(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  const Indices indices = read_indices(c, c.arguments[1].to_optional_tensor_list());
  if (indices.taken == 0) return run_by_element(c);
  const bool self_batched = c.batched(self);
  const Tensor found = cresset::index(c.front(self), physical_indices(c, indices, self_batched));
  if (!indices.batched) return c.give(found, indices.adjacent ? 0 : indices.rank);
  // The batch is the first of the dimensions of the indices.
  if (!self_batched) return c.give(found, indices.adjacent ? indices.first : 0);
  if (!indices.adjacent || indices.first == 0) return c.give(found);
  // The position of the batch stands apart from the others, so that all indexed dimensions have come first.
  std::vector<int64_t> from, to;
  for (int64_t d = 0; d < indices.rank; d++) {
    from.push_back(1 + d);
    to.push_back(1 + indices.first + d);
  }
  c.give(from.empty() ? found : found.movedim(from, to));
}

// The shape of one element's part that is indexed.
static DimVector indexed_shape(const Tensor& self, const Indices& indices) {
  DimVector broadcast(static_cast<size_t>(indices.rank), 1), shape;
  for (const auto& i : indices.at)
    for (int64_t d = 0; i && d < i->dim(); d++) {
      int64_t& n = broadcast[static_cast<size_t>(indices.rank - i->dim() + d)];
      if (i->size(d) != 1) n = i->size(d);
    }
  auto add_index = [&] { shape.append(broadcast.begin(), broadcast.end()); };
  if (!indices.adjacent) add_index();
  for (int64_t d = 0; d < self.dim(); d++) {
    const bool is_indexed = d < static_cast<int64_t>(indices.at.size()) && indices.at[static_cast<size_t>(d)];
    if (indices.adjacent && d == indices.first) add_index();
    if (!is_indexed) shape.push_back(self.size(d));
  }
  return shape;
}

void index_put(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  const Tensor& value = c.tensor(2);
  const bool accumulate = c.arguments[3].to_bool();
  const std::vector<std::optional<Tensor>> given = c.arguments[1].to_optional_tensor_list();
  if (given.size() == 1 && given[0] && is_mask(*given[0]) && c.batched(*given[0]) && value.numel() == 1 && !accumulate) {
    // One number for a mask of each element.
    Tensor mask = c.front(*given[0]).to(kBool);
    const Tensor all = c.spread(self);
    while (mask.dim() < all.dim()) mask = mask.unsqueeze(-1);
    Tensor number = c.spread(value);
    while (number.dim() > 1) number = number.squeeze(1);
    while (number.dim() < all.dim()) number = number.unsqueeze(1);
    return c.give(cresset::where(mask, number.to(self.scalar_type()), all));
  }
  const Indices indices = read_indices(c, given);
  if (indices.taken == 0) return run_by_element(c);
  DimVector shape = indexed_shape(self, indices);
  CRESSET_CHECK(value.dim() <= static_cast<int64_t>(shape.size()), "index_put: shape mismatch: value tensor of shape ", value.sizes(),
                " does not broadcast to the indexed places of shape ", IntArrayRef(shape));
  shape.insert(shape.begin(), c.size);
  Tensor put = c.padded_spread(value, static_cast<int64_t>(shape.size()) - 1).expand(shape);
  std::vector<int64_t> from, to;
  if (!indices.batched) {
    // Apart from each other, the indices come before the batch.
    if (!indices.adjacent) put = put.movedim(0, indices.rank);
  } else if (indices.adjacent && indices.first > 0) {
    for (int64_t d = 0; d < indices.rank; d++) {
      from.push_back(1 + indices.first + d);
      to.push_back(1 + d);
    }
    if (!from.empty()) put = put.movedim(from, to);
  }
  c.give(cresset::index_put(c.spread(self), physical_indices(c, indices, true), put, accumulate));
}

void index_put_in_place(BatchCall& c) {
  check_self_batched(c);
  const Tensor self = c.tensor(0);
  index_put(c);
  const Tensor changed = c.results[0].to_tensor();
  c.results.clear();
  c.front(self).copy_(c.front(changed));
  c.give_plain(self);
}

void searchsorted(BatchCall& c) {
  const Tensor &sequence = c.tensor(0), &self = c.tensor(1);
  if (sequence.dim() == 0 || (sequence.dim() > 1 && self.dim() != sequence.dim())) return run_by_element(c);
  Stack values = c.arguments;
  if (!c.batched(0) && sequence.dim() == 1 && c.arguments[5].is_none()) {
    values[1] = c.front(self);
    return c.give(c.run(std::move(values)));
  }
  if (sequence.dim() == 1) {
    const Tensor all = c.spread(self);
    values[0] = c.spread(sequence);
    values[1] = all.reshape({c.size, self.numel()});
    if (!c.arguments[5].is_none()) values[5] = c.spread(c.tensor(5));
    return c.give(c.run(std::move(values))[0].to_tensor().view(all.sizes()));
  }
  for (const size_t i : {0, 1}) values[i] = c.spread(c.tensor(i));
  if (!c.arguments[5].is_none()) values[5] = c.spread(c.tensor(5));
  c.give(c.run(std::move(values)));
}

void embedding(BatchCall& c) {
  const Tensor &weight = c.tensor(0), &indices = c.tensor(1);
  if (!c.batched(weight)) {
    Stack values = c.arguments;
    values[1] = c.front(indices);
    return c.give(c.run(std::move(values)));
  }
  const bool scales = c.arguments[3].to_bool() || c.arguments[2].to_int() >= 0;
  if (scales || weight.dim() != 2) return run_by_element(c);
  const Tensor all = c.front(weight), at = c.spread(indices);
  DimVector shape(static_cast<size_t>(at.dim()), 1);
  shape[0] = c.size;
  const Tensor from = cresset::arange(c.size, TensorOptions(kLong)).view(shape) * weight.size(0);
  c.give(cresset::embedding(all.flatten(0, 1), at + from));
}

}  // namespace cresset::func::rules
