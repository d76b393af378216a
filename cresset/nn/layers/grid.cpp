#include "cresset/nn/layers/grid.h"

namespace cresset::nn::functional {

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& o) {
  const int64_t mode = o.mode() == kBilinear ? 0 : o.mode() == kNearest ? 1 : 2;
  const int64_t padding = o.padding_mode() == kZeros ? 0 : o.padding_mode() == kBorder ? 1 : 2;
  return grid_sampler(input, grid, mode, padding, o.align_corners().value_or(false));
}

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  CRESSET_CHECK_VALUE(theta.is_floating_point(), "affine_grid: theta must be of a floating-point dtype, got ", theta.scalar_type());
  CRESSET_CHECK_NOT_IMPLEMENTED(size.size() == 4 || size.size() == 5, "affine_grid: size must have 4 or 5 elements, got ", size);
  const int64_t n = static_cast<int64_t>(size.size()) - 2;
  CRESSET_CHECK_VALUE(theta.dim() == 3 && theta.size(1) == n && theta.size(2) == n + 1, "affine_grid: theta must be N x ", n, " x ", n + 1, " for size ", size,
                      ", got ", theta.sizes());
  for (int64_t s : size) CRESSET_CHECK_VALUE(s > 0, "affine_grid: Expected non-zero, positive output size. Got ", size);
  CRESSET_CHECK(theta.size(0) == size[0], "affine_grid: expected a matrix for each of ", size[0], " images, got ", theta.size(0));
  return affine_grid_generator(theta, size, align_corners);
}

}  // namespace cresset::nn::functional
