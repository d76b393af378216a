#include <algorithm>

#include "cresset/kernels/random/cpu/random.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int kWords = Mt19937::kWords, kShift = Mt19937::kShift;

CRESSET_ALWAYS_INLINE uint32_t twist(uint32_t u, uint32_t v) { return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ ((0u - (v & 1u)) & 0x9908b0dfu); }

// The next 624 untempered words in place. Every word depends on ones that lie 227 or 397 away, far beyond a vector.
void advance(uint32_t* s) {
  for (int i = 0; i < kWords - kShift; i++) s[i] = s[i + kShift] ^ twist(s[i], s[i + 1]);
#pragma GCC ivdep
  for (int i = kWords - kShift; i < kWords - 1; i++) s[i] = s[i + kShift - kWords] ^ twist(s[i], s[i + 1]);
  s[kWords - 1] = s[kShift - 1] ^ twist(s[kWords - 1], s[0]);
}

void temper(uint32_t* CRESSET_RESTRICT out, const uint32_t* CRESSET_RESTRICT s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t y = s[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    out[i] = y ^ (y >> 18);
  }
}

}  // namespace

void random_words(Mt19937& engine, uint32_t* out, int64_t n) {
  int next = engine.next(), left = engine.left();
  while (n > 0) {
    if (left == 1) {
      advance(engine.block());
      next = 0;
      left = kWords + 1;
    }
    const int64_t take = std::min<int64_t>(n, left - 1);
    temper(out, engine.block() + next, take);
    out += take;
    n -= take;
    next += static_cast<int>(take);
    left -= static_cast<int>(take);
  }
  engine.set_position(next, left);
}

}  // namespace cresset::kernels::CRESSET_ISA
