#pragma once
// Max, average, power-average and adaptive pooling.

#include <optional>
#include <tuple>
#include <vector>

#include "cresset/nn/module/any.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

template <size_t D> struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride);
  CRESSET_ARG(ExpandingArray<D>, padding) = 0;
  CRESSET_ARG(ExpandingArray<D>, dilation) = 1;
  CRESSET_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;

template <size_t D> struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride);
  CRESSET_ARG(ExpandingArray<D>, padding) = 0;
  CRESSET_ARG(bool, ceil_mode) = false;
  CRESSET_ARG(bool, count_include_pad) = true;
  CRESSET_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;

template <size_t D> struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size) : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  CRESSET_ARG(double, norm_type);
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride);
  CRESSET_ARG(bool, ceil_mode) = false;
};
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
using LPPool3dOptions = LPPoolOptions<3>;

template <class OutputSize> struct AdaptivePoolOptions {
  using Size = OutputSize;
  AdaptivePoolOptions(OutputSize output_size) : output_size_(output_size) {}
  CRESSET_ARG(OutputSize, output_size);
};
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<ExpandingArray<1>>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<3>>;
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<ExpandingArray<1>>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <size_t D> struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride);
  CRESSET_ARG(ExpandingArray<D>, padding) = 0;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

