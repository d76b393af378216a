#include "cresset/io/crc.h"

#include <zlib.h>

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cresset::io {

namespace {

#if defined(__x86_64__)

// Polynomials over GF(2) with the bits of numbers reversed: the highest coefficient is bit 0. x^n modulo the checksum's polynomial, moved up
// one bit, as carry-less products of reversed numbers need it.
constexpr uint64_t power(int n) {
  uint32_t r = 0x80000000;
  for (int i = 0; i < n; i++) r = r >> 1 ^ (r & 1 ? 0xedb88320 : 0);
  return uint64_t{r} << 1;
}

#define CRESSET_CLMUL __attribute__((target("pclmul,sse4.1")))
#define CRESSET_WIDE_CLMUL __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul")))

CRESSET_CLMUL inline __m128i block(const char* p, size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i); }
// A block of 128 bits is replaced by one congruent to it so many bits further on; the blocks there take it in. The remainder has
// the remainder of the whole. (Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, 2009.)
CRESSET_CLMUL inline __m128i fold(__m128i x, __m128i by, __m128i next) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11)), next);
}
template <int Bits> CRESSET_CLMUL inline __m128i factor() {
  constexpr uint64_t low = power(Bits + 32), high = power(Bits - 32);
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}

CRESSET_CLMUL uint32_t crc_by_128(uint32_t crc, const char* p, size_t size) {
  __m128i a = _mm_xor_si128(block(p, 0), _mm_cvtsi32_si128(static_cast<int>(~crc))), b = block(p, 1), c = block(p, 2), d = block(p, 3);
  const __m128i by = factor<512>(), one = factor<128>();
  for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
    a = fold(a, by, block(p, 0));
    b = fold(b, by, block(p, 1));
    c = fold(c, by, block(p, 2));
    d = fold(d, by, block(p, 3));
  }
  alignas(16) unsigned char rest[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(rest), fold(fold(fold(a, one, b), one, c), one, d));
  return static_cast<uint32_t>(crc32_z(crc32_z(0xffffffff, rest, sizeof rest), reinterpret_cast<const Bytef*>(p), size));
}

CRESSET_WIDE_CLMUL inline __m512i block4(const char* p, size_t i) { return _mm512_loadu_si512(p + 64 * i); }
CRESSET_WIDE_CLMUL inline __m512i fold4(__m512i x, __m512i by, __m512i next) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, by, 0x00), _mm512_clmulepi64_epi128(x, by, 0x11), next, 0x96);
}

CRESSET_WIDE_CLMUL uint32_t crc_by_512(uint32_t crc, const char* p, size_t size) {
  __m512i a = _mm512_xor_si512(block4(p, 0), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~crc)))), b = block4(p, 1), c = block4(p, 2),
          d = block4(p, 3);
  const __m512i by = _mm512_maskz_broadcast_i32x4(0xffff, factor<2048>()), one = _mm512_maskz_broadcast_i32x4(0xffff, factor<512>());
  for (p += 256, size -= 256; size >= 256; p += 256, size -= 256) {
    a = fold4(a, by, block4(p, 0));
    b = fold4(b, by, block4(p, 1));
    c = fold4(c, by, block4(p, 2));
    d = fold4(d, by, block4(p, 3));
  }
  alignas(64) char rest[64];
  _mm512_store_si512(rest, fold4(fold4(fold4(a, one, b), one, c), one, d));
  const uint32_t joined = crc_by_128(0xffffffff, rest, sizeof rest);
  return size < 64 ? static_cast<uint32_t>(crc32_z(joined, reinterpret_cast<const Bytef*>(p), size)) : crc_by_128(joined, p, size);
}

#undef CRESSET_CLMUL
#undef CRESSET_WIDE_CLMUL

#endif

using Sum = uint32_t (*)(uint32_t, const char*, size_t);

uint32_t crc_by_table(uint32_t crc, const char* p, size_t size) { return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(p), size)); }

Sum fastest() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq")) return crc_by_512;
  if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) return crc_by_128;
#endif
  return crc_by_table;
}

}  // namespace

uint32_t add_to_crc(uint32_t crc, const void* data, size_t size) {
  static const Sum sum = fastest();
  const char* p = static_cast<const char*>(data);
  return size < 512 ? crc_by_table(crc, p, size) : sum(crc, p, size);
}

uint32_t join_crc(uint32_t first, uint32_t second, size_t size) { return static_cast<uint32_t>(crc32_combine(first, second, static_cast<z_off_t>(size))); }

}  // namespace cresset::io
