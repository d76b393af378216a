#include "cresset/kernels/index/cpu/compress.h"
#include "cresset/kernels/cpu/item.h"

#include <bit>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace cresset::kernels::CRESSET_ISA {

namespace {

// 64 bytes to 64 bits, set where a byte is not zero.
uint64_t word_of_bytes(const uint8_t* bytes) {
#if defined(__AVX512BW__)
  const __m512i v = _mm512_loadu_si512(bytes);
  return _mm512_test_epi8_mask(v, v);
#elif defined(__AVX2__)
  const __m256i zero = _mm256_setzero_si256();
  const auto half = [&](const uint8_t* p) {
    return static_cast<uint32_t>(~_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), zero)));
  };
  return half(bytes) | static_cast<uint64_t>(half(bytes + 32)) << 32;
#else
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) {
    uint64_t eight;
    std::memcpy(&eight, bytes + 8 * i, 8);
    // The top bit of each byte becomes `byte != 0`, then the product moves the eight of them side by side.
    const uint64_t low = 0x7f7f7f7f7f7f7f7full;
    const uint64_t set = (((eight & low) + low) | eight) >> 7 & 0x0101010101010101ull;
    word |= (set * 0x0102040810204080ull >> 56) << (8 * i);
  }
  return word;
#endif
}

int64_t bits_of_bytes(const uint8_t* bytes, int64_t n, uint64_t* bits) {
  int64_t count = 0;
  const int64_t whole = n / 64;
  for (int64_t w = 0; w < whole; w++) count += std::popcount(bits[w] = word_of_bytes(bytes + 64 * w));
  if (n % 64 != 0) {
    uint8_t last[64] = {};
    std::memcpy(last, bytes + 64 * whole, static_cast<size_t>(n % 64));
    count += std::popcount(bits[whole] = word_of_bytes(last));
  }
  return count;
}

// `significant` leaves out the sign bits of floating dtypes: -0 is zero.
template <class U> int64_t bits_of(const U* x, int64_t n, U significant, uint64_t* bits) {
  uint8_t bytes[kMaskBlock];
  for (int64_t i = 0; i < n; i++) bytes[i] = (x[i] & significant) != 0;
  return bits_of_bytes(bytes, n, bits);
}

// Calls f(i) for the bits set.
template <class F> void for_each_bit(const uint64_t* bits, int64_t words, F f) {
  for (int64_t w = 0; w < words; w++)
    for (uint64_t rest = bits[w]; rest; rest &= rest - 1) f(64 * w + std::countr_zero(rest));
}

template <class T> void compress(const T* x, const uint64_t* bits, int64_t words, T* out) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int kLanes = 64 / sizeof(T);
    for (int64_t w = 0; w < words; w++) {
      uint64_t rest = bits[w];
      if (rest == 0) continue;
      const T* from = x + 64 * w;
      for (; rest; from += kLanes, rest >>= kLanes) {
        const uint32_t mask = static_cast<uint32_t>(rest & ((uint64_t{1} << kLanes) - 1));
        const int count = std::popcount(mask);
        const uint32_t filled = (1u << count) - 1;
        if constexpr (sizeof(T) == 4) {
          const __m512i v = _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
          _mm512_mask_storeu_epi32(out, static_cast<__mmask16>(filled), v);
        } else {
          const __m512i v = _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), _mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
          _mm512_mask_storeu_epi64(out, static_cast<__mmask8>(filled), v);
        }
        out += count;
      }
    }
    return;
  }
#endif
  for_each_bit(bits, words, [&](int64_t i) { *out++ = x[i]; });
}

}  // namespace

int64_t mask_bits(ScalarType t, const void* x, int64_t n, uint64_t* bits) {
  switch (t) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char: return bits_of_bytes(static_cast<const uint8_t*>(x), n, bits);
    case ScalarType::Short:
    case ScalarType::UInt16: return bits_of<uint16_t>(static_cast<const uint16_t*>(x), n, 0xffff, bits);
    case ScalarType::Half:
    case ScalarType::BFloat16: return bits_of<uint16_t>(static_cast<const uint16_t*>(x), n, 0x7fff, bits);
    case ScalarType::Int:
    case ScalarType::UInt32: return bits_of<uint32_t>(static_cast<const uint32_t*>(x), n, ~0u, bits);
    case ScalarType::Float: return bits_of<uint32_t>(static_cast<const uint32_t*>(x), n, 0x7fffffff, bits);
    case ScalarType::Double: return bits_of<uint64_t>(static_cast<const uint64_t*>(x), n, 0x7fffffffffffffff, bits);
    case ScalarType::ComplexFloat: return bits_of<uint64_t>(static_cast<const uint64_t*>(x), n, 0x7fffffff7fffffff, bits);
    case ScalarType::ComplexDouble: {
      uint8_t bytes[kMaskBlock];
      const Sixteen* z = static_cast<const Sixteen*>(x);
      for (int64_t i = 0; i < n; i++) bytes[i] = ((z[i].part[0] | z[i].part[1]) & 0x7fffffffffffffffull) != 0;
      return bits_of_bytes(bytes, n, bits);
    }
    default: return bits_of<uint64_t>(static_cast<const uint64_t*>(x), n, ~0ull, bits);
  }
}

void compress_positions(const uint64_t* bits, int64_t words, int64_t base, int64_t* out) {
#if defined(__AVX512BW__)
  const __m512i step = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (int64_t w = 0; w < words; w++) {
    __m512i v = _mm512_add_epi64(_mm512_set1_epi64(base + 64 * w), step);
    for (uint64_t rest = bits[w]; rest; rest >>= 8) {
      const __mmask8 mask = static_cast<__mmask8>(rest);
      const int count = std::popcount(static_cast<uint32_t>(mask));
      _mm512_mask_storeu_epi64(out, static_cast<__mmask8>((1u << count) - 1), _mm512_maskz_compress_epi64(mask, v));
      out += count;
      v = _mm512_add_epi64(v, _mm512_set1_epi64(8));
    }
  }
#else
  for_each_bit(bits, words, [&](int64_t i) { *out++ = base + i; });
#endif
}

void compress_elements(int64_t item, const void* x, const uint64_t* bits, int64_t words, void* out) {
  visit_item(item, [&](auto tag) {
    using T = decltype(tag);
    compress(static_cast<const T*>(x), bits, words, static_cast<T*>(out));
  });
}

void expand_elements(int64_t item, const void* packed, const uint64_t* bits, int64_t words, void* out) {
  visit_item(item, [&](auto tag) {
    using T = decltype(tag);
    const T* from = static_cast<const T*>(packed);
    for_each_bit(bits, words, [&](int64_t i) { static_cast<T*>(out)[i] = *from++; });
  });
}

void fill_masked(int64_t item, void* x, const uint8_t* mask, const void* value, int64_t n) {
  visit_item(item, [&](auto tag) {
    using T = decltype(tag);
    T* to = static_cast<T*>(x);
    T v;
    std::memcpy(&v, value, sizeof v);
    if constexpr (sizeof(T) == 16) {
      for (int64_t i = 0; i < n; i++)
        if (mask[i]) to[i] = v;
    } else {
      for (int64_t i = 0; i < n; i++) to[i] = mask[i] ? v : to[i];
    }
  });
}

}  // namespace cresset::kernels::CRESSET_ISA
