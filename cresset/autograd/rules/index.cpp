#include "cresset/autograd/rules/rules.h"
#include "cresset/ops/batched.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset::autograd::rules {

using ops::wrap_dim;

Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index, bool sparse_grad) {
  if (sparse_grad && !sizes.empty() && index.dim() > 0) {
    // One position for each element of the index: its own but for `dim`.
    std::vector<Tensor> positions;
    for (int64_t d = 0; d < index.dim(); d++) {
      DimVector shape(static_cast<size_t>(index.dim()), 1);
      shape[static_cast<size_t>(d)] = index.size(d);
      const bool gathered = d == wrap_dim(dim, index.dim());
      positions.push_back((gathered ? index : cresset::arange(index.size(d), index.options()).view(shape).expand(index.sizes())).reshape({-1}));
    }
    return cresset::_sparse_coo_tensor_unsafe(cresset::stack(positions), grad.reshape({-1}), sizes, grad.options().layout(Layout::Sparse));
  }
  return grad.new_zeros(sizes).scatter_add(dim, index, grad);
}

// The source may be larger than the index: the rest of it got nothing.
Tensor scatter_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes) {
  const Tensor taken = grad.gather(dim, index);
  if (taken.sizes() == source_sizes) return taken;
  if (source_sizes.empty()) return taken.reshape(source_sizes);
  Tensor full = ops::zeros_for(grad, source_sizes), part = full;
  for (int64_t d = 0; d < taken.dim(); d++) part = part.narrow(d, 0, taken.size(d));
  part.copy_(taken);
  return full;
}

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  if (sizes.empty()) return grad.reshape({-1}).sum().reshape({});
  const Tensor dense = grad.to_dense();
  return dense.new_zeros(sizes).index_add(dim, index.reshape({-1}), dense);
}

Tensor index_add_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes) {
  return grad.index_select(dim, index.reshape({-1})).reshape(source_sizes);
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, ArrayRef<std::optional<Tensor>> indices) {
  return grad.new_zeros(sizes).index_put(indices, grad, true);
}

Tensor index_put_self_backward(const Tensor& grad, ArrayRef<std::optional<Tensor>> indices, IntArrayRef values_sizes) {
  return grad.index_put(indices, cresset::zeros(values_sizes, grad.options()));
}

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<DimVector>& sizes, int64_t dim) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const DimVector& s : sizes) {
    if (s.size() == 1 && s[0] == 0) {
      parts.push_back(cresset::zeros({0}, grad.options()));
      continue;
    }
    const int64_t d = wrap_dim(dim, grad.dim());
    parts.push_back(grad.layout() == Layout::Strided ? grad.narrow(d, at, s[d]) : grad.narrow_copy(d, at, s[d]));
    at += s[d];
  }
  return parts;
}

Tensor roll_backward(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims) {
  DimVector back;
  for (const int64_t s : shifts) back.push_back(-s);
  return grad.roll(back, dims);
}

Tensor repeat_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef repeats) {
  // Every repeated dimension becomes (repeats, size), and the repeats are summed.
  const size_t lead = repeats.size() - sizes.size();
  DimVector shape, summed;
  for (size_t d = 0; d < repeats.size(); d++) {
    if (repeats[d] == 0) return cresset::zeros(sizes, grad.options());
    if (d < lead || repeats[d] != 1) {
      summed.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(repeats[d]);
    }
    if (d >= lead) shape.push_back(sizes[d - lead]);
  }
  return summed.empty() ? grad : grad.reshape(shape).sum(summed);
}

Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!scale_grad_by_freq, "embedding: double backward is not defined with scale_grad_by_freq");
  DimVector shape(indices.sizes());
  shape.push_back(grad.size(1));
  const Tensor rows = grad.index_select(0, indices.reshape({-1})).view(shape);
  return padding_idx < 0 ? rows : rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0);
}

Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask) {
  const Tensor flat = mask.expand(sizes).reshape({-1}).nonzero().squeeze(1);
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return cresset::zeros({n}, grad.options()).index_add(0, flat, grad).view(sizes);
}

}  // namespace cresset::autograd::rules
