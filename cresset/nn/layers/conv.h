#pragma once
// Convolutions of 1 to 3 dimensions, and their transposes.

#include <initializer_list>
#include <vector>

#include "cresset/nn/module/any.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

// A padding in numbers, or kValid (none) or kSame (output as large as the input).
template <size_t D> class ConvPadding {
 public:
  ConvPadding(int64_t one) : amounts_(one) {}
  ConvPadding(std::initializer_list<int64_t> amounts) : amounts_(amounts) {}
  ConvPadding(const std::vector<int64_t>& amounts) : amounts_(amounts) {}
  ConvPadding(IntArrayRef amounts) : amounts_(amounts) {}
  ConvPadding(const ExpandingArray<D>& amounts) : amounts_(amounts) {}
  ConvPadding(enumtype::kValid) : amounts_(0), name_("valid") {}
  ConvPadding(enumtype::kSame) : amounts_(0), name_("same") {}
  bool same() const { return name_ && *name_ == 's'; }
  // "same" or "valid" if the padding was given by name, else null.
  const char* name() const { return name_; }
  // Zeros if the padding is kSame.
  const ExpandingArray<D>& amounts() const { return amounts_; }
  operator const ExpandingArray<D>&() const { return amounts_; }

 private:
  ExpandingArray<D> amounts_;
  const char* name_ = nullptr;
};

using conv_padding_mode_t = enumtype::OneOf<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;

