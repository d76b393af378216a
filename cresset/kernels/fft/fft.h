#pragma once
// Discrete Fourier transforms along dimensions of arrays (element strides): float, double and their complex types. Every length
// takes O(n log n) operations. Results do not depend on the number of threads.

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels {

// Complex to complex along dims, times scale; out may be self, else it overlaps it nowhere. Forward is exp(-2 pi i j k / n).
void fft_c2c(const Strided& out, const Strided& self, IntArrayRef dims, bool forward, double scale);
// The forward transform of a real array along the last of dims, and then along the others. Along the last one out has n / 2 + 1
// elements, or, if all n, the second half too.
void fft_r2c(const Strided& out, const Strided& self, IntArrayRef dims, double scale);
// The inverse of a spectrum whose second half along dim is the conjugate mirrored; of that, out.size(dim) / 2 + 1 elements are read.
void fft_c2r(const Strided& out, const Strided& self, int64_t dim, double scale);

}  // namespace cresset::kernels
