#pragma once
// Weighted sums of a few points of each plane: what grid_sampler makes of an image whose points have been found.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Planes of less than 2^31 points. Point p of every plane is the sum over taps of plane[places[p]] * weights[p] where valid[p].
struct SampledTap {
  const int64_t* places;
  const void* weights;  // null: all 1
  const bool* valid;
};
struct SampledPlanes {
  ScalarType dtype;
  const void* in;  // planes x in_size
  void* out;       // planes x points
  int64_t planes, in_size, points;
  const SampledTap* taps;
  int count;
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, sampled_planes, (const SampledPlanes& p))
