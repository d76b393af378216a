#include "cresset/kernels/layout/cpu/stream.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cresset::kernels::CRESSET_ISA {

void stream_copy(char* dst, const char* src, int64_t bytes) {
#if defined(__x86_64__)
  const auto misaligned = static_cast<int64_t>(-reinterpret_cast<intptr_t>(dst) & 63);
  const int64_t head = misaligned < bytes ? misaligned : bytes;
  if (head > 0) std::memcpy(dst, src, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), _mm512_loadu_si512(src + i));
#elif defined(__AVX__)
    for (int k = 0; k < 64; k += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i + k), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i + k)));
#else
    for (int k = 0; k < 64; k += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i + k)));
#endif
  }
  if (i < bytes) std::memcpy(dst + i, src + i, static_cast<size_t>(bytes - i));
#else
  std::memcpy(dst, src, static_cast<size_t>(bytes));
#endif
}

}  // namespace cresset::kernels::CRESSET_ISA
