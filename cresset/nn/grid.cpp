#include "cresset/nn/grid.h"

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
  for (int64_t s : size) CRESSET_CHECK_VALUE(s > 0, "affine_grid: size must be positive, got ", size);
  CRESSET_CHECK(theta.size(0) == size[0], "affine_grid: expected a matrix for each of ", size[0], " images, got ", theta.size(0));
  const TensorOptions options = theta.options().requires_grad(false);
  const IntArrayRef places = size.slice(2);
  std::vector<Tensor> columns;
  for (int64_t i = 0; i < n; i++) {  // x, y, z
    const int64_t extent = places[static_cast<size_t>(n - 1 - i)];
    Tensor axis = zeros({1}, options);
    if (extent > 1) {
      axis = linspace(-1, 1, extent, options);
      if (!align_corners) axis = axis * (extent - 1) / extent;
    }
    std::vector<int64_t> shape(static_cast<size_t>(i) + 1, 1);
    shape[0] = -1;
    columns.push_back(axis.view(shape).expand(places).unsqueeze(-1));
  }
  std::vector<int64_t> one = places.vec(), out = size.slice(0, 1).vec();
  one.push_back(1);
  columns.push_back(ones(one, options));
  out.insert(out.end(), places.begin(), places.end());
  out.push_back(n);
  const Tensor points = cat(columns, -1).view({1, -1, n + 1}).expand({size[0], -1, -1});
  return points.matmul(theta.mT()).view(out);
}

}  // namespace cresset::nn::functional
