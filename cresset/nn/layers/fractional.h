#pragma once
// Fractional max pooling: windows whose places are drawn so that the output has the wanted size.

#include <optional>
#include <tuple>

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

namespace detail {
// A std::optional of an ExpandingArray that costs the compiler little.
template <class Array> class MaybeArray {
 public:
  MaybeArray() = default;
  MaybeArray(std::nullopt_t) {}
  template <class T, class = std::enable_if_t<std::is_constructible<Array, const T&>::value>> MaybeArray(const T& values) : values_(values), has_value_(true) {}
  MaybeArray(std::initializer_list<std::decay_t<decltype((*std::declval<Array&>())[0])>> values) : values_(values), has_value_(true) {}
  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  const Array& operator*() const { return values_; }

 private:
  Array values_ = 0;
  bool has_value_ = false;
};
}  // namespace detail

template <size_t D> struct FractionalMaxPoolOptions {
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(detail::MaybeArray<ExpandingArray<D>>, output_size);
  // Of the input's size, where no output_size is given.
  CRESSET_ARG(detail::MaybeArray<ExpandingArrayDouble>, output_ratio);
  // (N, C, D) numbers in [0, 1) to use instead of drawing them.
  CRESSET_ARG(Tensor, _random_samples);
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

// Errors where they are made: not exactly one of output_size and output_ratio; a ratio outside (0, 1).
#define CRESSET_DECLARE_FRACTIONAL(D)                                                             \
  class CRESSET_API FractionalMaxPool##D##dImpl : public Cloneable<FractionalMaxPool##D##dImpl> { \
   public:                                                                                        \
    FractionalMaxPool##D##dImpl(ExpandingArray<D> kernel_size);                                   \
    explicit FractionalMaxPool##D##dImpl(const FractionalMaxPoolOptions<D>& options);             \
    ~FractionalMaxPool##D##dImpl() override;                                                      \
    void reset() override;                                                                        \
    void pretty_print(std::ostream& stream) const override;                                       \
    Tensor forward(const Tensor& input);                                                          \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);                         \
    FractionalMaxPoolOptions<D> options;                                                          \
    Tensor _random_samples;                                                                       \
  };                                                                                              \
  CRESSET_MODULE(FractionalMaxPool##D##d);
CRESSET_DECLARE_FRACTIONAL(2)
CRESSET_DECLARE_FRACTIONAL(3)
#undef CRESSET_DECLARE_FRACTIONAL

namespace functional {

using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
// Errors of all: neither output_size nor output_ratio; sizes that do not fit the input.
CRESSET_API Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
CRESSET_API std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
CRESSET_API Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options);
CRESSET_API std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input, const FractionalMaxPool3dFuncOptions& options);

}  // namespace functional
}  // namespace cresset::nn
