// Layers as composites: normalisation, resizing, grids, noise, and pooling by given places.

#include <cmath>

#include "cresset/core/batched.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/refusals.h"

namespace cresset::ops::composite {

Tensor _normalize(const Tensor& self, const Scalar& p, IntArrayRef dim, double eps) {
  return self / cresset::linalg_vector_norm(self, p, dim, true).clamp_min(eps).expand_as(self);
}

Tensor _standardize(const Tensor& self, const Tensor& mean, const Tensor& std) { return (self - mean) / std; }

Tensor _local_response_norm(const Tensor& self, int64_t size, double alpha, double beta, double k) {
  CRESSET_CHECK_VALUE(self.dim() >= 3, "local_response_norm: expected at least 3 dimensions, got shape ", self.sizes());
  CRESSET_CHECK(size > 0, "local_response_norm: size must be positive, got ", size);
  if (self.numel() == 0) return self;
  // A sliding mean over channels: all positions of a sample as one row of columns.
  const Tensor squares = self.square().reshape({self.size(0), 1, self.size(1), -1});
  const Tensor padded = cresset::constant_pad_nd(squares, {0, 0, size / 2, (size - 1) / 2});
  const Tensor mean = cresset::avg_pool2d(padded, {size, 1}, 1).reshape(self.sizes());
  return self / (mean * alpha + k).pow(beta);
}

Tensor _gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim) {
  const Tensor noise = -cresset::empty_like(logits.detach(), {}, MemoryFormat::Contiguous).exponential_().log();
  const Tensor soft = ((logits + noise) / tau).softmax(dim);
  if (!hard) return soft;
  // The one-hot sample forward, the gradient of the soft one backward.
  const Tensor place = std::get<1>(soft.max(dim, true));
  const Tensor ones = cresset::zeros_like(logits.detach(), {}, MemoryFormat::Contiguous).scatter(dim, place, 1.0);
  return ones - soft.detach() + soft;
}

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  CRESSET_CHECK(size.size() == 4 || size.size() == 5, "affine_grid_generator: expected a size of 4 or 5 numbers, got ", size);
  const int64_t n = static_cast<int64_t>(size.size()) - 2;
  CRESSET_CHECK(theta.dim() == 3 && theta.size(1) == n && theta.size(2) == n + 1, "affine_grid_generator: expected matrices N x ", n, " x ", n + 1,
                " for size ", size, ", got ", theta.sizes());
  CRESSET_CHECK(theta.size(0) == size[0], "affine_grid: expected a matrix for each of ", size[0], " images, got ", theta.size(0));
  const TensorOptions options = TensorOptions(theta.scalar_type()).device(theta.device());
  const IntArrayRef places = size.slice(2);
  std::vector<Tensor> columns;
  for (int64_t i = 0; i < n; i++) {  // x, y, z
    const int64_t extent = places[static_cast<size_t>(n - 1 - i)];
    Tensor axis = extent == 1 ? cresset::zeros({1}, options) : cresset::linspace(-1, 1, extent, options);
    if (extent > 1 && !align_corners) axis = axis * (extent - 1) / extent;
    DimVector shape(static_cast<size_t>(i) + 1, 1);
    shape[0] = extent;
    columns.push_back(axis.view(shape).expand(places).unsqueeze(-1));
  }
  DimVector one(places), out(places);
  one.push_back(1);
  out.insert(out.begin(), size[0]);
  out.push_back(n);
  columns.push_back(cresset::ones(one, options));
  const Tensor points = cresset::cat(columns, -1).view({1, -1, n + 1}).expand({size[0], -1, -1});
  return points.matmul(theta.mT()).view(out);
}

