#include "cresset/nn/layers/conv.h"

#include <cmath>
#include <ostream>

#include "cresset/nn/utils/init.h"

namespace cresset::nn {

namespace {

const char* pad_mode_name(conv_padding_mode_t mode) {
  if (mode.is<enumtype::kReflect>()) return "reflect";
  if (mode.is<enumtype::kReplicate>()) return "replicate";
  return "circular";
}

constexpr int64_t kNoPaddingValue = 0;
constexpr IntArrayRef kNoPadding(&kNoPaddingValue, 1);

bool all_equal(IntArrayRef values, int64_t value) {
  for (int64_t v : values)
    if (v != value) return false;
  return true;
}

}  // namespace

template <size_t D, class Derived> void ConvNdImpl<D, Derived>::reset() {
  const auto& o = options;
  CRESSET_CHECK(o.in_channels() > 0 && o.groups() > 0 && o.out_channels() > 0, "conv: in_channels, groups and out_channels must be positive, got ",
                o.in_channels(), ", ", o.groups(), " and ", o.out_channels());
  CRESSET_CHECK(o.in_channels() % o.groups() == 0, "conv: in_channels must be divisible by groups, got ", o.in_channels(), " and ", o.groups());
  CRESSET_CHECK(o.out_channels() % o.groups() == 0, "conv: out_channels must be divisible by groups, got ", o.out_channels(), " and ", o.groups());
  CRESSET_CHECK(!o.padding().same() || all_equal(o.stride(), 1), "conv: padding='same' is not supported for strided convolutions, got a stride of ",
                IntArrayRef(o.stride()));
  std::vector<int64_t> sizes = {o.transposed() ? o.in_channels() : o.out_channels(), (o.transposed() ? o.out_channels() : o.in_channels()) / o.groups()};
  sizes.insert(sizes.end(), o.kernel_size()->begin(), o.kernel_size()->end());
  weight = this->register_parameter("weight", cresset::empty(sizes));
  bias = this->register_parameter("bias", o.bias() ? cresset::empty(o.out_channels()) : Tensor(), o.bias());
  reset_parameters();
}

template <size_t D, class Derived> void ConvNdImpl<D, Derived>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (bias.defined()) detail::init_bias_from_fan_in(bias, weight);
}

template <size_t D, class Derived> void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  const auto& o = options;
  stream << std::boolalpha << "torch::nn::Conv" << (o.transposed() ? "Transpose" : "") << D << "d(" << o.in_channels() << ", " << o.out_channels()
         << ", kernel_size=" << o.kernel_size() << ", stride=" << o.stride();
  if (o.padding().name()) stream << ", padding='" << o.padding().name() << "'";
  else if (!all_equal(o.padding().amounts(), 0)) stream << ", padding=" << o.padding().amounts();
  if (!all_equal(o.dilation(), 1)) stream << ", dilation=" << o.dilation();
  if (!all_equal(o.output_padding(), 0)) stream << ", output_padding=" << o.output_padding();
  if (o.groups() != 1) stream << ", groups=" << o.groups();
  if (!o.bias()) stream << ", bias=false";
  if (o.padding_mode() != kZeros) stream << ", padding_mode=" << o.padding_mode().name();
  stream << ")";
}

template <size_t D, class Derived> Tensor ConvNdImpl<D, Derived>::padded(const Tensor& input) const {
  std::vector<int64_t> amounts;
  for (size_t i = D; i-- > 0;) {
    if (options.padding().same()) {
      const int64_t total = (*options.dilation())[i] * ((*options.kernel_size())[i] - 1);
      amounts.push_back(total / 2);
      amounts.push_back(total - total / 2);
    } else {
      amounts.push_back((*options.padding().amounts())[i]);
      amounts.push_back((*options.padding().amounts())[i]);
    }
  }
  return cresset::pad(input, amounts, pad_mode_name(options.padding_mode()));
}

