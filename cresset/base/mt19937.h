#pragma once
// The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), positioned the way PyTorch's CPU generator is.

#include <cstdint>

#include "cresset/base/macros.h"

namespace cresset {

class CRESSET_API Mt19937 {
 public:
  static constexpr int kWords = 624, kShift = 397;

  explicit Mt19937(uint64_t seed = 5489) { this->seed(seed); }

  // Starts over. Only the low 32 bits choose the sequence; all 64 are remembered.
  void seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }

  // The next 32-bit word of the stream.
  uint32_t random() {
    if (left_ == 1) refill();
    left_--;
    return temper(words_[next_++]);
  }
  // Two words of the stream, the first one in the upper half.
  uint64_t random64() {
    const uint64_t high = random();
    return (high << 32) | random();
  }

  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

  // The untempered block and the position in it, for code that produces words in bulk. `left - 1` words from `next` on are still
  // unused; at left == 1 the next word starts a new block.
  uint32_t* block() { return words_; }
  const uint32_t* block() const { return words_; }
  int next() const { return next_; }
  int left() const { return left_; }
  void set_position(int next, int left) {
    next_ = next;
    left_ = left;
  }
  void set_initial_seed(uint64_t seed) { seed_ = seed; }

 private:
  void refill();

  uint64_t seed_;
  int next_, left_;
  alignas(64) uint32_t words_[kWords];
};

}  // namespace cresset
