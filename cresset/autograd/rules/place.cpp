// Gradients of writing by places.

#include "cresset/autograd/rules/rules.h"

#include <algorithm>

#include "cresset/core/layers.h"

namespace cresset::autograd::rules {

Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask, IntArrayRef sizes) {
  const Tensor taken = grad.masked_select(mask);
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  const int64_t used = std::min(n, taken.size(0));
  return cresset::cat({taken.narrow(0, 0, used), cresset::zeros({n - used}, grad.options())}).view(sizes);
}

Pair scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                             bool include_self, const Tensor& result) {
  if (index.numel() == 0) return {grad, cresset::zeros_like(src)};
  Tensor to_self, to_src;
  auto ones = [&] { return cresset::ones(src.sizes(), grad.options()); };
  if (reduce == "sum") {
    to_self = grad;
    to_src = scatter_source_backward(grad, dim, index, src.sizes());
  } else if (reduce == "mean") {
    Tensor count = include_self ? cresset::ones_like(grad) : cresset::zeros_like(grad);
    count = count.scatter_add(dim, index, ones());
    const Tensor share = grad / count.masked_fill(count == 0, 1);
    to_self = share;
    to_src = scatter_source_backward(share, dim, index, src.sizes());
  } else if (reduce == "prod") {
    const Tensor masked_self = self.masked_fill(self == 0, 1);
    to_self = grad * masked_self.scatter_reduce(dim, index, src, reduce, include_self) / masked_self;
    // A single zero among the factors has the product of the others as its gradient.
    const Tensor zero = src == 0;
    const Tensor zeros = cresset::zeros_like(self).scatter_add(dim, index, zero.to(self.scalar_type()));
    auto spread = [&](const Tensor& t) { return t.gather(dim, index); };
    Tensor part = src;
    for (int64_t d = 0; d < src.dim(); d++) part = part.narrow(d, 0, index.size(d));
    const Tensor part_zero = part == 0, single = part_zero.logical_and(spread(zeros) == 1);
    const Tensor without = self.scatter_reduce(dim, index, part.masked_fill(single, 1), reduce, include_self);
    Tensor each = cresset::where(single, spread(grad * without), spread(grad * result) / part.masked_fill(part_zero, 1));
    if (layer_state().grad_mode) {
      // Of two zeros each has the other one as a factor: 0, but with a derivative.
      const Tensor pair = part_zero.logical_and(spread(zeros) == 2), rest = self.scatter_reduce(dim, index, part.masked_fill(pair, 1), reduce, include_self);
      const Tensor of_pair = part.masked_fill(pair.logical_not(), 0), both = cresset::zeros_like(self).scatter_add(dim, index, of_pair);
      each = cresset::where(pair, spread(grad * rest) * (spread(both) - of_pair), each);
    }
    if (part.sizes() == src.sizes()) return {include_self ? to_self : to_self.scatter(dim, index, 0), each};
    DimVector pad(static_cast<size_t>(2 * src.dim()), 0);
    for (int64_t d = 0; d < src.dim(); d++) pad[static_cast<size_t>(2 * (src.dim() - 1 - d) + 1)] = src.size(d) - index.size(d);
    to_src = cresset::constant_pad_nd(each, pad);
  } else {
    Tensor part = src;
    for (int64_t d = 0; d < src.dim(); d++) part = part.narrow(d, 0, index.size(d));
    // Shared equally by all that reach the extreme.
    const Tensor from_src = (part == result.gather(dim, index)).to(grad.scalar_type()), from_self = (self == result).to(grad.scalar_type());
    const Tensor share = grad / from_self.scatter_add(dim, index, from_src).clamp_min(1);
    to_self = from_self * share;
    to_src = from_src * share.gather(dim, index);
    DimVector pad(static_cast<size_t>(2 * src.dim()), 0);
    for (int64_t d = 0; d < src.dim(); d++) pad[static_cast<size_t>(2 * (src.dim() - 1 - d) + 1)] = src.size(d) - index.size(d);
    if (to_src.sizes() != src.sizes()) to_src = cresset::constant_pad_nd(to_src, pad);
  }
  return {include_self ? to_self : to_self.scatter(dim, index, 0), to_src};
}

}  // namespace cresset::autograd::rules
