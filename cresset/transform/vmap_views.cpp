// Rules of views: the geometry of one element, with the batch as a dimension before it.

#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func::rules {

// Ops that keep the dimensions.
void same_dims(BatchCall& c) {
  Stack values = c.arguments;
  values[0] = c.value(c.tensor(0));
  c.give(c.run(std::move(values)), c.batch_dim(c.tensor(0)));
}

// Argument `At`, and `And`, name dimensions.
template <size_t At, size_t And> void view_at(BatchCall& c) {
  const int64_t rank = c.tensor(0).dim();
  CRESSET_CHECK_INDEX(rank > 0, c.schema.name, ": a 0-dim tensor has no dimension to choose from");
  Stack values = c.arguments;
  values[0] = c.front(c.tensor(0));
  values[At] = BatchCall::shifted(c.arguments[At].to_int(), rank);
  if (And) values[And] = BatchCall::shifted(c.arguments[And].to_int(), rank);
  c.give(c.run(std::move(values)));
}

void view(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  std::vector<int64_t> size = c.arguments[1].to_int_list();
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < size.size(); d++) {
    if (size[d] == -1) open = static_cast<int64_t>(d);
    else known *= size[d];
  }
  if (open >= 0 && known > 0) {
    CRESSET_CHECK(self.numel() % known == 0, "view: shape '", IntArrayRef(size), "' is invalid for input of size ", self.numel());
    size[static_cast<size_t>(open)] = self.numel() / known;
  }
  size.insert(size.begin(), c.size);
  c.give(c.front(self).view(size));
}

void view_dtype(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  const ScalarType type = c.arguments[1].to_dtype();
  CRESSET_CHECK(self.dim() > 0 || element_size(type) == self.element_size(), "view: a 0-d tensor of dtype ", self.scalar_type(), " cannot be viewed as ", type,
                ", the element sizes differ");
  batch_first(c);
}

void as_strided(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  const Tensor& value = c.value(self);
  std::vector<int64_t> size = c.arguments[1].to_int_list(), stride = c.arguments[2].to_int_list();
  size.insert(size.begin(), c.size);
  stride.insert(stride.begin(), value.stride(c.batch_dim(self)));
  c.give(value.as_strided(size, stride, c.arguments[3].is_none() ? value.storage_offset() : c.arguments[3].to_int()));
}

void permute(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  std::vector<int64_t> dims = c.arguments[1].to_int_list();
  CRESSET_CHECK(static_cast<int64_t>(dims.size()) == self.dim(), "permute: got ", dims.size(), " dimensions for a tensor of ", self.dim());
  for (int64_t& d : dims) d = BatchCall::shifted(d, self.dim());
  dims.insert(dims.begin(), 0);
  c.give(c.front(self).permute(dims));
}

void transpose(BatchCall& c) {
  if (c.tensor(0).dim() > 0) return view_at<1, 2>(c);
  BatchCall::shifted(c.arguments[1].to_int(), 0);
  BatchCall::shifted(c.arguments[2].to_int(), 0);
  c.give(c.front(c.tensor(0)).alias());
}

void t(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  CRESSET_CHECK(self.dim() <= 2, "t: expected at most 2 dimensions, got ", self.dim(), "D");
  c.give(self.dim() < 2 ? c.front(self).alias() : c.front(self).transpose(1, 2));
}

static void squeeze_dims(BatchCall& c, const std::vector<int64_t>& dims) {
  const Tensor& self = c.tensor(0);
  std::vector<int64_t> chosen;
  for (const int64_t d : dims) {
    const int64_t place = BatchCall::shifted(d, self.dim());
    if (self.dim() > 0 && self.size(place - 1) == 1) chosen.push_back(place);
  }
  c.give(chosen.empty() ? c.front(self).alias() : c.front(self).squeeze(chosen));
}
void squeeze(BatchCall& c) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < c.tensor(0).dim(); d++) dims.push_back(d);
  squeeze_dims(c, dims);
}
void squeeze_at(BatchCall& c) { squeeze_dims(c, c.arguments[1].to_int_list()); }

void unsqueeze(BatchCall& c) { c.give(c.front(c.tensor(0)).unsqueeze(BatchCall::shifted(c.arguments[1].to_int(), c.tensor(0).dim() + 1))); }

void expand(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  std::vector<int64_t> size = c.arguments[1].to_int_list();
  CRESSET_CHECK(static_cast<int64_t>(size.size()) >= self.dim(), "expand: got fewer sizes (", size.size(), ") than the tensor has dimensions (", self.dim(),
                ")");
  const Tensor from = c.padded(self, static_cast<int64_t>(size.size()));
  size.insert(size.begin(), c.size);
  c.give(from.expand(size, c.arguments[2].to_bool()));
}

void unfold(BatchCall& c) {
  if (c.tensor(0).dim() > 0) return view_at<1>(c);
  const int64_t dim = BatchCall::shifted(c.arguments[1].to_int(), 0);
  c.give(c.front(c.tensor(0)).unsqueeze(1).unfold(dim, c.arguments[2].to_int(), c.arguments[3].to_int()).squeeze(1));
}

template void view_at<1>(BatchCall& c);
template void view_at<2>(BatchCall& c);
template void view_at<2, 3>(BatchCall& c);

}  // namespace cresset::func::rules
