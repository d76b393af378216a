#pragma once
// Reading images at places of one's own.

#include <optional>

#include "cresset/base/arg.h"
#include "cresset/nn/module/enum.h"
#include "cresset/tensor.h"

namespace cresset::nn::functional {

struct CRESSET_API GridSampleFuncOptions {
  using mode_t = enumtype::OneOf<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t = enumtype::OneOf<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  CRESSET_ARG(mode_t, mode) = kBilinear;
  CRESSET_ARG(padding_mode_t, padding_mode) = kZeros;
  // Whether -1 and 1 are the outer points themselves; false unless it is given.
  CRESSET_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

// Images (N, C, H, W) or volumes (N, C, D, H, W) at places between -1 and 1: grid (N, ..., 2 or 3), x first.
CRESSET_API Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options = {});
// The places for grid_sample that affine maps, (N, 2, 3) or (N, 3, 4), take the pixels of images of `size` from.
// Errors: a dtype, shape or empty size.
CRESSET_API Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);

}  // namespace cresset::nn::functional