template <size_t D> struct ConvOptions {
  using padding_t = ConvPadding<D>;
  using padding_mode_t = conv_padding_mode_t;
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  CRESSET_ARG(int64_t, in_channels);
  CRESSET_ARG(int64_t, out_channels);
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride) = 1;
  CRESSET_ARG(padding_t, padding) = 0;
  CRESSET_ARG(ExpandingArray<D>, dilation) = 1;
  CRESSET_ARG(int64_t, groups) = 1;
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(padding_mode_t, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

template <size_t D> struct ConvTransposeOptions {
  using padding_mode_t = conv_padding_mode_t;
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  CRESSET_ARG(int64_t, in_channels);
  CRESSET_ARG(int64_t, out_channels);
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride) = 1;
  CRESSET_ARG(ExpandingArray<D>, padding) = 0;
  CRESSET_ARG(ExpandingArray<D>, output_padding) = 0;
  CRESSET_ARG(int64_t, groups) = 1;
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(ExpandingArray<D>, dilation) = 1;
  CRESSET_ARG(padding_mode_t, padding_mode) = kZeros;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace detail {

// The options of both kinds.
template <size_t D> struct ConvNdOptions {
  using padding_t = ConvPadding<D>;
  using padding_mode_t = conv_padding_mode_t;
  ConvNdOptions(const ConvOptions<D>& o)
      : in_channels_(o.in_channels()),
        out_channels_(o.out_channels()),
        kernel_size_(o.kernel_size()),
        stride_(o.stride()),
        padding_(o.padding()),
        dilation_(o.dilation()),
        groups_(o.groups()),
        bias_(o.bias()),
        padding_mode_(o.padding_mode()) {}
  ConvNdOptions(const ConvTransposeOptions<D>& o)
      : in_channels_(o.in_channels()),
        out_channels_(o.out_channels()),
        kernel_size_(o.kernel_size()),
        stride_(o.stride()),
        padding_(o.padding()),
        dilation_(o.dilation()),
        transposed_(true),
        output_padding_(o.output_padding()),
        groups_(o.groups()),
        bias_(o.bias()),
        padding_mode_(o.padding_mode()) {}
  CRESSET_ARG(int64_t, in_channels);
  CRESSET_ARG(int64_t, out_channels);
  CRESSET_ARG(ExpandingArray<D>, kernel_size);
  CRESSET_ARG(ExpandingArray<D>, stride) = 1;
  CRESSET_ARG(padding_t, padding) = 0;
  CRESSET_ARG(ExpandingArray<D>, dilation) = 1;
  CRESSET_ARG(bool, transposed) = false;
  CRESSET_ARG(ExpandingArray<D>, output_padding) = 0;
  CRESSET_ARG(int64_t, groups) = 1;
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(padding_mode_t, padding_mode) = kZeros;
};

}  // namespace detail

// Holds weight and bias; the number of dimensions decides the class name in print.
template <size_t D, class Derived> class CRESSET_API ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(detail::ConvNdOptions<D> o) : options(std::move(o)) { ConvNdImpl::reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  detail::ConvNdOptions<D> options;
  Tensor weight, bias;

 protected:
  // The input with the padding that is not zeros.
  Tensor padded(const Tensor& input) const;
  std::vector<int64_t> output_padding_for(const Tensor& input, IntArrayRef output_size) const;
};

#define CRESSET_DECLARE_CONV(D)                                                                        \
  class CRESSET_API Conv##D##dImpl;                                                                    \
  class CRESSET_API ConvTranspose##D##dImpl;                                                           \
  extern template class CRESSET_API ConvNdImpl<D, Conv##D##dImpl>;                                     \
  extern template class CRESSET_API ConvNdImpl<D, ConvTranspose##D##dImpl>;                            \
  class CRESSET_API Conv##D##dImpl : public ConvNdImpl<D, Conv##D##dImpl> {                            \
   public:                                                                                             \
    Conv##D##dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)           \
        : Conv##D##dImpl(ConvOptions<D>(in_channels, out_channels, kernel_size)) {}                    \
    explicit Conv##D##dImpl(const ConvOptions<D>& options);                                            \
    Tensor forward(const Tensor& input);                                                               \
  };                                                                                                   \
  CRESSET_MODULE(Conv##D##d);                                                                          \
  class CRESSET_API ConvTranspose##D##dImpl : public ConvNdImpl<D, ConvTranspose##D##dImpl> {          \
   public:                                                                                             \
    ConvTranspose##D##dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)  \
        : ConvTranspose##D##dImpl(ConvTransposeOptions<D>(in_channels, out_channels, kernel_size)) {}  \
    explicit ConvTranspose##D##dImpl(const ConvTransposeOptions<D>& options);                          \
    /* `output_size` picks among the sizes that the stride leaves open. */                             \
    Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt); \
    CRESSET_DECLARE_DEFAULT_ARGS()                                                                     \
  };                                                                                                   \
  CRESSET_MODULE(ConvTranspose##D##d);

CRESSET_DECLARE_CONV(1)
CRESSET_DECLARE_CONV(2)
CRESSET_DECLARE_CONV(3)
#undef CRESSET_DECLARE_CONV

namespace functional {

template <size_t D> struct ConvFuncOptions {
  using padding_t = ConvPadding<D>;
  CRESSET_ARG(Tensor, bias);
  CRESSET_ARG(ExpandingArray<D>, stride) = 1;
  CRESSET_ARG(padding_t, padding) = 0;
  CRESSET_ARG(ExpandingArray<D>, dilation) = 1;
  CRESSET_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

template <size_t D> struct ConvTransposeFuncOptions {
  CRESSET_ARG(Tensor, bias);
  CRESSET_ARG(ExpandingArray<D>, stride) = 1;
  CRESSET_ARG(ExpandingArray<D>, padding) = 0;
  CRESSET_ARG(ExpandingArray<D>, output_padding) = 0;
  CRESSET_ARG(int64_t, groups) = 1;
  CRESSET_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;

CRESSET_API Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
CRESSET_API Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
CRESSET_API Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options = {});
CRESSET_API Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const ConvTranspose1dFuncOptions& options = {});
CRESSET_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& options = {});
CRESSET_API Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const ConvTranspose3dFuncOptions& options = {});

}  // namespace functional

}  // namespace cresset::nn