#define CRESSET_DECLARE_POOLING(D)                                                                                                               \
  class CRESSET_API MaxPool##D##dImpl : public detail::OptionsLayer<MaxPool##D##dImpl, MaxPoolOptions<D>> {                                      \
   public:                                                                                                                                       \
    MaxPool##D##dImpl(ExpandingArray<D> kernel_size);                                                                                            \
    explicit MaxPool##D##dImpl(const MaxPoolOptions<D>& options);                                                                                \
    void pretty_print(std::ostream& stream) const override;                                                                                      \
    Tensor forward(const Tensor& input);                                                                                                         \
    /* Also the positions of the maxima in the flattened input, as max_unpool takes them. */                                                     \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);                                                                        \
  };                                                                                                                                             \
  CRESSET_MODULE(MaxPool##D##d);                                                                                                                 \
  CRESSET_IN_LAYERS(MaxPool##D##dImpl::MaxPool##D##dImpl(ExpandingArray<D> kernel_size) : OptionsLayer(MaxPoolOptions<D>(kernel_size)){})        \
  CRESSET_IN_LAYERS(MaxPool##D##dImpl::MaxPool##D##dImpl(const MaxPoolOptions<D>& options) : OptionsLayer(options){})                            \
  class CRESSET_API AvgPool##D##dImpl : public detail::OptionsLayer<AvgPool##D##dImpl, AvgPoolOptions<D>> {                                      \
   public:                                                                                                                                       \
    AvgPool##D##dImpl(ExpandingArray<D> kernel_size);                                                                                            \
    explicit AvgPool##D##dImpl(const AvgPoolOptions<D>& options);                                                                                \
    void pretty_print(std::ostream& stream) const override;                                                                                      \
    Tensor forward(const Tensor& input);                                                                                                         \
  };                                                                                                                                             \
  CRESSET_MODULE(AvgPool##D##d);                                                                                                                 \
  CRESSET_IN_LAYERS(AvgPool##D##dImpl::AvgPool##D##dImpl(ExpandingArray<D> kernel_size) : OptionsLayer(AvgPoolOptions<D>(kernel_size)){})        \
  CRESSET_IN_LAYERS(AvgPool##D##dImpl::AvgPool##D##dImpl(const AvgPoolOptions<D>& options) : OptionsLayer(options){})                            \
  class CRESSET_API LPPool##D##dImpl : public detail::OptionsLayer<LPPool##D##dImpl, LPPoolOptions<D>> {                                         \
   public:                                                                                                                                       \
    LPPool##D##dImpl(double norm_type, ExpandingArray<D> kernel_size);                                                                           \
    explicit LPPool##D##dImpl(const LPPoolOptions<D>& options);                                                                                  \
    void pretty_print(std::ostream& stream) const override;                                                                                      \
    Tensor forward(const Tensor& input);                                                                                                         \
  };                                                                                                                                             \
  CRESSET_MODULE(LPPool##D##d);                                                                                                                  \
  CRESSET_IN_LAYERS(LPPool##D##dImpl::LPPool##D##dImpl(double norm_type, ExpandingArray<D> kernel_size)                                          \
                    : OptionsLayer(LPPoolOptions<D>(norm_type, kernel_size)){})                                                                  \
  CRESSET_IN_LAYERS(LPPool##D##dImpl::LPPool##D##dImpl(const LPPoolOptions<D>& options) : OptionsLayer(options){})                               \
  class CRESSET_API AdaptiveMaxPool##D##dImpl : public detail::OptionsLayer<AdaptiveMaxPool##D##dImpl, AdaptiveMaxPool##D##dOptions> {           \
   public:                                                                                                                                       \
    AdaptiveMaxPool##D##dImpl(const AdaptiveMaxPool##D##dOptions::Size& output_size);                                                            \
    explicit AdaptiveMaxPool##D##dImpl(const AdaptiveMaxPool##D##dOptions& options);                                                             \
    void pretty_print(std::ostream& stream) const override;                                                                                      \
    Tensor forward(const Tensor& input);                                                                                                         \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);                                                                        \
  };                                                                                                                                             \
  CRESSET_MODULE(AdaptiveMaxPool##D##d);                                                                                                         \
  CRESSET_IN_LAYERS(AdaptiveMaxPool##D##dImpl::AdaptiveMaxPool##D##dImpl(const AdaptiveMaxPool##D##dOptions::Size& output_size)                  \
                    : OptionsLayer(AdaptiveMaxPool##D##dOptions(output_size)){})                                                                 \
  CRESSET_IN_LAYERS(AdaptiveMaxPool##D##dImpl::AdaptiveMaxPool##D##dImpl(const AdaptiveMaxPool##D##dOptions& options) : OptionsLayer(options){}) \
  class CRESSET_API AdaptiveAvgPool##D##dImpl : public detail::OptionsLayer<AdaptiveAvgPool##D##dImpl, AdaptiveAvgPool##D##dOptions> {           \
   public:                                                                                                                                       \
    AdaptiveAvgPool##D##dImpl(const AdaptiveAvgPool##D##dOptions::Size& output_size);                                                            \
    explicit AdaptiveAvgPool##D##dImpl(const AdaptiveAvgPool##D##dOptions& options);                                                             \
    void pretty_print(std::ostream& stream) const override;                                                                                      \
    Tensor forward(const Tensor& input);                                                                                                         \
  };                                                                                                                                             \
  CRESSET_MODULE(AdaptiveAvgPool##D##d);                                                                                                         \
  CRESSET_IN_LAYERS(AdaptiveAvgPool##D##dImpl::AdaptiveAvgPool##D##dImpl(const AdaptiveAvgPool##D##dOptions::Size& output_size)                  \
                    : OptionsLayer(AdaptiveAvgPool##D##dOptions(output_size)){})                                                                 \
  CRESSET_IN_LAYERS(AdaptiveAvgPool##D##dImpl::AdaptiveAvgPool##D##dImpl(const AdaptiveAvgPool##D##dOptions& options) : OptionsLayer(options){}) \
  class CRESSET_API MaxUnpool##D##dImpl : public detail::OptionsLayer<MaxUnpool##D##dImpl, MaxUnpoolOptions<D>> {                                \
   public:                                                                                                                                       \
    MaxUnpool##D##dImpl(ExpandingArray<D> kernel_size);                                                                                          \
    explicit MaxUnpool##D##dImpl(const MaxUnpoolOptions<D>& options);                                                                            \
    void pretty_print(std::ostream& stream) const override;                                                                                      \
    Tensor forward(const Tensor& input, const Tensor& indices, const std::optional<std::vector<int64_t>>& output_size = std::nullopt);           \
    CRESSET_DECLARE_DEFAULT_ARGS()                                                                                                               \
  };                                                                                                                                             \
  CRESSET_MODULE(MaxUnpool##D##d);                                                                                                               \
  CRESSET_IN_LAYERS(MaxUnpool##D##dImpl::MaxUnpool##D##dImpl(ExpandingArray<D> kernel_size) : OptionsLayer(MaxUnpoolOptions<D>(kernel_size)){})  \
  CRESSET_IN_LAYERS(MaxUnpool##D##dImpl::MaxUnpool##D##dImpl(const MaxUnpoolOptions<D>& options) : OptionsLayer(options){})
CRESSET_DECLARE_POOLING(1)
CRESSET_DECLARE_POOLING(2)
CRESSET_DECLARE_POOLING(3)
#undef CRESSET_DECLARE_POOLING

namespace functional {

template <size_t D> struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride);
  CRESSET_ARG(ExpandingArray<D>, padding) = 0;
  CRESSET_ARG(std::optional<std::vector<int64_t>>, output_size) = std::nullopt;
};

#define CRESSET_DECLARE_POOLING_FUNCTIONS(D)                                                                                                         \
  using MaxPool##D##dFuncOptions = MaxPool##D##dOptions;                                                                                             \
  using AvgPool##D##dFuncOptions = AvgPool##D##dOptions;                                                                                             \
  using LPPool##D##dFuncOptions = LPPool##D##dOptions;                                                                                               \
  using AdaptiveMaxPool##D##dFuncOptions = AdaptiveMaxPool##D##dOptions;                                                                             \
  using AdaptiveAvgPool##D##dFuncOptions = AdaptiveAvgPool##D##dOptions;                                                                             \
  using MaxUnpool##D##dFuncOptions = MaxUnpoolFuncOptions<D>;                                                                                        \
  CRESSET_API Tensor max_pool##D##d(const Tensor& input, const MaxPool##D##dFuncOptions& options);                                                   \
  CRESSET_API std::tuple<Tensor, Tensor> max_pool##D##d_with_indices(const Tensor& input, const MaxPool##D##dFuncOptions& options);                  \
  CRESSET_API Tensor avg_pool##D##d(const Tensor& input, const AvgPool##D##dFuncOptions& options);                                                   \
  CRESSET_API Tensor lp_pool##D##d(const Tensor& input, const LPPool##D##dFuncOptions& options);                                                     \
  CRESSET_API Tensor adaptive_max_pool##D##d(const Tensor& input, const AdaptiveMaxPool##D##dFuncOptions& options);                                  \
  CRESSET_API std::tuple<Tensor, Tensor> adaptive_max_pool##D##d_with_indices(const Tensor& input, const AdaptiveMaxPool##D##dFuncOptions& options); \
  CRESSET_API Tensor adaptive_avg_pool##D##d(const Tensor& input, const AdaptiveAvgPool##D##dFuncOptions& options);                                  \
  CRESSET_API Tensor max_unpool##D##d(const Tensor& input, const Tensor& indices, const MaxUnpool##D##dFuncOptions& options);
CRESSET_DECLARE_POOLING_FUNCTIONS(1)
CRESSET_DECLARE_POOLING_FUNCTIONS(2)
CRESSET_DECLARE_POOLING_FUNCTIONS(3)
#undef CRESSET_DECLARE_POOLING_FUNCTIONS

}  // namespace functional

}  // namespace cresset::nn
