#include <algorithm>
#include <bit>
#include <cmath>

#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/cpu/random_u53.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// log(v) for v in [2^-53, 1], within a few units in the last place: log(2^k m) with m around 1, and the series of 2 artanh.
CRESSET_ALWAYS_INLINE double log_near(double v) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu, kOne = 0x3ff0000000000000u, kFraction = 0x000fffffffffffffu;
  const uint64_t shifted = std::bit_cast<uint64_t>(v) + (kOne - kSqrtHalf);
  const double k = to_double(shifted >> 52) - 1023.0;
  const double f = std::bit_cast<double>((shifted & kFraction) + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  double r = 2.0 / 23;
  r = std::fma(r, z, 2.0 / 21);
  r = std::fma(r, z, 2.0 / 19);
  r = std::fma(r, z, 2.0 / 17);
  r = std::fma(r, z, 2.0 / 15);
  r = std::fma(r, z, 2.0 / 13);
  r = std::fma(r, z, 2.0 / 11);
  r = std::fma(r, z, 2.0 / 9);
  r = std::fma(r, z, 2.0 / 7);
  r = std::fma(r, z, 2.0 / 5);
  r = std::fma(r, z, 2.0 / 3);
  const double half_square = 0.5 * f * f;
  const double tail = std::fma(s, std::fma(r, z, half_square), k * 1.9082149292705877e-10);
  return k * 0.6931471803691238 - ((half_square - tail) - f);
}

// Whether an error of 64 units in the last place of y might change the float that it rounds to.
CRESSET_ALWAYS_INLINE bool is_doubtful(double y) {
  const int64_t bits = static_cast<int64_t>(std::bit_cast<uint64_t>(y));
  const int64_t from_tie = (bits & 0x1fffffff) - 0x10000000;
  const double magnitude = std::fabs(y);
  return (from_tie + 64 >= 0 && from_tie <= 64) || !(magnitude >= 0x1p-126) || magnitude >= 0x1p127;
}

}  // namespace

void exponential_float(float* out, const double* u, int64_t n, double scale) {
  constexpr int64_t kBlock = 64;
  alignas(64) double y[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    std::fill(std::copy_n(u + begin, m, y), y + kBlock, 0.5);
    int64_t doubtful = 0;
    for (int64_t i = 0; i < kBlock; i++) {
      y[i] = scale * log_near(1.0 - y[i]);
      doubtful |= static_cast<int64_t>(is_doubtful(y[i]));
    }
    for (int64_t i = 0; i < m; i++) out[begin + i] = static_cast<float>(y[i]);
    if (CRESSET_LIKELY(doubtful == 0)) continue;
    for (int64_t i = 0; i < m; i++)
      if (is_doubtful(y[i])) out[begin + i] = static_cast<float>(scale * std::log1p(-u[begin + i]));
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
