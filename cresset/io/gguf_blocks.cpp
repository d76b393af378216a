// The blocks of quantised types: small whole numbers with one or two scales, bit by bit as the format lays them out.

#include <cstring>

#include "cresset/base/half.h"
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
  for (int j = 0; j < 32; j++) {
    int q = j < 16 ? low[j] & 15 : low[j - 16] >> 4;
    if (Fifth) q |= static_cast<int>(fifth >> j & 1) << 4;
    to[j] = WithMinimum ? static_cast<float>(q) * scale + minimum : static_cast<float>(q - (Fifth ? 16 : 8)) * scale;
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

// Blocks of 256 in groups of 16 or 32 that have scales, and minima, of their own. Two bits of an element: 32 bytes hold 128 of them, one
// group of 32 in each pair of bits.
int two_bits(const Byte* quants, int j) { return quants[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3; }

void q2_k(const Byte* p, float* to) {
  const float scale = half_at(p + 80), minimum = half_at(p + 82);
  for (int j = 0; j < 256; j++) {
    const Byte group = p[j / 16];
    to[j] = scale * static_cast<float>(group & 15) * static_cast<float>(two_bits(p + 16, j)) - minimum * static_cast<float>(group >> 4);
  }
}

void q3_k(const Byte* p, float* to) {
  const Byte *high = p, *quants = p + 32, *scales = p + 96;
  const float scale = half_at(p + 108);
  for (int j = 0; j < 256; j++) {
    const int group = j / 16;
    const int low_bits = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
    const int six_bits = low_bits | (scales[8 + group % 4] >> (group / 4 * 2) & 3) << 4;
    const int q = two_bits(quants, j) - (high[j % 32] >> (j / 32) & 1 ? 0 : 4);
    to[j] = scale * static_cast<float>(six_bits - 32) * static_cast<float>(q);
  }
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

template <bool Fifth>
void q45_k(const Byte* p, float* to) {
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
  const Byte *low = p, *high = p + 128, *scales = p + 192;
  const float scale = half_at(p + 208);
  for (int j = 0; j < 256; j++) {
    const int half = j / 128, within = j % 128;
    const int nibble = low[half * 64 + within % 64] >> (within / 64 * 4) & 15;
    const int q = (nibble | (high[half * 32 + j % 32] >> (within / 32 * 2) & 3) << 4) - 32;
    to[j] = scale * static_cast<float>(static_cast<signed char>(scales[j / 16])) * static_cast<float>(q);
  }
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
