#include "cresset/nn/fractional.h"

#include <ostream>

namespace cresset::nn {

namespace {

struct Pooling {
  std::vector<int64_t> kernel;
  std::vector<int64_t> size;
  Tensor samples;
};

template <size_t D>
Pooling pooling_of(const Tensor& input, const FractionalMaxPoolOptions<D>& o) {
  constexpr auto n = static_cast<int64_t>(D);
  CRESSET_CHECK_VALUE(o.output_size() || o.output_ratio(), "fractional_max_pool", n, "d: output_size or output_ratio must be given");
  CRESSET_CHECK(input.dim() == n + 1 || input.dim() == n + 2, "fractional_max_pool", n, "d: expected ", n + 1, " or ", n + 2, " dimensions, got ",
                input.sizes());
  Pooling p{ArrayRef<int64_t>(o.kernel_size()).vec(), {}, o._random_samples()};
  for (size_t d = 0; d < D; d++) {
    const int64_t size = input.size(static_cast<int64_t>(d) - n);
    p.size.push_back(o.output_size() ? (**o.output_size())[d] : static_cast<int64_t>(static_cast<double>(size) * (**o.output_ratio())[d]));
  }
  return p;
}

int64_t product(const std::vector<int64_t>& values) {
  int64_t result = 1;
  for (int64_t v : values) result *= v;
  return result;
}

std::tuple<Tensor, Tensor> run(const Tensor& input, const Pooling& p) {
  const auto n = static_cast<int64_t>(p.size.size());
  const Tensor batched = input.dim() == n + 2 ? input : input.unsqueeze(0);
  const int64_t batch = batched.size(0), planes = batched.size(1);
  const TensorOptions floats = input.options().requires_grad(false), integers = floats.dtype(kLong);
  const Tensor samples = p.samples.defined() ? p.samples.narrow(0, 0, batch) : rand({batch, planes, n}, floats);
  // Of each window and each place within it, the position in the flattened plane: (N, C, *size, *kernel).
  Tensor position = zeros({}, integers);
  for (int64_t d = 0; d < n; d++) {
    const int64_t size = batched.size(d + 2), out = p.size[d], k = p.kernel[d];
    CRESSET_CHECK(k > 0 && k <= size && out + k - 1 <= size, "fractional_max_pool", n, "d: a window of ", k, " and an output of ", out,
                  " do not fit a size of ", size);
    const Tensor sample = samples.select(-1, n == 3 ? d : n - 1 - d).to(input.scalar_type()).unsqueeze(-1);
    const Tensor starts = full({batch, planes, out}, size - k, integers);
    if (out > 1) {
      const double alpha = static_cast<double>(size - k) / static_cast<double>(out - 1);
      const Tensor steps = arange(out - 1, floats);
      starts.narrow(-1, 0, out - 1).copy_(((steps + sample) * alpha).to(kLong) - (sample * alpha).to(kLong));
    }
    std::vector<int64_t> shape(static_cast<size_t>(2 * n + 2), 1), within(static_cast<size_t>(2 * n), 1);
    shape[0] = batch;
    shape[1] = planes;
    shape[static_cast<size_t>(d + 2)] = out;
    within[static_cast<size_t>(n + d)] = k;
    position = position * size + starts.reshape(shape) + arange(k, integers).reshape(within);
  }
  std::vector<int64_t> full_shape = {batch, planes};
  full_shape.insert(full_shape.end(), p.size.begin(), p.size.end());
  full_shape.insert(full_shape.end(), p.kernel.begin(), p.kernel.end());
  position = position.expand(full_shape).reshape({batch, planes, product(p.size), product(p.kernel)});
  const Tensor windows = batched.flatten(2).gather(2, position.flatten(2)).reshape(position.sizes());
  auto [values, which] = windows.max(3);
  Tensor indices = position.gather(3, which.unsqueeze(3)).squeeze(3);
  values = values.unflatten(2, p.size);
  indices = indices.unflatten(2, p.size);
  if (input.dim() == n + 1) return {values.squeeze(0), indices.squeeze(0)};
  return {values, indices};
}

template <size_t D>
void check(const FractionalMaxPoolOptions<D>& o) {
  CRESSET_CHECK_VALUE(o.output_size().has_value() != o.output_ratio().has_value(), "FractionalMaxPool", D,
                      "d: exactly one of output_size and output_ratio must be given");
  if (!o.output_ratio()) return;
  for (double ratio : **o.output_ratio())
    CRESSET_CHECK_VALUE(ratio > 0 && ratio < 1, "FractionalMaxPool", D, "d: output_ratio must be between 0 and 1, got ", ratio);
}

}  // namespace

#define CRESSET_DEFINE_FRACTIONAL(D)                                                                                                       \
  std::tuple<Tensor, Tensor> functional::fractional_max_pool##D##d_with_indices(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& o) { \
    return run(input, pooling_of<D>(input, o));                                                                                            \
  }                                                                                                                                        \
  Tensor functional::fractional_max_pool##D##d(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& o) {                         \
    return std::get<0>(fractional_max_pool##D##d_with_indices(input, o));                                                                  \
  }                                                                                                                                        \
  FractionalMaxPool##D##dImpl::FractionalMaxPool##D##dImpl(ExpandingArray<D> kernel_size)                                                  \
      : FractionalMaxPool##D##dImpl(FractionalMaxPoolOptions<D>(kernel_size)) {}                                                           \
  FractionalMaxPool##D##dImpl::~FractionalMaxPool##D##dImpl() = default;                                                                   \
  FractionalMaxPool##D##dImpl::FractionalMaxPool##D##dImpl(const FractionalMaxPoolOptions<D>& o) : options(o) {                            \
    check(options);                                                                                                                        \
    FractionalMaxPool##D##dImpl::reset();                                                                                                  \
  }                                                                                                                                        \
  void FractionalMaxPool##D##dImpl::reset() { _random_samples = register_buffer("_random_samples", options._random_samples()); }           \
  void FractionalMaxPool##D##dImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::FractionalMaxPool" #D "d()"; }      \
  Tensor FractionalMaxPool##D##dImpl::forward(const Tensor& input) { return std::get<0>(forward_with_indices(input)); }                    \
  std::tuple<Tensor, Tensor> FractionalMaxPool##D##dImpl::forward_with_indices(const Tensor& input) {                                      \
    return functional::fractional_max_pool##D##d_with_indices(input, FractionalMaxPoolOptions<D>(options)._random_samples(_random_samples)); \
  }
CRESSET_DEFINE_FRACTIONAL(2)
CRESSET_DEFINE_FRACTIONAL(3)

}  // namespace cresset::nn
