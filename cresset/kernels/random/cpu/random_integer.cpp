#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/cpu/random_u53.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int64_t kBlock = 1248;

// Exact for any word and any divisor up to 2^32: the rounded quotient of two such integers never reaches the next integer.
CRESSET_ALWAYS_INLINE double remainder(uint32_t word, double divisor) {
  const double w = static_cast<double>(static_cast<int32_t>(word ^ 0x80000000u)) + 0x1p31;
  return w - std::trunc(w / divisor) * divisor;
}

// words[i] mod range in place.
void reduce(uint32_t* words, int64_t n, uint64_t range) {
  if (std::has_single_bit(range)) {
    const uint32_t mask = static_cast<uint32_t>(range - 1);
    for (int64_t i = 0; i < n; i++) words[i] &= mask;
    return;
  }
  const double divisor = static_cast<double>(range);
  for (int64_t i = 0; i < n; i++) words[i] = static_cast<uint32_t>(static_cast<int32_t>(remainder(words[i], divisor)));
}

template <class T, class I> CRESSET_ALWAYS_INLINE T cast(I v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(static_cast<float>(v));
  else if constexpr (std::is_same_v<T, bool>) return v != 0;
  else return static_cast<T>(v);
}

template <class T> void mod(Mt19937& engine, T* out, int64_t n, uint64_t range, int64_t from) {
  alignas(64) uint32_t words[kBlock];
  using Limits = std::numeric_limits<int32_t>;
  const bool fits32 = from >= Limits::min() && from + static_cast<int64_t>(range) - 1 <= Limits::max();
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    random_words(engine, words, m);
    reduce(words, m, range);
    T* const y = out + begin;
    if (fits32) {
      const int32_t shift = static_cast<int32_t>(from);
      for (int64_t i = 0; i < m; i++) y[i] = cast<T>(static_cast<int32_t>(words[i]) + shift);
    } else {
      for (int64_t i = 0; i < m; i++) y[i] = cast<T>(static_cast<int64_t>(words[i]) + from);
    }
  }
}

template <class T> void mod64(Mt19937& engine, T* out, int64_t n, uint64_t range, int64_t from) {
  alignas(64) uint32_t words[kBlock];
  const WordPair* const pairs = reinterpret_cast<const WordPair*>(words);
  const bool whole = range == 0 || std::has_single_bit(range);
  // Otherwise a quotient by multiplication, at most one too small.
  const uint64_t mask = range - 1, inverse = whole ? 0 : ~uint64_t{0} / range;
  const uint64_t shift = static_cast<uint64_t>(from);
  for (int64_t begin = 0; begin < n; begin += kBlock / 2) {
    const int64_t m = std::min(kBlock / 2, n - begin);
    random_words(engine, words, 2 * m);
    T* const y = out + begin;
    if (whole) {
      for (int64_t i = 0; i < m; i++) y[i] = cast<T>(static_cast<int64_t>((in_order(pairs[i]) & mask) + shift));
      continue;
    }
    for (int64_t i = 0; i < m; i++) {
      const uint64_t q = in_order(pairs[i]);
      uint64_t r = q - static_cast<uint64_t>((static_cast<unsigned __int128>(q) * inverse) >> 64) * range;
      r -= range & (uint64_t{0} - static_cast<uint64_t>(r >= range));
      y[i] = cast<T>(static_cast<int64_t>(r + shift));
    }
  }
}

template <class F> void visit(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Byte: return f(uint8_t{});
    case ScalarType::Char: return f(int8_t{});
    case ScalarType::Short: return f(int16_t{});
    case ScalarType::Int: return f(int32_t{});
    case ScalarType::Long: return f(int64_t{});
    case ScalarType::Half: return f(Half{});
    case ScalarType::Float: return f(float{});
    case ScalarType::Double: return f(double{});
    case ScalarType::Bool: return f(bool{});
    case ScalarType::BFloat16: return f(BFloat16{});
    case ScalarType::UInt16: return f(uint16_t{});
    case ScalarType::UInt32: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

}  // namespace

void random_mod(Mt19937& engine, void* out, ScalarType dtype, int64_t n, uint64_t range, int64_t from) {
  visit(dtype, [&](auto zero) { mod(engine, static_cast<decltype(zero)*>(out), n, range, from); });
}

void random_mod64(Mt19937& engine, void* out, ScalarType dtype, int64_t n, uint64_t range, int64_t from) {
  visit(dtype, [&](auto zero) { mod64(engine, static_cast<decltype(zero)*>(out), n, range, from); });
}

void random_shuffle(Mt19937& engine, uint32_t* out, int64_t n) {
  constexpr int64_t kAhead = 192;
  alignas(64) uint32_t partner[2][kAhead];
  for (int64_t i = 0; i < n; i++) out[i] = static_cast<uint32_t>(i);
  // The partners of one block of swaps are known, and on their way to the cache, while the previous block is swapped.
  const auto prepare = [&](int64_t begin, uint32_t* z) {
    const int64_t m = std::min(kAhead, n - 1 - begin);
    random_words(engine, z, m);
    for (int64_t i = 0; i < m; i++) {
      const double left = static_cast<double>(static_cast<int32_t>(n - begin) - static_cast<int32_t>(i));
      z[i] = static_cast<uint32_t>(static_cast<int32_t>(remainder(z[i], left)) + static_cast<int32_t>(begin) + static_cast<int32_t>(i));
    }
    for (int64_t i = 0; i < m; i++) __builtin_prefetch(out + z[i], 1);
  };
  if (n > 1) prepare(0, partner[0]);
  for (int64_t begin = 0, block = 0; begin < n - 1; begin += kAhead, block ^= 1) {
    if (begin + kAhead < n - 1) prepare(begin + kAhead, partner[block ^ 1]);
    const int64_t m = std::min(kAhead, n - 1 - begin);
    for (int64_t i = 0; i < m; i++) std::swap(out[begin + i], out[partner[block][i]]);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
