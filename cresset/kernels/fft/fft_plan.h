#pragma once
// Tables of discrete Fourier transforms of one length, computed in long double once and shared by all calls.

#include <cstdint>
#include <memory>
#include <vector>

#include "cresset/kernels/common/aligned_buffer.h"

namespace cresset::kernels {

// One pass of a Stockham transform of vectors: `count` butterflies of `radix` vectors that are `count * inner` apart, on `inner`
// vectors each. Its twiddles, radix - 1 for each butterfly, and the roots of a large prime radix are in the plan's table.
struct FftPass {
  int radix;
  int64_t count, inner, twiddles, roots;
};

// Transforms of length n of as many arrays at once as a vector has lanes.
template <class T> struct FftLanePlan {
  explicit FftLanePlan(int64_t n);
  size_t bytes() const { return table.size() * sizeof(T); }

  int64_t n;
  std::vector<FftPass> passes;
  std::vector<T> table;
};

// Transforms of one contiguous row of n = n1 * n2: n1-point transforms of `lanes` neighbouring columns at once, twiddles, a
// transposition, and n2-point transforms of `lanes` rows at once. A length with a large prime factor is a convolution of a
// convenient length instead (Bluestein).
template <class T> struct FftRowPlan {
  FftRowPlan(int64_t n, int lanes);
  int64_t column_groups() const { return (n2 + lanes - 1) / lanes; }
  int64_t row_groups() const { return (n1 + lanes - 1) / lanes; }
  // Elements of T: between the two halves, and for either half.
  int64_t middle_size() const { return row_groups() * n2 * 2 * lanes; }
  int64_t scratch_size() const;
  size_t bytes() const;

  int64_t n, n1, n2;
  int lanes;
  std::unique_ptr<FftLanePlan<T>> columns, rows;
  // Twiddles of a group of columns: for each of n1 rows `lanes` real and `lanes` imaginary parts.
  std::vector<T> twiddles;

  std::unique_ptr<FftRowPlan> convolution;
  std::vector<T> chirp, chirp_transform;  // interleaved; the latter divided by the length of the convolution
};

// exp(-2 pi i k / n) for k <= n / 2, interleaved: real transforms of even length n by complex ones of half of it.
template <class T> struct FftRealTable {
  explicit FftRealTable(int64_t n);
  size_t bytes() const { return roots.size() * sizeof(T); }
  std::vector<T> roots;
};

// Prime factors up to this have a pass.
constexpr int64_t kFftMaxRadix = 61;
bool fft_has_passes(int64_t n);

// Cached; the least recently used ones go when all together exceed some memory.
template <class T> std::shared_ptr<const FftLanePlan<T>> fft_lane_plan(int64_t n);
template <class T> std::shared_ptr<const FftRowPlan<T>> fft_row_plan(int64_t n, int lanes);
template <class T> std::shared_ptr<const FftRealTable<T>> fft_real_table(int64_t n);

}  // namespace cresset::kernels
