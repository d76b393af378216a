#include "cresset/nn/layers/pooling.h"

#include <ostream>

namespace cresset::nn {

namespace {

template <size_t D> std::vector<int64_t> adaptive_size(const Tensor& input, const ExpandingArrayWithOptionalElem<D>& wanted) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < D; i++) sizes.push_back((*wanted)[i] ? *(*wanted)[i] : input.size(input.dim() - static_cast<int64_t>(D - i)));
  return sizes;
}
std::vector<int64_t> adaptive_size(const Tensor&, const ExpandingArray<1>& wanted) { return {(*wanted)[0]}; }

template <size_t D> std::vector<int64_t> unpool_size(const Tensor& input, const functional::MaxUnpoolFuncOptions<D>& o) {
  std::vector<int64_t> least;
  const int64_t first = input.dim() - static_cast<int64_t>(D);
  for (size_t i = 0; i < D; i++)
    least.push_back((input.size(first + static_cast<int64_t>(i)) - 1) * (*o.stride())[i] + (*o.kernel_size())[i] - 2 * (*o.padding())[i]);
  if (!o.output_size()) return least;
  std::vector<int64_t> sizes = *o.output_size();
  if (sizes.size() == D + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  CRESSET_CHECK_VALUE(sizes.size() == D, "max_unpool: output_size must have ", D, " or ", D + 2, " elements, got ", o.output_size()->size());
  for (size_t i = 0; i < D; i++) {
    const int64_t slack = (*o.stride())[i];
    CRESSET_CHECK_VALUE(sizes[i] > least[i] - slack && sizes[i] < least[i] + slack, "max_unpool: invalid output_size ", sizes, ", size ", i,
                        " must be between ", least[i] - slack, " and ", least[i] + slack);
  }
  return sizes;
}

// Of 1 dimension as of 2, one of size 1.
template <size_t D> Tensor unpool(const Tensor& input, const Tensor& indices, const functional::MaxUnpoolFuncOptions<D>& o) {
  const std::vector<int64_t> size = unpool_size(input, o);
  if constexpr (D == 1) return cresset::max_unpool2d(input.unsqueeze(-2), indices.unsqueeze(-2), {1, size[0]}).squeeze(-2);
  if constexpr (D == 2) return cresset::max_unpool2d(input, indices, size);
  if constexpr (D == 3) return cresset::max_unpool3d(input, indices, size, o.stride(), o.padding());
}

// Pooling over 1 dimension as pooling over 2, where the one-dimensional operator keeps no positions.
std::tuple<Tensor, Tensor> squeezed(const std::tuple<Tensor, Tensor>& result) { return {std::get<0>(result).squeeze(-2), std::get<1>(result).squeeze(-2)}; }

}  // namespace

namespace functional {

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return cresset::max_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return cresset::max_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return cresset::max_pool3d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return squeezed(cresset::max_pool2d_with_indices(input.unsqueeze(-2), {1, (*o.kernel_size())[0]}, {1, (*o.stride())[0]}, {0, (*o.padding())[0]},
                                                   {1, (*o.dilation())[0]}, o.ceil_mode()));
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return cresset::max_pool2d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return cresset::max_pool3d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o) {
  return cresset::avg_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad());
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return cresset::avg_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(), o.divisor_override());
}
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& o) {
  return cresset::avg_pool3d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(), o.divisor_override());
}

#define CRESSET_DEFINE_LP(D)                                                                   \
  Tensor lp_pool##D##d(const Tensor& input, const LPPool##D##dFuncOptions& o) {                \
    return cresset::lp_pool(input, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode()); \
  }
CRESSET_DEFINE_LP(1)
CRESSET_DEFINE_LP(2)
CRESSET_DEFINE_LP(3)

#define CRESSET_DEFINE_ADAPTIVE(D)                                                                                                  \
  std::tuple<Tensor, Tensor> adaptive_max_pool##D##d_with_indices(const Tensor& input, const AdaptiveMaxPool##D##dFuncOptions& o) { \
    return cresset::adaptive_max_pool##D##d(input, adaptive_size(input, o.output_size()));                                          \
  }                                                                                                                                 \
  Tensor adaptive_max_pool##D##d(const Tensor& input, const AdaptiveMaxPool##D##dFuncOptions& o) {                                  \
    return std::get<0>(adaptive_max_pool##D##d_with_indices(input, o));                                                             \
  }                                                                                                                                 \
  Tensor adaptive_avg_pool##D##d(const Tensor& input, const AdaptiveAvgPool##D##dFuncOptions& o) {                                  \
    return cresset::adaptive_avg_pool##D##d(input, adaptive_size(input, o.output_size()));                                          \
  }                                                                                                                                 \
  Tensor max_unpool##D##d(const Tensor& input, const Tensor& indices, const MaxUnpool##D##dFuncOptions& o) { return unpool<D>(input, indices, o); }
