// Rules of operators along dimensions: reductions, scans, sorts, softmax, transforms of signals.

#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func::rules {

// The batch first; a number as a vector of one.
static Tensor with_a_dim(const BatchCall& c, const Tensor& t) {
  const Tensor all = c.spread(t);
  return t.dim() == 0 ? all.unsqueeze(1) : all;
}

// Results of a number stay numbers.
static void give_like(BatchCall& c, Stack found, bool number) {
  if (number)
    for (Value& v : found) v = dispatch::map_tensors(v, [](const Tensor& t) { return t.dim() == 2 ? t.squeeze(1) : t; });
  c.give(found);
}

static std::vector<int64_t> all_dims(int64_t rank) {
  std::vector<int64_t> dims;
  for (int64_t d = 1; d <= std::max<int64_t>(rank, 1); d++) dims.push_back(d);
  return dims;
}

// Argument At lists dimensions: none, and where EmptyIsAll an empty list, stand for all of them.
template <size_t At, bool EmptyIsAll> void dims_at(BatchCall& c) {
  const int64_t rank = c.tensor(0).dim();
  const Value& given = c.arguments[At];
  std::vector<int64_t> dims;
  if (!given.is_none()) dims = given.to_int_list();
  if (given.is_none() || (EmptyIsAll && dims.empty())) {
    dims = all_dims(rank);
  } else {
    for (int64_t& d : dims) d = BatchCall::shifted(d, rank);
  }
  Stack values = c.arguments;
  values[0] = with_a_dim(c, c.tensor(0));
  values[At] = dims;
  give_like(c, c.run(std::move(values)), rank == 0);
}

// Argument At is one dimension; the first Tensors arguments are tensors of one shape.
template <size_t At, size_t Tensors> void dim_at(BatchCall& c) {
  const int64_t rank = c.tensor(0).dim();
  Stack values = c.arguments;
  for (size_t i = 0; i < Tensors; i++) values[i] = with_a_dim(c, c.tensor(i));
  values[At] = BatchCall::shifted(c.arguments[At].to_int(), rank);
  give_like(c, c.run(std::move(values)), rank == 0);
}

static Tensor flat(const BatchCall& c) { return with_a_dim(c, c.tensor(0)).flatten(1); }

void argmax(BatchCall& c) {
  if (!c.arguments[1].is_none()) return dim_at<1>(c);
  const Tensor& self = c.tensor(0);
  Stack values{flat(c), int64_t{1}, false};
  const Tensor found = c.run(std::move(values))[0].to_tensor();
  if (!c.arguments[2].to_bool()) return c.give(found);
  DimVector sizes(static_cast<size_t>(self.dim()) + 1, 1);
  sizes[0] = c.size;
  c.give(found.view(sizes));
}

void prod(BatchCall& c) {
  std::optional<ScalarType> dtype;
  if (!c.arguments[1].is_none()) dtype = c.arguments[1].to_dtype();
  c.give(flat(c).prod(1, false, dtype));
}
void largest(BatchCall& c) { c.give(flat(c).amax(1)); }
void smallest(BatchCall& c) { c.give(flat(c).amin(1)); }

void batch_first(BatchCall& c) {
  Stack values = c.arguments;
  values[0] = c.front(c.tensor(0));
  c.give(c.run(std::move(values)));
}

void roll(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  std::vector<int64_t> dims = c.arguments[2].to_int_list();
  if (dims.empty()) {
    const Tensor all = c.front(self);
    return c.give(self.dim() == 0 ? all.clone() : all.flatten(1).roll(c.arguments[1].to_int_list(), 1).view(all.sizes()));
  }
  for (int64_t& d : dims) d = BatchCall::shifted(d, self.dim());
  c.give(c.front(self).roll(c.arguments[1].to_int_list(), dims));
}

void triangle(BatchCall& c) {
  CRESSET_CHECK(c.tensor(0).dim() >= 2, c.schema.name, ": input tensor must have at least 2 dimensions, got ", c.tensor(0).dim());
  batch_first(c);
}

void repeat(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  std::vector<int64_t> times = c.arguments[1].to_int_list();
  CRESSET_CHECK(static_cast<int64_t>(times.size()) >= self.dim(), "repeat: expected at least a number for each dimension, got ", times.size(), " and ",
                self.dim());
  const Tensor all = c.padded(self, static_cast<int64_t>(times.size()));
  times.insert(times.begin(), 1);
  c.give(all.repeat(times));
}

template void dims_at<1>(BatchCall& c);
template void dims_at<1, false>(BatchCall& c);
template void dims_at<2>(BatchCall& c);
template void dim_at<1>(BatchCall& c);
template void dim_at<2>(BatchCall& c);
template void dim_at<2, 2>(BatchCall& c);

}  // namespace cresset::func::rules
