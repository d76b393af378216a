#pragma once
// How a thread's processor treats denormal numbers, those too small for full precision: computed with, slowly, or taken for zero.

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cresset::detail {

#if defined(__SSE2__)
constexpr bool kFlushesDenormals = true;
constexpr uint32_t kFlushBits = 0x8040;  // results, and operands
inline bool flushes_denormals() { return (_mm_getcsr() & kFlushBits) == kFlushBits; }
inline void flush_denormals(bool on) { _mm_setcsr(on ? _mm_getcsr() | kFlushBits : _mm_getcsr() & ~kFlushBits); }
#elif defined(__aarch64__)
constexpr bool kFlushesDenormals = true;
constexpr uint64_t kFlushBits = uint64_t{1} << 24;
inline uint64_t float_control() {
  uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
inline bool flushes_denormals() { return float_control() & kFlushBits; }
inline void flush_denormals(bool on) {
  const uint64_t bits = on ? float_control() | kFlushBits : float_control() & ~kFlushBits;
  asm volatile("msr fpcr, %0" : : "r"(bits));
}
#else
constexpr bool kFlushesDenormals = false;
inline bool flushes_denormals() { return false; }
inline void flush_denormals(bool) {}
#endif

}  // namespace cresset::detail
