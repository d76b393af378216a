#pragma once
// Fourier transforms of one row, or of as many rows as a vector has lanes. Complex numbers are pairs of T.

#include "cresset/kernels/fft/fft_plan.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

enum class FftKind : int { c2c, r2c, c2r };

// Up to `lanes` rows of n elements. Offsets, one a row, and steps count elements of the input's and the output's type. Of the
// spectrum of a real row there are n / 2 + 1 elements.
template <class T> struct FftLanes {
  FftKind kind;
  int64_t n;
  const T* in;
  T* out;
  const int64_t *in_offsets, *out_offsets;
  int64_t in_step, out_step;
  int count;
  T scale;
  bool inverse;
  const FftLanePlan<T>* plan;  // of n / 2 points for real rows of even length
  const T* roots;              // of FftRealTable, for those
};

}  // namespace cresset::kernels

#define CRESSET_DECLARE_FFT(T)                                                                                                                             \
  CRESSET_DECLARE_KERNEL(int, fft_lanes_##T, ())                                                                                                           \
  /* One contiguous row, in place or not. work: middle_size() + scratch_size() elements. */                                                                \
  CRESSET_DECLARE_KERNEL(void, fft_row_##T, (const FftRowPlan<T>& plan, const T* in, T* out, T scale, bool inverse, T* work))                              \
  /* Its halves, for groups [begin, end) of columns and of rows; not for convolutions. scratch: scratch_size(). */                                         \
  CRESSET_DECLARE_KERNEL(void, fft_columns_##T, (const FftRowPlan<T>& plan, const T* in, T* middle, bool inverse, int64_t begin, int64_t end, T* scratch)) \
  CRESSET_DECLARE_KERNEL(void, fft_rows_##T,                                                                                                               \
                         (const FftRowPlan<T>& plan, const T* middle, T* out, T scale, bool inverse, int64_t begin, int64_t end, T* scratch))              \
  /* scratch: 2 * (n + 2) * 2 * lanes elements. */                                                                                                         \
  CRESSET_DECLARE_KERNEL(void, fft_lane_rows_##T, (const FftLanes<T>& rows, T* scratch))                                                                   \
  /* z[h] -> x[h + 1], the spectrum of 2 h real numbers from that of h pairs of them, and back; in place or not. */                                        \
  CRESSET_DECLARE_KERNEL(void, fft_untangle_##T, (const T* z, T* x, int64_t h, const T* roots, T scale))                                                   \
  CRESSET_DECLARE_KERNEL(void, fft_tangle_##T, (const T* x, T* z, int64_t h, const T* roots, T scale))

CRESSET_DECLARE_FFT(float)
CRESSET_DECLARE_FFT(double)
#undef CRESSET_DECLARE_FFT

namespace cresset::kernels {

#define CRESSET_FFT_OF(name)                                      \
  template <class T> auto name##_of() {                           \
    if constexpr (sizeof(T) == 4) return call(name##_float_stub); \
    else return call(name##_double_stub);                         \
  }
CRESSET_FFT_OF(fft_lanes)
CRESSET_FFT_OF(fft_row)
CRESSET_FFT_OF(fft_columns)
CRESSET_FFT_OF(fft_rows)
CRESSET_FFT_OF(fft_lane_rows)
CRESSET_FFT_OF(fft_untangle)
CRESSET_FFT_OF(fft_tangle)
#undef CRESSET_FFT_OF

}  // namespace cresset::kernels
