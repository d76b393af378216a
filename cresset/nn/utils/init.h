#pragma once
// Initialisers: PyTorch's distributions, to the bit for the same seed. All fill in place, without recording gradients.

#include "cresset/nn/module/enum.h"
#include "cresset/tensor.h"

namespace cresset::nn::init {

using NonlinearityType =
    enumtype::OneOf<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D, enumtype::kConvTranspose1D, enumtype::kConvTranspose2D,
                    enumtype::kConvTranspose3D, enumtype::kSigmoid, enumtype::kTanh, enumtype::kReLU, enumtype::kLeakyReLU>;
using FanModeType = enumtype::OneOf<enumtype::kFanIn, enumtype::kFanOut>;

// The recommended gain; `param` is the negative slope of kLeakyReLU.
CRESSET_API double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

CRESSET_API Tensor constant_(Tensor tensor, const Scalar& value);
// The Dirac delta: preserves the identity of the inputs of a convolution. Errors: not 3 to 5 dimensions.
CRESSET_API Tensor dirac_(Tensor tensor, int64_t groups = 1);
// Errors: not 2 dimensions.
CRESSET_API Tensor eye_(Tensor matrix);
CRESSET_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
CRESSET_API Tensor ones_(Tensor tensor);
CRESSET_API Tensor zeros_(Tensor tensor);
CRESSET_API Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
// Errors: fewer than 2 dimensions.
CRESSET_API Tensor orthogonal_(Tensor tensor, double gain = 1);
// Sets a share of each column to 0 and draws the rest from N(0, std^2). Errors: not 2 dimensions.
CRESSET_API Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);
// Errors of these four: fewer than 2 dimensions, as fan-in and fan-out are not defined then.
CRESSET_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn, NonlinearityType nonlinearity = kLeakyReLU);
CRESSET_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn, NonlinearityType nonlinearity = kLeakyReLU);
CRESSET_API Tensor xavier_normal_(Tensor tensor, double gain = 1);
CRESSET_API Tensor xavier_uniform_(Tensor tensor, double gain = 1);

struct Fan {
  int64_t in;
  int64_t out;
};
CRESSET_API Fan calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace cresset::nn::init

namespace cresset::nn::detail {
// Uniform in +-1/sqrt(fan-in of weight).
CRESSET_API void init_bias_from_fan_in(const Tensor& bias, const Tensor& weight);
}  // namespace cresset::nn::detail
