// The blocks of quantised types: small whole numbers with one or two scales, bit by bit as the format lays them out.

#include <cstring>

#include "cresset/base/numbers/half.h"
#include "cresset/io/gguf.h"

namespace cresset::io {

namespace {

using Byte = unsigned char;

float half_at(const Byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return cresset::detail::half_bits_to_float(bits);
}

// Sixteen bytes hold the low four bits of 32 elements: the first half in the low, the second in the high nibbles.
template <int Fifth, bool WithMinimum>  // Fifth: where the fifth bits start; 0 without
void nibbles(const Byte* p, float* to) {
  const float scale = half_at(p), minimum = WithMinimum ? half_at(p + 2) : 0;
  const Byte* low = p + (WithMinimum ? 4 : 2) + (Fifth ? 4 : 0);
  uint32_t fifth = 0;
  if (Fifth) std::memcpy(&fifth, p + Fifth, sizeof fifth);
  for (int half = 0; half < 2; half++) {
    for (int j = 0; j < 16; j++) {
      int q = low[j] >> (4 * half) & 15;
      if (Fifth) q |= static_cast<int>(fifth >> (16 * half + j) & 1) << 4;
      to[16 * half + j] = WithMinimum ? static_cast<float>(q) * scale + minimum : static_cast<float>(q - (Fifth ? 16 : 8)) * scale;
    }
  }
}

void q8_0(const Byte* p, float* to) {
  const float scale = half_at(p);
  for (int j = 0; j < 32; j++) to[j] = static_cast<float>(static_cast<signed char>(p[2 + j])) * scale;
}

void q8_k(const Byte* p, float* to) {
  float scale;
  std::memcpy(&scale, p, sizeof scale);
  for (int j = 0; j < 256; j++) to[j] = static_cast<float>(static_cast<signed char>(p[4 + j])) * scale;
}

// Blocks of 256 in groups of 16 or 32 that have scales, and minima, of their own.

// Sixteen groups of 16. Two bits of an element: 32 bytes hold two groups in each of their pairs of bits.
template <class Group> void by_sixteens(const Byte* quants, Group each) {
  for (int group = 0; group < 16; group++) each(group, quants + group / 8 * 32 + group % 2 * 16, group % 8 / 2 * 2);
}

void q2_k(const Byte* p, float* to) {
  const float scale = half_at(p + 80), minimum = half_at(p + 82);
  by_sixteens(p + 16, [&](int group, const Byte* quants, int shift) {
    const float by = scale * static_cast<float>(p[group] & 15), less = minimum * static_cast<float>(p[group] >> 4);
    for (int j = 0; j < 16; j++) to[group * 16 + j] = by * static_cast<float>(quants[j] >> shift & 3) - less;
  });
}

void q3_k(const Byte* p, float* to) {
  const Byte* scales = p + 96;
  const float scale = half_at(p + 108);
  by_sixteens(p + 32, [&](int group, const Byte* quants, int shift) {
    const int low_bits = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
    const int six_bits = low_bits | (scales[8 + group % 4] >> (group / 4 * 2) & 3) << 4;
    const float by = scale * static_cast<float>(six_bits - 32);
    const Byte* high = p + group % 2 * 16;
    for (int j = 0; j < 16; j++) {
      const int third = high[j] >> (group / 2) & 1;
      to[group * 16 + j] = by * static_cast<float>((quants[j] >> shift & 3) + 4 * third - 4);
    }
  });
}

// Eight pairs of six bits in twelve bytes.
void scale_and_minimum(const Byte* p, int group, int& scale, int& minimum) {
  if (group < 4) {
    scale = p[group] & 63;
    minimum = p[group + 4] & 63;
    return;
  }
  scale = (p[group + 4] & 15) | p[group - 4] >> 6 << 4;
  minimum = p[group + 4] >> 4 | p[group] >> 6 << 4;
}

template <bool Fifth> void q45_k(const Byte* p, float* to) {
  const float scale = half_at(p), minimum = half_at(p + 2);
  const Byte *fifth = p + 16, *low = p + (Fifth ? 48 : 16);
  for (int group = 0; group < 8; group++) {
    int s, m;
    scale_and_minimum(p + 4, group, s, m);
    const float by = scale * static_cast<float>(s), less = minimum * static_cast<float>(m);
    for (int j = 0; j < 32; j++) {
      int q = low[group / 2 * 32 + j] >> (group % 2 * 4) & 15;
      if (Fifth) q |= (fifth[j] >> group & 1) << 4;
      to[group * 32 + j] = by * static_cast<float>(q) - less;
    }
  }
}

void q6_k(const Byte* p, float* to) {
  const float scale = half_at(p + 208);
  by_sixteens(p + 128, [&](int group, const Byte* high, int shift) {
    const Byte* low = p + group / 8 * 64 + group % 4 * 16;
    const int nibble = group % 8 / 4 * 4;
    const float by = scale * static_cast<float>(static_cast<signed char>(p[192 + group]));
    for (int j = 0; j < 16; j++) to[group * 16 + j] = by * static_cast<float>(((low[j] >> nibble & 15) | (high[j] >> shift & 3) << 4) - 32);
  });
}

}  // namespace

bool dequantize(const GgufType& type, const Byte* blocks, int64_t count, float* to) {
  void (*one)(const Byte*, float*) = nullptr;
  switch (type.id) {
    case 2: one = nibbles<0, false>; break;
    case 3: one = nibbles<0, true>; break;
    case 6: one = nibbles<2, false>; break;
    case 7: one = nibbles<4, true>; break;
    case 8: one = q8_0; break;
    case 10: one = q2_k; break;
    case 11: one = q3_k; break;
    case 12: one = q45_k<false>; break;
    case 13: one = q45_k<true>; break;
    case 14: one = q6_k; break;
    case 15: one = q8_k; break;
    default: return false;
  }
  for (int64_t i = 0; i < count; i++) one(blocks + i * type.bytes, to + i * type.block);
  return true;
}

}  // namespace cresset::io
