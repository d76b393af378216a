// Box-Muller. The float logarithm, sine and cosine are Cephes' single precision ones (S. Moshier), with products and sums fused
// exactly where PyTorch's are: every bit of every normal number depends on it.

#include <algorithm>
#include <bit>
#include <cmath>

#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/cpu/random_narrow.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// x in (0, 1].
CRESSET_ALWAYS_INLINE float log_unit(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f000000u);
  const bool small = mantissa < 0.707106781186547524f;
  const float exponent = static_cast<float>(static_cast<int32_t>(bits >> 23) - (small ? 127 : 126));
  x = (mantissa - 1.0f) + (small ? mantissa : 0.0f);
  const float z = x * x;
  float y = 7.0376836292e-2f;
  y = std::fma(y, x, -1.1514610310e-1f);
  y = std::fma(y, x, 1.1676998740e-1f);
  y = std::fma(y, x, -1.2420140846e-1f);
  y = std::fma(y, x, 1.4249322787e-1f);
  y = std::fma(y, x, -1.6668057665e-1f);
  y = std::fma(y, x, 2.0000714765e-1f);
  y = std::fma(y, x, -2.4999993993e-1f);
  y = std::fma(y, x, 3.3333331174e-1f);
  y = std::fma(y * x, z, exponent * -2.12194440e-4f);
  y = std::fma(-z, 0.5f, y);
  return std::fma(exponent, 0.693359375f, x + y);
}

// x >= 0, a few turns at most.
CRESSET_ALWAYS_INLINE void sin_cos(float x, float& sin, float& cos) {
  const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
  const float y = static_cast<float>(octant);
  x = std::fma(y, -0.78515625f, x);
  x = std::fma(y, -2.4187564849853515625e-4f, x);
  x = std::fma(y, -3.77489497744594108e-8f, x);
  const float z = x * x;
  float c = std::fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  c = std::fma(c, z, 4.166664568298827e-2f);
  c = std::fma(c * z, z, -(z * 0.5f)) + 1.0f;
  float s = std::fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
  s = std::fma(s, z, -1.6666654611e-1f);
  s = std::fma(s * z, x, x);
  const uint32_t quadrant = static_cast<uint32_t>(octant) >> 1;
  const bool odd = (quadrant & 1u) != 0;
  const uint32_t sin_bits = std::bit_cast<uint32_t>(odd ? c : s), cos_bits = std::bit_cast<uint32_t>(odd ? s : c);
  sin = std::bit_cast<float>(sin_bits ^ ((quadrant & 2u) << 30));
  cos = std::bit_cast<float>(cos_bits ^ (((quadrant + 1u) & 2u) << 30));
}

// Works on `count` blocks of 16 at a time, so that loops have a constant length.
template <int64_t count> void group(float* out, const float* x, float mean, float std) {
  alignas(64) float radius[count * 8], angle[count * 8];
  for (int64_t b = 0; b < count; b++)
    for (int64_t j = 0; j < 8; j++) {
      radius[b * 8 + j] = x[b * 16 + j];
      angle[b * 8 + j] = x[b * 16 + 8 + j];
    }
  for (int64_t i = 0; i < count * 8; i++) {
    const float r = std::sqrt(-2.0f * log_unit(1.0f - radius[i]));
    float s, c;
    sin_cos(6.2831855f * angle[i], s, c);
    radius[i] = std::fma(r * c, std, mean);
    angle[i] = std::fma(r * s, std, mean);
  }
  for (int64_t b = 0; b < count; b++)
    for (int64_t j = 0; j < 8; j++) {
      out[b * 16 + j] = radius[b * 8 + j];
      out[b * 16 + 8 + j] = angle[b * 8 + j];
    }
}

void store(void* out, ScalarType dtype, int64_t offset, const float* x, int64_t n) {
  if (dtype == ScalarType::Float) std::copy_n(x, n, static_cast<float*>(out) + offset);
  else if (dtype == ScalarType::Half) narrow(static_cast<Half*>(out) + offset, x, n);
  else narrow(static_cast<BFloat16*>(out) + offset, x, n);
}

}  // namespace

void box_muller_float(void* out, ScalarType dtype, const float* x, int64_t blocks, float mean, float std) {
  constexpr int64_t kLarge = 16, kSmall = 2;
  alignas(64) float values[kLarge * 16];
  int64_t b = 0;
  for (; b + kLarge <= blocks; b += kLarge) {
    float* const y = dtype == ScalarType::Float ? static_cast<float*>(out) + b * 16 : values;
    group<kLarge>(y, x + b * 16, mean, std);
    if (y == values) store(out, dtype, b * 16, values, kLarge * 16);
  }
  for (; b < blocks; b += kSmall) {
    const int64_t n = std::min(kSmall, blocks - b) * 16;
    std::fill(std::copy_n(x + b * 16, n, values), values + kSmall * 16, 0.5f);
    group<kSmall>(values, values, mean, std);
    store(out, dtype, b * 16, values, n);
  }
}

void box_muller_double(double* data, int64_t blocks, double mean, double std) {
  for (int64_t b = 0; b < blocks; b++) {
    double* const x = data + b * 16;
    for (int64_t j = 0; j < 8; j++) {
      const double r = std::sqrt(-2.0 * std::log(1.0 - x[j])), angle = 2.0 * M_PI * x[j + 8];
      x[j] = std::fma(r * std::cos(angle), std, mean);
      x[j + 8] = std::fma(r * std::sin(angle), std, mean);
    }
  }
}

void polar_normal(double* data, int64_t pairs) {
  for (int64_t i = 0; i < pairs; i++) {
    const double r = std::sqrt(-2.0 * std::log1p(-data[2 * i + 1])), angle = 2.0 * M_PI * data[2 * i];
    data[2 * i] = r * std::cos(angle);
    data[2 * i + 1] = r * std::sin(angle);
  }
}

void scale_shift(double* data, int64_t n, double scale, double shift) {
  for (int64_t i = 0; i < n; i++) data[i] = std::fma(data[i], scale, shift);
}

}  // namespace cresset::kernels::CRESSET_ISA
