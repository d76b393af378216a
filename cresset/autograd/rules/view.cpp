#include "cresset/autograd/rules/rules.h"

#include <algorithm>
#include <limits>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/batched.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/batched.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::autograd::rules {

using ops::wrap_dim;

Tensor permute_backward(const Tensor& grad, IntArrayRef dims) {
  const int64_t n = static_cast<int64_t>(dims.size());
  DimVector inverse(dims.size());
  for (int64_t i = 0; i < n; i++) inverse[wrap_dim(dims[i], n)] = i;
  return grad.permute(inverse);
}

namespace {

Tensor plain_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index) {
  // The parts of a sparse tensor are no views of it that could be written through.
  if (grad.layout() != Layout::Strided) return plain_select_backward(grad.to_dense(), sizes, dim, index);
  Tensor full = ops::zeros_for(grad, sizes);
  full.select(dim, index).copy_(grad);
  return full;
}
Tensor plain_slice_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t start, int64_t end, int64_t step) {
  Tensor full = ops::zeros_for(grad, sizes);
  full.slice(dim, start, end, step).copy_(grad);
  return full;
}
Tensor plain_diagonal_backward(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor full = ops::zeros_for(grad, sizes);
  full.diagonal(offset, dim1, dim2).copy_(grad);
  return full;
}

// These steps are operators for programs that listen; they have no gradients of their own.
using Step4 = Tensor(const Tensor&, IntArrayRef, int64_t, int64_t);
using Step5 = Tensor(const Tensor&, IntArrayRef, int64_t, int64_t, int64_t);
using Step6 = Tensor(const Tensor&, IntArrayRef, int64_t, int64_t, int64_t, int64_t);
const dispatch::Op<Step4> kSelectBackward("select_backward", "select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor", 0, nullptr,
                                          &plain_select_backward, &plain_select_backward, nullptr, nullptr);
const dispatch::Op<Step6> kSliceBackward("slice_backward",
                                         "slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor", 0, nullptr,
                                         &plain_slice_backward, &plain_slice_backward, nullptr, nullptr);
const dispatch::Op<Step5> kDiagonalBackward("diagonal_backward",
                                            "diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor", 0, nullptr,
                                            &plain_diagonal_backward, &plain_diagonal_backward, nullptr, nullptr);

template <class R, class... A> R step(const dispatch::Op<R(const Tensor&, A...)>& op, R (*plain)(const Tensor&, A...), const Tensor& grad, A... args) {
  const bool heard = CRESSET_UNLIKELY(dispatch::is_listening()) && !(GradMode::is_enabled() && grad.requires_grad()) &&
                     !(grad.impl()->layers() & ~(kAutogradLayer | kLazyMathLayer));
  return heard ? dispatch::call(op, dispatch::key_of(grad), grad, args...) : plain(grad, args...);
}

}  // namespace

Tensor select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index) {
  return step<Tensor, IntArrayRef, int64_t, int64_t>(kSelectBackward, &plain_select_backward, grad, sizes, dim, index);
}

Tensor slice_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step_size) {
  return step<Tensor, IntArrayRef, int64_t, int64_t, int64_t, int64_t>(kSliceBackward, &plain_slice_backward, grad, sizes, dim, start.value_or(0),
                                                                       end.value_or(std::numeric_limits<int64_t>::max()), step_size);
}

Tensor narrow_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t start, int64_t length) {
  return slice_backward(grad, sizes, dim, start, start + length, 1);
}

namespace {

Tensor given_or_zeros(const Tensor& grad, IntArrayRef sizes, const TensorOptions& options) { return grad.defined() ? grad : cresset::zeros(sizes, options); }

}  // namespace

Tensor split_with_sizes_backward(const std::vector<Tensor>& grads, IntArrayRef sizes, const TensorOptions& options, IntArrayRef split_sizes, int64_t dim) {
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  DimVector shape(sizes);
  std::vector<Tensor> parts;
  parts.reserve(grads.size());
  for (size_t i = 0; i < grads.size(); i++) {
    shape[static_cast<size_t>(d)] = split_sizes[i];
    parts.push_back(given_or_zeros(grads[i], shape, options));
  }
  return cresset::cat(parts, d);
}

