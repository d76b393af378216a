// Reading images and volumes at coordinates between their points.

#include <algorithm>
#include <cmath>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/dispatch/op.h"
#include "cresset/kernels/pool/cpu/sampled_planes.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/refusals.h"
#include "cresset/ops/support.h"

namespace cresset::ops::composite {

namespace {

enum Mode : int64_t { kBilinear, kNearest, kBicubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };

// Mirrored at the edges until it lies inside: at the outer points themselves if they are the corners, else half a point further.
Tensor reflected(const Tensor& x, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = align_corners ? static_cast<double>(size - 1) : static_cast<double>(size);
  if (span == 0) return cresset::zeros_like(x);
  const Tensor away = (x - low).abs(), extra = away.fmod(span);
  const Tensor even = cresset::floor(away / span).fmod(2) == 0;
  return cresset::where(even, extra + low, span + low - extra);
}

Tensor inside(const Tensor& x, int64_t size, int64_t padding, bool align_corners) {
  if (padding == kZeros) return x;
  return (padding == kReflection ? reflected(x, size, align_corners) : x).clamp(0, size - 1);
}

// Positions along one dimension with their weights (undefined: 1) and where they lie inside.
struct Tap {
  Tensor place, weight, valid;
};

Tap tap_at(const Tensor& place, const Tensor& weight, int64_t size) {
  const Tensor valid = (place >= 0).logical_and(place <= size - 1);
  return {place.detach().masked_fill(valid.logical_not(), 0).to(kLong), weight, valid};
}

std::vector<Tap> taps_of(const Tensor& coordinate, int64_t size, int64_t mode, int64_t padding, bool align_corners) {
  const Tensor x = align_corners ? (coordinate + 1) * (static_cast<double>(size - 1) / 2) : ((coordinate + 1) * static_cast<double>(size) - 1) / 2;
  std::vector<Tap> taps;
  if (mode == kBicubic) {
    // Keys' kernel with a = -3/4 (1981).
    const Tensor base = cresset::floor(x).detach(), t = x - base;
    constexpr double a = -0.75;
    auto near = [&](const Tensor& d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    auto far = [&](const Tensor& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const Tensor weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (int i = 0; i < 4; i++) taps.push_back(tap_at(inside(base + (i - 1), size, padding, align_corners), weights[i], size));
    return taps;
  }
  const Tensor place = inside(x, size, padding, align_corners);
  if (mode == kNearest) {
    taps.push_back(tap_at(place.round(), Tensor(), size));
    return taps;
  }
  const Tensor base = cresset::floor(place).detach(), t = place - base;
  taps.push_back(tap_at(base, 1 - t, size));
  taps.push_back(tap_at(base + 1, t, size));
  return taps;
}

// The weighted sums of planes (N, C, points) at the taps, with nothing to record.
Tensor summed(const Tensor& flat, const std::vector<Tap>& taps, IntArrayRef shape) {
  const Tensor out = cresset::empty(shape, flat.options());
  const int64_t channels = flat.size(1), size = flat.size(2), points = shape.empty() ? 1 : out.numel() / std::max<int64_t>(1, shape[0] * channels);
  if (out.numel() == 0) return out;
  const auto item = static_cast<int64_t>(flat.element_size());
  parallel_for(0, shape[0] * channels, std::max<int64_t>(1, 32768 / (points * static_cast<int64_t>(taps.size()))), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end;) {
      const int64_t image = plane / channels, count = std::min(end, (image + 1) * channels) - plane;
      std::vector<kernels::SampledTap> at;
      for (const Tap& tap : taps)
        at.push_back({static_cast<const int64_t*>(tap.place.data_ptr()) + image * points,
                      tap.weight.defined() ? static_cast<const char*>(tap.weight.data_ptr()) + image * points * item : nullptr,
                      static_cast<const bool*>(tap.valid.data_ptr()) + image * points});
      kernels::call(kernels::sampled_planes_stub)({flat.scalar_type(), static_cast<const char*>(flat.data_ptr()) + plane * size * item,
                                                   static_cast<char*>(out.data_ptr()) + plane * points * item, count, size, points, at.data(),
                                                   static_cast<int>(at.size())});
      plane += count;
    }
  });
  return out;
}

Tensor sampled(const char* op, const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
  const int64_t n = input.dim() - 2;
  CRESSET_CHECK((n == 2 || n == 3) && grid.dim() == input.dim(), op, ": expected input and grid of 4 or of 5 dimensions, got an input of shape ", input.sizes(),
                " and grid with sizes ", grid.sizes());
  CRESSET_CHECK(input.size(0) == grid.size(0), op, ": input and grid differ in their batch, got input of shape ", input.sizes(), " and grid with sizes ",
                grid.sizes());
  CRESSET_CHECK(grid.size(-1) == n, op, ": expected grid to have size ", n, " for each place, got a grid of shape ", grid.sizes());
  CRESSET_CHECK(input.scalar_type() == grid.scalar_type(), op, ": expected input and grid to have same dtype, but input has ", input.scalar_type(),
                " and grid has ", grid.scalar_type());
  refuse_integers("grid_sampler", input);
  CRESSET_CHECK(input.device() == grid.device(), op, ": expected input and grid to be on same device, got ", input.device(), " and ", grid.device());
  CRESSET_CHECK(mode >= kBilinear && mode <= (n == 2 ? kBicubic : kNearest), op, ": mode ", mode, " is not there for ", n, " dimensions");
  CRESSET_CHECK(padding >= kZeros && padding <= kReflection, op, ": expected a padding mode of 0, 1 or 2, got ", padding);
  for (int64_t d = 2; d < input.dim(); d++) CRESSET_CHECK(input.size(d) > 0, op, ": the input has no places, got shape ", input.sizes());

  std::vector<std::vector<Tap>> taps;
  int64_t combinations = 1;
  for (int64_t d = 0; d < n; d++) {
    // The last of the grid's numbers belongs to the first dimension.
    taps.push_back(taps_of(grid.select(-1, n - 1 - d), input.size(2 + d), mode, padding, align_corners));
    combinations *= static_cast<int64_t>(taps.back().size());
  }
  DimVector shape(input.sizes().slice(0, 2));
  for (int64_t d = 1; d <= n; d++) shape.push_back(grid.size(d));
  const dispatch::Key key = dispatch::key_of(input, grid);
  const LayerState& state = layer_state();
  const bool direct = (((key.layers | state.included) & ~state.excluded) | key.backend) == 0 &&
                      (input.scalar_type() == kFloat || input.scalar_type() == kDouble) && input.numel() < (int64_t{1} << 31);
  const Tensor flat = input.flatten(2);
  std::vector<Tap> points;
  Tensor sum;
  for (int64_t c = 0; c < combinations; c++) {
    Tensor place, weight, valid;
    for (int64_t d = 0, rest = c; d < n; d++) {
      const Tap& tap = taps[static_cast<size_t>(d)][static_cast<size_t>(rest % static_cast<int64_t>(taps[static_cast<size_t>(d)].size()))];
      rest /= static_cast<int64_t>(taps[static_cast<size_t>(d)].size());
      place = place.defined() ? place * input.size(2 + d) + tap.place : tap.place;
      valid = valid.defined() ? valid.logical_and(tap.valid) : tap.valid;
      if (tap.weight.defined()) weight = weight.defined() ? weight * tap.weight : tap.weight;
    }
    if (direct) {
      points.push_back({place.contiguous(), weight.defined() ? weight.contiguous() : weight, valid.contiguous()});
      continue;
    }
    const Tensor row = place.flatten(1).unsqueeze(1).expand({input.size(0), input.size(1), -1});
    Tensor values = flat.gather(2, row).view(shape);
    if (weight.defined()) values = values * weight.unsqueeze(1);
    values = values.masked_fill(valid.logical_not().unsqueeze(1), 0);
    sum = sum.defined() ? sum + values : values;
  }
  if (direct) return summed(flat.contiguous(), points, shape);
  // The nearest point does not move with the grid, whose gradient is zero.
  if (mode == kNearest && layer_state().grad_mode && grid.requires_grad()) {
    const Tensor x = grid.select(-1, 0);
    sum = sum + cresset::where(cresset::zeros_like(x, TensorOptions(kBool)), x, 0).unsqueeze(1);
  }
  return sum;
}

}  // namespace

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  return sampled("grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  CRESSET_CHECK(input.dim() == 4, "grid_sampler_2d: expected 4D input, got shape ", input.sizes());
  return sampled("grid_sampler_2d", input, grid, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  CRESSET_CHECK(input.dim() == 5, "grid_sampler_3d: expected 5D input, got shape ", input.sizes());
  return sampled("grid_sampler_3d", input, grid, interpolation_mode, padding_mode, align_corners);
}

Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  CRESSET_CHECK(mask.scalar_type() == kBool, "native_dropout_backward: expected a bool mask, got ", mask.scalar_type());
  return grad_output * mask * scale;
}

}  // namespace cresset::ops::composite
