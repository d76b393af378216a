#include "cresset/nn/layers/fractional.h"

#include <ostream>

namespace cresset::nn {

namespace {

template <size_t D> std::tuple<Tensor, Tensor> run(const Tensor& input, const FractionalMaxPoolOptions<D>& o) {
  constexpr auto n = static_cast<int64_t>(D);
  CRESSET_CHECK_VALUE(o.output_size() || o.output_ratio(), "fractional_max_pool", n, "d: output_size or output_ratio must be given");
  CRESSET_CHECK(input.dim() == n + 1 || input.dim() == n + 2, "fractional_max_pool", n, "d: expected ", n + 1, " or ", n + 2, " dimensions, got ",
                input.sizes());
  std::vector<int64_t> size;
  for (size_t d = 0; d < D; d++) {
    const int64_t extent = input.size(static_cast<int64_t>(d) - n);
    size.push_back(o.output_size() ? (**o.output_size())[d] : static_cast<int64_t>(static_cast<double>(extent) * (**o.output_ratio())[d]));
  }
  const int64_t batch = input.dim() == n + 2 ? input.size(0) : 1;
  const Tensor samples = o._random_samples().defined() ? o._random_samples() : rand({batch, input.size(-n - 1), n}, input.options().requires_grad(false));
  if constexpr (D == 2) return cresset::fractional_max_pool2d(input, o.kernel_size(), size, samples);
  else return cresset::fractional_max_pool3d(input, o.kernel_size(), size, samples);
}

template <size_t D> void check(const FractionalMaxPoolOptions<D>& o) {
  CRESSET_CHECK_VALUE(o.output_size().has_value() != o.output_ratio().has_value(), "FractionalMaxPool", D,
                      "d: exactly one of output_size and output_ratio must be given");
  if (!o.output_ratio()) return;
  for (double ratio : **o.output_ratio())
    CRESSET_CHECK_VALUE(ratio > 0 && ratio < 1, "FractionalMaxPool", D, "d: output_ratio must be between 0 and 1, got ", ratio);
}

}  // namespace

#define CRESSET_DEFINE_FRACTIONAL(D)                                                                                                                \
  std::tuple<Tensor, Tensor> functional::fractional_max_pool##D##d_with_indices(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& o) { \
    return run<D>(input, o);                                                                                                                        \
  }                                                                                                                                                 \
  Tensor functional::fractional_max_pool##D##d(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& o) {                                  \
    return std::get<0>(fractional_max_pool##D##d_with_indices(input, o));                                                                           \
  }                                                                                                                                                 \
  FractionalMaxPool##D##dImpl::FractionalMaxPool##D##dImpl(ExpandingArray<D> kernel_size)                                                           \
      : FractionalMaxPool##D##dImpl(FractionalMaxPoolOptions<D>(kernel_size)) {}                                                                    \
  FractionalMaxPool##D##dImpl::~FractionalMaxPool##D##dImpl() = default;                                                                            \
  FractionalMaxPool##D##dImpl::FractionalMaxPool##D##dImpl(const FractionalMaxPoolOptions<D>& o) : options(o) {                                     \
    check(options);                                                                                                                                 \
    FractionalMaxPool##D##dImpl::reset();                                                                                                           \
  }                                                                                                                                                 \
  void FractionalMaxPool##D##dImpl::reset() { _random_samples = register_buffer("_random_samples", options._random_samples()); }                    \
  void FractionalMaxPool##D##dImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::FractionalMaxPool" #D "d()"; }                 \
  Tensor FractionalMaxPool##D##dImpl::forward(const Tensor& input) { return std::get<0>(forward_with_indices(input)); }                             \
  std::tuple<Tensor, Tensor> FractionalMaxPool##D##dImpl::forward_with_indices(const Tensor& input) {                                               \
    return functional::fractional_max_pool##D##d_with_indices(input, FractionalMaxPoolOptions<D>(options)._random_samples(_random_samples));        \
  }
CRESSET_DEFINE_FRACTIONAL(2)
CRESSET_DEFINE_FRACTIONAL(3)

}  // namespace cresset::nn
