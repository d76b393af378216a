#include "cresset/autograd/batched.h"

#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

bool has_level(const Tensor& t, uint64_t level) {
  for (const BatchedImpl* b = as_batched(t); b && b->level() >= level; b = as_batched(b->value()))
    if (b->level() == level) return true;
  return false;
}

Tensor without_level(const Tensor& t, uint64_t level, int64_t size, int64_t dim) {
  const BatchedImpl* b = as_batched(t);
  if (!b || b->level() < level) {
    DimVector sizes(t.sizes());
    sizes.insert(sizes.begin() + dim, size);
    return t.unsqueeze(dim).expand(sizes);
  }
  if (b->level() == level) return b->batch_dim() == dim ? b->value() : b->value().movedim(b->batch_dim(), dim);
  const Tensor inner = make_batched(without_level(b->value(), level, size, 0), b->batch_dim() + 1, b->level());
  return dim == 0 ? inner : inner.movedim(0, dim);
}

Tensor with_level(const Tensor& t, uint64_t level, int64_t dim) {
  const BatchedImpl* b = as_batched(t);
  if (!b || b->level() < level) return make_batched(t, dim, level);
  CRESSET_INTERNAL_ASSERT(b->level() > level);
  const int64_t place = dim + (dim >= b->batch_dim());
  return make_batched(with_level(b->value(), level, place), b->batch_dim() - (place < b->batch_dim()), b->level());
}

Tensor without_levels_of(const Tensor& t, const Tensor& like) {
  Tensor out = t;
  for (const BatchedImpl* b = as_batched(like); b; b = as_batched(b->value())) out = without_level(out, b->level(), b->batch_size(), b->batch_dim());
  return out;
}

Tensor with_levels_of(const Tensor& t, const Tensor& like) {
  const BatchedImpl* b = as_batched(like);
  return b ? with_level(with_levels_of(t, b->value()), b->level(), b->batch_dim()) : t;
}

Tensor batched_as(const Tensor& t, const Tensor& like) {
  Tensor out = t;
  for (const BatchedImpl* b = as_batched(like); b; b = as_batched(b->value()))
    if (!has_level(out, b->level())) out = with_level(without_level(out, b->level(), b->batch_size(), 0), b->level(), 0);
  return out;
}

void check_batched_as(const char* op, const variable_list& outputs, const Tensor& input) {
  for (const Tensor& t : outputs)
    for (const BatchedImpl* b = as_batched(t); b; b = as_batched(b->value()))
      CRESSET_CHECK(has_level(input, b->level()), op, ": an input is the same for the whole batch under vmap while a result is not; use ",
                    "func.grad, func.vjp or func.jacrev, which differentiate for each element of the batch");
}

}  // namespace autograd
}  // namespace cresset