Tensor _interpolate(const Tensor& self, OptionalIntArrayRef size, const std::optional<ArrayRef<double>>& scale_factor, std::string_view mode,
                    bool align_corners, bool recompute_scale_factor, bool antialias) {
  const int64_t dims = self.dim() - 2;
  CRESSET_CHECK_NOT_IMPLEMENTED(dims >= 1 && dims <= 3, "interpolate: Only 3D, 4D and 5D input Tensors supported (got ", self.dim(), "D) with shape ",
                                self.sizes());
  const auto n = static_cast<size_t>(dims);
  CRESSET_CHECK_VALUE(size.has_value() != scale_factor.has_value(), "interpolate: expected size or scale_factor, got ", size ? "both" : "none");
  std::vector<int64_t> sizes;
  std::vector<double> scales;
  if (size) {
    const IntArrayRef to = *size;
    CRESSET_CHECK_VALUE(to.size() == n || to.size() == 1, "interpolate: expected a size of 1 or ", dims, " numbers, got ", to);
    for (size_t d = 0; d < n; d++) sizes.push_back(to[to.size() == 1 ? 0 : d]);
  } else {
    CRESSET_CHECK_VALUE(scale_factor->size() == n || scale_factor->size() == 1, "interpolate: expected a scale_factor of 1 or ", dims, " numbers, got ",
                        scale_factor->size());
    for (size_t d = 0; d < n; d++) scales.push_back((*scale_factor)[scale_factor->size() == 1 ? 0 : d]);
  }
  if (!size && (mode == "area" || recompute_scale_factor)) {
    for (size_t d = 0; d < n; d++) sizes.push_back(static_cast<int64_t>(std::floor(static_cast<double>(self.size(static_cast<int64_t>(d) + 2)) * scales[d])));
    scales.clear();
  }
  if (mode == "area") {
    if (dims == 1) return cresset::adaptive_avg_pool1d(self, sizes);
    return dims == 2 ? cresset::adaptive_avg_pool2d(self, sizes) : cresset::adaptive_avg_pool3d(self, sizes);
  }
  const OptionalIntArrayRef to = sizes.empty() ? OptionalIntArrayRef() : OptionalIntArrayRef(sizes);
  std::optional<ArrayRef<double>> by;
  if (!scales.empty()) by = ArrayRef<double>(scales);
  if (mode == "nearest") return cresset::upsample_nearest(self, to, by);
  if (mode == "nearest-exact") return cresset::upsample_nearest_exact(self, to, by);
  if (mode == "lanczos" && dims == 2) {
    CRESSET_CHECK_VALUE(antialias && !align_corners,
                        "interpolate: mode lanczos takes antialias=True and align_corners=False, got antialias=", antialias ? "True" : "False",
                        " and align_corners=", align_corners ? "True" : "False");
    return cresset::_upsample_lanczos2d_aa(self, to, false, by);
  }
  if (mode == "bicubic" && dims == 2) return cresset::upsample_bicubic(self, to, align_corners, by, antialias);
  const bool linear = (mode == "linear" && dims == 1) || (mode == "bilinear" && dims == 2) || (mode == "trilinear" && dims == 3);
  CRESSET_CHECK_NOT_IMPLEMENTED(linear, "interpolate: mode ", std::string(mode), " does not go with an input of ", self.dim(), " dimensions");
  return cresset::upsample_linear(self, to, align_corners, by, antialias);
}

Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  return cresset::conv1d(self.permute({1, 2, 0}), weight.permute({2, 1, 0}), bias, 1, pad).permute({2, 0, 1});
}

// ---- pooling ------------------------------------------------------------------------------------------------------------

