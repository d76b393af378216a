// Rules of copies, fills and of tensors made like others.

#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func::rules {

void copy_in_place(BatchCall& c) {
  check_self_batched(c);
  const Tensor &self = c.tensor(0), &source = c.tensor(1);
  CRESSET_CHECK(source.dim() <= self.dim() || source.numel() == 1, "copy_: output with shape ", self.sizes(), " doesn't match the broadcast shape ",
                source.sizes());
  Tensor from = c.padded(source, self.dim());
  while (from.dim() > self.dim() + 1) from = from.squeeze(1);
  c.front(self).copy_(from, c.arguments[2].to_bool());
  c.give_plain(self);
}

void fill_in_place(BatchCall& c) {
  check_self_batched(c);
  const Tensor &self = c.tensor(0), &value = c.tensor(1);
  CRESSET_CHECK(value.dim() == 0, "fill_: expected a value without dimensions, got one of ", value.dim(), " dimensions.");
  c.front(self).copy_(c.padded(value, self.dim()));
  c.give_plain(self);
}

void change_values(BatchCall& c) {
  Stack values = c.arguments;
  values[0] = c.value(c.tensor(0));
  c.run(std::move(values));
  c.give_plain(c.tensor(0));
}

static bool is_channels_last(const Value& v) {
  return !v.is_none() && v.to_memory_format() != MemoryFormat::Contiguous && v.to_memory_format() != MemoryFormat::Preserve;
}

// Copies, and tensors like another: the format asked for is that of one element.
void like(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  const int format = c.schema.argument_index("memory_format");
  Stack values = c.arguments;
  const Value given = format < 0 ? Value() : values[static_cast<size_t>(format)];
  if (given.is_none() || given.to_memory_format() == MemoryFormat::Preserve) {
    values[0] = c.value(self);
    return c.give(c.run(std::move(values)), c.batch_dim(self));
  }
  if (!is_channels_last(given) || c.size == 0) {
    values[0] = c.front(self);
    values[static_cast<size_t>(format)] = MemoryFormat::Contiguous;
    return c.give(c.run(std::move(values)));
  }
  values[0] = c.front(self).flatten(0, 1);
  const Stack found = c.run(std::move(values));
  c.give(found[0].to_tensor().unflatten(0, {c.size, self.size(0)}));
}

void new_of_size(BatchCall& c) {
  Stack values = c.arguments;
  values[0] = c.value(c.tensor(0));
  std::vector<int64_t> size = c.arguments[1].to_int_list();
  size.insert(size.begin(), c.size);
  values[1] = size;
  c.give(c.run(std::move(values)));
}

void new_strided(BatchCall& c) {
  Stack values = c.arguments;
  values[0] = c.value(c.tensor(0));
  std::vector<int64_t> size = c.arguments[1].to_int_list(), stride = c.arguments[2].to_int_list();
  int64_t span = 1;
  for (size_t d = 0; d < size.size(); d++) span = size[d] == 0 ? 0 : span + (size[d] - 1) * stride[d];
  size.insert(size.begin(), c.size);
  stride.insert(stride.begin(), span);
  values[1] = size;
  values[2] = stride;
  c.give(c.run(std::move(values)));
}

void resize(BatchCall& c) {
  const Tensor& self = c.tensor(0);
  check_self_batched(c);
  CRESSET_CHECK(c.batch_dim(self) == 0, "vmap: resize_ is not supported where the batch is not the first dimension in memory");
  std::vector<int64_t> size = c.arguments[1].to_int_list();
  size.insert(size.begin(), c.size);
  Tensor value = c.value(self);
  value.resize_(size);
  as_batched(self)->adopt(value, 0);
  c.give_plain(self);
}

}  // namespace cresset::func::rules
