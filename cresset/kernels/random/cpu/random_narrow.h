#pragma once
// Float to Half or BFloat16 and back in bulk, with the conversion instructions where the instruction set has them.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "cresset/base/dtype.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

[[maybe_unused]] inline void narrow(Half* out, const float* x, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), h);
  }
#endif
  for (; i < n; i++) out[i] = Half(x[i]);
}

[[maybe_unused]] inline void narrow(BFloat16* out, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = BFloat16(x[i]);
}

[[maybe_unused]] inline void widen(float* out, const Half* x, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  for (; i < n; i++) out[i] = static_cast<float>(x[i]);
}

[[maybe_unused]] inline void widen(float* out, const BFloat16* x, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = static_cast<float>(x[i]);
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
