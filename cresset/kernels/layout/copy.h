#pragma once
// Copies and casts between strided arrays.

#include "cresset/kernels/iter/nd_iter.h"

namespace cresset::kernels {

// dst[...] = cast(src[...]) over `shape`, from any dtype to any dtype; strides as in run_nd. The arrays do not overlap.
// Floats become integers as the hardware converts them (towards 0; out of range: the low bits of int32's or int64's lowest value),
// complex numbers lose their imaginary part, and bool is `!= 0`.
void copy_strided(IntArrayRef shape, Operand dst, Operand src);

}  // namespace cresset::kernels
