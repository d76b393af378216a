#pragma once
// The inner loops of resizing: weighted sums of rows, and weighted sums along a row.

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// For each output place, the input places that contribute to it and their weights: `taps` of each, the surplus ones with weight 0.
template <class A> struct ResizeAxis {
  int64_t in, out, taps;
  const int64_t* index;  // [out][taps]
  const A* weight;       // [out][taps]
};

}  // namespace cresset::kernels

// `planes` contiguous planes of up to three axes, depth first; unused ones have size 1 and one tap. t is float, half, bfloat16 or
// uint8 with A = float, and double with A = double. Backward adds up in `grad_in`, of A, which it overwrites.
CRESSET_DECLARE_KERNEL(void, resize_planes_float, (ScalarType t, void* out, const void* in, int64_t planes, const ResizeAxis<float>* axes))
CRESSET_DECLARE_KERNEL(void, resize_planes_double, (ScalarType t, void* out, const void* in, int64_t planes, const ResizeAxis<double>* axes))
CRESSET_DECLARE_KERNEL(void, resize_planes_backward_float, (ScalarType t, void* grad_in, const void* grad, int64_t planes, const ResizeAxis<float>* axes))
CRESSET_DECLARE_KERNEL(void, resize_planes_backward_double, (ScalarType t, void* grad_in, const void* grad, int64_t planes, const ResizeAxis<double>* axes))
// uint8 images of pixels of 1, 3 or 4 bytes: along the rows, then across them, each rounded to bytes. axes and shifts: height and width; an
// axis of no taps is kept. Weights fit 16 bits; the places of one output follow each other, but for repeats at the ends.
CRESSET_DECLARE_KERNEL(void, resize_planes_bytes,
                       (uint8_t * out, const uint8_t* in, int64_t planes, int channels, const ResizeAxis<int32_t>* axes, const int* shifts))