namespace {

int64_t product(IntArrayRef values) {
  int64_t result = 1;
  for (int64_t v : values) result *= v;
  return result;
}

// Puts each value at its place in a plane of zeros.
Tensor unpool(const char* name, const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  refuse_integers(name, self);
  const auto n = static_cast<int64_t>(output_size.size());
  CRESSET_CHECK(indices.scalar_type() == kLong, name, ": indices must be int64, got ", indices.scalar_type());
  CRESSET_CHECK(self.dim() == n + 1 || self.dim() == n + 2, name, ": expected ", n + 1, " or ", n + 2, " dimensions, got ", self.sizes());
  CRESSET_CHECK(self.sizes() == indices.sizes(), name, ": indices of shape ", indices.sizes(), ", expected the input's ", self.sizes());
  const Tensor flat = self.flatten(-n), places = indices.flatten(-n);
  const int64_t room = product(output_size);
  const Tensor& every = physical(places);
  CRESSET_CHECK(every.numel() == 0 || every.lacks_data() || (every.min().item<int64_t>() >= 0 && every.max().item<int64_t>() < room), name,
                ": an index lies outside of the output of ", room, " elements");
  DimVector plane(flat.sizes());
  plane[plane.size() - 1] = room;
  const Tensor result = flat.new_zeros(plane).scatter(-1, places, flat).unflatten(-1, output_size);
  const bool last = n == 2 && self.dim() == 4 && !self.is_meta() && self.is_contiguous(MemoryFormat::ChannelsLast) && !self.is_contiguous();
  return last ? result.contiguous(MemoryFormat::ChannelsLast) : result;
}

// One value for each dimension; a single one counts for all.
DimVector spread(const char* op, const char* what, IntArrayRef list, int64_t n) {
  CRESSET_CHECK(list.size() == 1 || static_cast<int64_t>(list.size()) == n, op, ": expected ", what, " to hold 1 or ", n, " values, got ", list);
  return list.size() == 1 ? DimVector(static_cast<size_t>(n), list[0]) : DimVector(list);
}

std::tuple<Tensor, Tensor> fractional(const char* op, int64_t n, const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                      const Tensor& random_samples) {
  const DimVector kernel = spread(op, "kernel_size", kernel_size, n), size = spread(op, "output_size", output_size, n);
  CRESSET_CHECK(self.dim() == n + 1 || self.dim() == n + 2, op, ": expected ", n + 1, " or ", n + 2, " dimensions, got ", self.sizes());
  const Tensor input = self.dim() == n + 2 ? self : self.unsqueeze(0);
  CRESSET_CHECK(product(input.sizes().slice(1)) > 0, op, ": expected dimensions other than the batch to have elements, got shape ", self.sizes());
  CRESSET_CHECK(random_samples.dim() == 3 && random_samples.size(0) >= input.size(0) && random_samples.size(1) == input.size(1) && random_samples.size(2) == n,
                op, ": expected random samples of shape [", input.size(0), ", ", input.size(1), ", ", n, "], got ", random_samples.sizes());
  const int64_t batch = input.size(0), planes = input.size(1);
  const Tensor samples = random_samples.narrow(0, 0, batch);
  const TensorOptions floats = TensorOptions(self.scalar_type()).device(self.device()), integers = floats.dtype(kLong);
  // Of each window and each place within it, the position in the flattened plane: (N, C, *size, *kernel).
  Tensor position = cresset::zeros({}, integers);
  for (int64_t d = 0; d < n; d++) {
    const int64_t extent = input.size(d + 2), out = size[static_cast<size_t>(d)], k = kernel[static_cast<size_t>(d)];
    CRESSET_CHECK(k > 0 && k <= extent && out >= 0 && out + k - 1 <= extent, op, ": a window of ", k, " and an output of ", out, " do not fit a size of ",
                  extent);
    const Tensor sample = samples.select(-1, n == 3 ? d : n - 1 - d).to(self.scalar_type()).unsqueeze(-1);
    Tensor starts = cresset::full({batch, planes, std::min<int64_t>(out, 1)}, extent - k, integers);
    if (out > 1) {
      const double alpha = static_cast<double>(extent - k) / static_cast<double>(out - 1);
      const Tensor steps = cresset::arange(out - 1, floats);
      starts = cresset::cat({((steps + sample) * alpha).to(kLong) - (sample * alpha).to(kLong), starts}, -1);
    }
    DimVector shape(static_cast<size_t>(2 * n + 2), 1), within(static_cast<size_t>(2 * n), 1);
    shape[0] = batch;
    shape[1] = planes;
    shape[static_cast<size_t>(d + 2)] = out;
    within[static_cast<size_t>(n + d)] = k;
    position = position * extent + starts.reshape(shape) + cresset::arange(k, integers).reshape(within);
  }
  std::vector<int64_t> whole = {batch, planes};
  whole.insert(whole.end(), size.begin(), size.end());
  whole.insert(whole.end(), kernel.begin(), kernel.end());
  position = position.expand(whole).reshape({batch, planes, product(size), product(kernel)});
  const auto [values, which] = input.flatten(2).gather(2, position.flatten(2)).reshape(position.sizes()).max(3);
  const Tensor out = values.unflatten(2, size), indices = position.gather(3, which.unsqueeze(3)).squeeze(3).unflatten(2, size);
  if (self.dim() == n + 1) return {out.squeeze(0), indices.squeeze(0)};
  return {out, indices};
}

}  // namespace

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size) { return unpool("max_unpool2d", self, indices, output_size); }
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntArrayRef output_size, IntArrayRef, IntArrayRef) {
  return unpool("max_unpool3d", self, indices, output_size);
}
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size, const Tensor& random_samples) {
  return fractional("fractional_max_pool2d", 2, self, kernel_size, output_size, random_samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size, const Tensor& random_samples) {
  return fractional("fractional_max_pool3d", 3, self, kernel_size, output_size, random_samples);
}

}  // namespace cresset::ops::composite