CRESSET_DEFINE_ADAPTIVE(1)
CRESSET_DEFINE_ADAPTIVE(2)
CRESSET_DEFINE_ADAPTIVE(3)

}  // namespace functional

namespace {}  // namespace

#define CRESSET_DEFINE_POOLING(D)                                                                                                                             \
  Tensor MaxPool##D##dImpl::forward(const Tensor& input) { return functional::max_pool##D##d(input, options); }                                               \
  std::tuple<Tensor, Tensor> MaxPool##D##dImpl::forward_with_indices(const Tensor& input) { return functional::max_pool##D##d_with_indices(input, options); } \
  void MaxPool##D##dImpl::pretty_print(std::ostream& stream) const {                                                                                          \
    stream << std::boolalpha << "torch::nn::MaxPool" #D "d(kernel_size=" << options.kernel_size() << ", stride=" << options.stride()                          \
           << ", padding=" << options.padding() << ", dilation=" << options.dilation() << ", ceil_mode=" << options.ceil_mode() << ")";                       \
  }                                                                                                                                                           \
  Tensor AvgPool##D##dImpl::forward(const Tensor& input) { return functional::avg_pool##D##d(input, options); }                                               \
  void AvgPool##D##dImpl::pretty_print(std::ostream& stream) const {                                                                                          \
    stream << "torch::nn::AvgPool" #D "d(kernel_size=" << options.kernel_size() << ", stride=" << options.stride() << ", padding=" << options.padding()       \
           << ")";                                                                                                                                            \
  }                                                                                                                                                           \
  Tensor LPPool##D##dImpl::forward(const Tensor& input) { return functional::lp_pool##D##d(input, options); }                                                 \
  void LPPool##D##dImpl::pretty_print(std::ostream& stream) const {                                                                                           \
    stream << std::boolalpha << "torch::nn::LPPool" #D "d(norm_type=" << options.norm_type() << ", kernel_size=" << options.kernel_size()                     \
           << ", stride=" << options.stride() << ", ceil_mode=" << options.ceil_mode() << ")";                                                                \
  }                                                                                                                                                           \
  Tensor AdaptiveMaxPool##D##dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool##D##d(input, options); }                              \
  std::tuple<Tensor, Tensor> AdaptiveMaxPool##D##dImpl::forward_with_indices(const Tensor& input) {                                                           \
    return functional::adaptive_max_pool##D##d_with_indices(input, options);                                                                                  \
  }                                                                                                                                                           \
  void AdaptiveMaxPool##D##dImpl::pretty_print(std::ostream& stream) const {                                                                                  \
    stream << "torch::nn::AdaptiveMaxPool" #D "d(output_size=" << options.output_size() << ")";                                                               \
  }                                                                                                                                                           \
  Tensor AdaptiveAvgPool##D##dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool##D##d(input, options); }                              \
  void AdaptiveAvgPool##D##dImpl::pretty_print(std::ostream& stream) const {                                                                                  \
    stream << "torch::nn::AdaptiveAvgPool" #D "d(output_size=" << options.output_size() << ")";                                                               \
  }                                                                                                                                                           \
  Tensor MaxUnpool##D##dImpl::forward(const Tensor& input, const Tensor& indices, const std::optional<std::vector<int64_t>>& output_size) {                   \
    return functional::max_unpool##D##d(                                                                                                                      \
        input, indices,                                                                                                                                       \
        functional::MaxUnpoolFuncOptions<D>(options.kernel_size()).stride(options.stride()).padding(options.padding()).output_size(output_size));             \
  }                                                                                                                                                           \
  CRESSET_DEFINE_DEFAULT_ARGS(MaxUnpool##D##dImpl, {2, AnyValue(std::optional<std::vector<int64_t>>())})                                                      \
  void MaxUnpool##D##dImpl::pretty_print(std::ostream& stream) const {                                                                                        \
    stream << "torch::nn::MaxUnpool" #D "d(kernel_size=" << options.kernel_size() << ", stride=" << options.stride() << ", padding=" << options.padding()     \
           << ")";                                                                                                                                            \
  }
CRESSET_DEFINE_POOLING(1)
CRESSET_DEFINE_POOLING(2)
CRESSET_DEFINE_POOLING(3)

}  // namespace cresset::nn
