#pragma once
// Differentiation of tensors under vmap. The graph and the tangents are those of the values, which hold the whole batch:
// derivatives of different elements do not mix, so the derivative of the values is that of each element. docs/records/0006-vmap.md.

#include "cresset/autograd/node.h"
#include "cresset/core/batched.h"
#include "cresset/dispatch/op.h"

namespace cresset {
namespace autograd {

// Whether a wrapper of this level is among those of `t`.
CRESSET_API bool has_level(const Tensor& t, uint64_t level);
// `t` without its wrapper of `level`: the `size` elements are along dimension `dim`, repeated if `t` is not batched there.
CRESSET_API Tensor without_level(const Tensor& t, uint64_t level, int64_t size, int64_t dim);
// The inverse: dimension `dim` becomes the elements of `level`.
CRESSET_API Tensor with_level(const Tensor& t, uint64_t level, int64_t dim);
// `t` without the levels of `like`, laid out as the value of `like` is; and back.
CRESSET_API Tensor without_levels_of(const Tensor& t, const Tensor& like);
CRESSET_API Tensor with_levels_of(const Tensor& t, const Tensor& like);
// `t` repeated for each level of `like` that it lacks.
CRESSET_API Tensor batched_as(const Tensor& t, const Tensor& like);
// Errors: a result is batched at a level where `input` is not, so that its gradient would be the sum of a batch.
CRESSET_API void check_batched_as(const char* op, const variable_list& outputs, const Tensor& input);

}  // namespace autograd
}  // namespace cresset