template <size_t D, class Derived> std::vector<int64_t> ConvNdImpl<D, Derived>::output_padding_for(const Tensor& input, IntArrayRef output_size) const {
  if (output_size.size() == D + 2) output_size = output_size.slice(2);
  CRESSET_CHECK(output_size.size() == D, "conv_transpose: output_size must have ", D, " or ", D + 2, " elements, got ", output_size.size());
  std::vector<int64_t> padding;
  const int64_t first = input.dim() - static_cast<int64_t>(D);
  for (size_t i = 0; i < D; i++) {
    const int64_t stride = (*options.stride())[i];
    const int64_t least = (input.size(first + static_cast<int64_t>(i)) - 1) * stride - 2 * (*options.padding().amounts())[i] +
                          (*options.dilation())[i] * ((*options.kernel_size())[i] - 1) + 1;
    CRESSET_CHECK(output_size[i] >= least && output_size[i] < least + stride, "conv_transpose: output size ", output_size, " is not possible in dimension ", i,
                  ", expected ", least, " to ", least + stride - 1);
    padding.push_back(output_size[i] - least);
  }
  return padding;
}

#define CRESSET_DEFINE_CONV(D)                                                                                                                         \
  template class ConvNdImpl<D, Conv##D##dImpl>;                                                                                                        \
  template class ConvNdImpl<D, ConvTranspose##D##dImpl>;                                                                                               \
  Conv##D##dImpl::Conv##D##dImpl(const ConvOptions<D>& o) : ConvNdImpl(detail::ConvNdOptions<D>(o)) {}                                                 \
  Tensor Conv##D##dImpl::forward(const Tensor& input) {                                                                                                \
    const auto& o = options;                                                                                                                           \
    if (CRESSET_UNLIKELY(o.padding_mode() != kZeros))                                                                                                  \
      return cresset::conv##D##d(padded(input), weight, bias, o.stride(), kNoPadding, o.dilation(), o.groups());                                       \
    if (o.padding().same()) return cresset::conv##D##d(input, weight, bias, o.stride(), "same", o.dilation(), o.groups());                             \
    return cresset::conv##D##d(input, weight, bias, o.stride(), IntArrayRef(o.padding().amounts()), o.dilation(), o.groups());                         \
  }                                                                                                                                                    \
  ConvTranspose##D##dImpl::ConvTranspose##D##dImpl(const ConvTransposeOptions<D>& o) : ConvNdImpl(detail::ConvNdOptions<D>(o)) {}                      \
  CRESSET_DEFINE_DEFAULT_ARGS(ConvTranspose##D##dImpl, {1, AnyValue(std::optional<IntArrayRef>())})                                                    \
  Tensor ConvTranspose##D##dImpl::forward(const Tensor& input, const std::optional<IntArrayRef>& output_size) {                                        \
    const auto& o = options;                                                                                                                           \
    CRESSET_CHECK(o.padding_mode() == kZeros, "conv_transpose: only zeros can be padded, got padding_mode ", o.padding_mode().name());                 \
    const IntArrayRef padding = o.padding().amounts();                                                                                                 \
    if (!output_size) return cresset::conv_transpose##D##d(input, weight, bias, o.stride(), padding, o.output_padding(), o.groups(), o.dilation());    \
    return cresset::conv_transpose##D##d(input, weight, bias, o.stride(), padding, output_padding_for(input, *output_size), o.groups(), o.dilation()); \
  }                                                                                                                                                    \
  namespace functional {                                                                                                                               \
  Tensor conv##D##d(const Tensor& input, const Tensor& weight, const Conv##D##dFuncOptions& o) {                                                       \
    if (o.padding().same()) return cresset::conv##D##d(input, weight, o.bias(), o.stride(), "same", o.dilation(), o.groups());                         \
    return cresset::conv##D##d(input, weight, o.bias(), o.stride(), IntArrayRef(o.padding().amounts()), o.dilation(), o.groups());                     \
  }                                                                                                                                                    \
  Tensor conv_transpose##D##d(const Tensor& input, const Tensor& weight, const ConvTranspose##D##dFuncOptions& o) {                                    \
    return cresset::conv_transpose##D##d(input, weight, o.bias(), o.stride(), o.padding(), o.output_padding(), o.groups(), o.dilation());              \
  }                                                                                                                                                    \
  }

CRESSET_DEFINE_CONV(1)
CRESSET_DEFINE_CONV(2)
CRESSET_DEFINE_CONV(3)

}  // namespace cresset::nn