Tensor split_backward(const std::vector<Tensor>& grads, IntArrayRef sizes, const TensorOptions& options, int64_t split_size, int64_t dim) {
  const int64_t n = sizes[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())))];
  DimVector split_sizes(grads.size(), split_size);
  split_sizes.back() = n - split_size * (static_cast<int64_t>(grads.size()) - 1);
  return split_with_sizes_backward(grads, sizes, options, split_sizes, dim);
}

Tensor unbind_backward(const std::vector<Tensor>& grads, IntArrayRef sizes, const TensorOptions& options, int64_t dim) {
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  DimVector shape(sizes);
  shape.erase(shape.begin() + d);
  std::vector<Tensor> parts;
  parts.reserve(grads.size());
  for (const Tensor& g : grads) parts.push_back(given_or_zeros(g, shape, options));
  return cresset::stack(parts, d);
}

Tensor diagonal_backward(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  return step<Tensor, IntArrayRef, int64_t, int64_t, int64_t>(kDiagonalBackward, &plain_diagonal_backward, grad, sizes, offset, dim1, dim2);
}

Tensor unfold_backward(const Tensor& grad, IntArrayRef sizes, int64_t dimension, int64_t size, int64_t step) {
  if (sizes.empty()) return grad.reshape(sizes);
  // Where every window element came from, then one scatter_add along the dimension.
  const int64_t d = wrap_dim(dimension, static_cast<int64_t>(sizes.size())), windows = grad.size(d);
  const Tensor from = (cresset::arange(windows, kLong).mul(step).unsqueeze(1) + cresset::arange(size, kLong)).flatten().to(grad.device());
  const Tensor moved = grad.movedim(-1, d + 1).flatten(d, d + 1);
  return cresset::zeros(sizes, grad.options()).index_add(d, from, moved);
}

// Whether no two elements share a place, as far as the strides tell without a search.
static bool apart(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t d = 0; d < sizes.size(); d++)
    if (sizes[d] != 1) steps.push_back({strides[d], sizes[d]});
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : steps) {
    if (size == 0) return true;
    if (stride <= reach) return false;
    reach += (size - 1) * stride;
  }
  return true;
}

Tensor as_strided_backward(const Tensor& grad, IntArrayRef self_sizes, IntArrayRef self_strides, int64_t self_offset, IntArrayRef size, IntArrayRef stride,
                           std::optional<int64_t> storage_offset) {
  // Both geometries lie in one stretch of storage: add the gradient there, then read the input's part of it.
  const int64_t view_offset = storage_offset.value_or(self_offset), first = std::min(self_offset, view_offset);
  auto reach = [](IntArrayRef sizes, IntArrayRef strides) {
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); d++) last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
    return last + 1;
  };
  auto positions = [&](IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
    Tensor at = cresset::full({}, offset - first, TensorOptions(kLong));
    for (size_t d = 0; d < sizes.size(); d++) {
      DimVector shape(sizes.size(), 1);
      shape[d] = sizes[d];
      at = at + cresset::arange(sizes[d], kLong).mul(strides[d]).view(shape);
    }
    return at.expand(sizes).flatten().to(grad.device());
  };
  const int64_t length = std::max(self_offset + reach(self_sizes, self_strides), view_offset + reach(size, stride)) - first;
  if (!as_batched(grad) && apart(self_sizes, self_strides) && apart(size, stride)) {
    const Tensor whole = grad.new_zeros({length});
    whole.as_strided(size, stride, view_offset - first).copy_(grad);
    return whole.as_strided(self_sizes, self_strides, self_offset - first);
  }
  Tensor flat = cresset::zeros({length}, grad.options()).index_add(0, positions(size, stride, view_offset), grad.expand(size).flatten());
  const Tensor inputs = positions(self_sizes, self_strides, self_offset);
  // An input that overlaps itself shares the gradient of a location among the elements that live there.
  const TensorOptions whole = grad.options().dtype(kLong);
  const Tensor count = cresset::zeros({length}, whole).index_add(0, inputs, cresset::ones({inputs.numel()}, whole));
  flat = flat / count.clamp_min(1);
  return flat.index_select(0, inputs).view(self_sizes);
}

}  // namespace cresset::autograd::rules
