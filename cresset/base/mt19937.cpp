#include "cresset/base/mt19937.h"

namespace cresset {

void Mt19937::seed(uint64_t seed) {
  seed_ = seed;
  words_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; i++) words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  next_ = 0;
  left_ = 1;
}

void Mt19937::refill() {
  const auto twist = [](uint32_t u, uint32_t v) { return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ ((0u - (v & 1u)) & 0x9908b0dfu); };
  uint32_t* const s = words_;
  for (int i = 0; i < kWords - kShift; i++) s[i] = s[i + kShift] ^ twist(s[i], s[i + 1]);
  for (int i = kWords - kShift; i < kWords - 1; i++) s[i] = s[i + kShift - kWords] ^ twist(s[i], s[i + 1]);
  s[kWords - 1] = s[kShift - 1] ^ twist(s[kWords - 1], s[0]);
  next_ = 0;
  left_ = kWords + 1;
}

}  // namespace cresset
