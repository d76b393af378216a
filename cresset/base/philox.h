#pragma once
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): any place of the stream costs the same.

#include <array>
#include <cmath>
#include <cstdint>

namespace cresset {

// The key is the seed; the 128-bit counter is the subsequence above the offset, each step of which gives four words.
class Philox4x32 {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Philox4x32(uint64_t seed = kDefaultSeed, uint64_t subsequence = 0, uint64_t offset = 0) {
    reset_state(seed, subsequence);
    set_offset(offset);
  }
  // Offset 0 of a subsequence.
  void reset_state(uint64_t seed = kDefaultSeed, uint64_t subsequence = 0) {
    seed_ = seed;
    offset_ = 0;
    subsequence_ = subsequence;
    used_ = 0;
  }
  void set_offset(uint64_t offset) { offset_ = offset; }
  uint64_t get_offset() const { return offset_; }

  // The next word of the stream.
  uint32_t operator()(int rounds = 10) {
    if (used_ == 0) {
      words_ = block(rounds);
      incr();
    }
    const uint32_t word = words_[used_];
    used_ = (used_ + 1) % 4;
    return word;
  }
  // A normally distributed number, by the transform of Box and Muller.
  float randn(uint32_t rounds) {
    if (used_ == 0) {
      words_ = block(static_cast<int>(rounds));
      incr();
    }
    const float u1 = 1 - uniform(words_[0]), u2 = 1 - uniform(words_[1]);
    return std::sqrt(-2 * std::log(u1)) * std::cos(6.283185307179586f * u2);
  }
  // Skips 4 n words, and 4.
  void incr_n(uint64_t n) {
    offset_ += n;
    if (offset_ < n) subsequence_++;
  }
  void incr() { incr_n(1); }

 private:
  // In [0, 1), of the upper 24 bits.
  static float uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
  std::array<uint32_t, 4> block(int rounds) const {
    std::array<uint32_t, 4> c{low(offset_), high(offset_), low(subsequence_), high(subsequence_)};
    uint32_t k0 = low(seed_), k1 = high(seed_);
    for (int i = 0; i < rounds; i++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
      const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
      c = {high(b) ^ c[1] ^ k0, low(b), high(a) ^ c[3] ^ k1, low(a)};
    }
    return c;
  }
  static uint32_t low(uint64_t v) { return static_cast<uint32_t>(v); }
  static uint32_t high(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

  uint64_t seed_, subsequence_, offset_;
  std::array<uint32_t, 4> words_{};
  int used_ = 0;
};

}  // namespace cresset
