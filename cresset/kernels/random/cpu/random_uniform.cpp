#include <algorithm>
#include <cmath>

#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/cpu/random_narrow.h"
#include "cresset/kernels/random/cpu/random_u53.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int64_t kBlock = 1248;  // words: two blocks of the engine

CRESSET_ALWAYS_INLINE float fraction24(uint32_t word) { return static_cast<float>(static_cast<int32_t>(word & 0xffffffu)) * 0x1p-24f; }

void uniform_float(Mt19937& engine, float* out, int64_t n, float from, float to) {
  alignas(64) uint32_t words[kBlock];
  const float range = to - from;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    random_words(engine, words, m);
    float* const y = out + begin;
    for (int64_t i = 0; i < m; i++) {
      const float v = std::fma(fraction24(words[i]), range, from);
      y[i] = v == to ? from : v;
    }
  }
}

template <class T> void uniform_low(Mt19937& engine, T* out, int64_t n, float from, float to) {
  alignas(64) uint32_t words[kBlock];
  alignas(64) float values[kBlock];
  const float range = to - from;
  const T low_from(from), low_to(to);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    random_words(engine, words, m);
    for (int64_t i = 0; i < m; i++) values[i] = std::fma(fraction24(words[i]), range, from);
    T* const y = out + begin;
    narrow(y, values, m);
    // Zeros of both signs are equal.
    const bool to_is_zero = (low_to.x & 0x7fffu) == 0;
    if (to_is_zero) {
      for (int64_t i = 0; i < m; i++) y[i].x = (y[i].x & 0x7fffu) == 0 ? low_from.x : y[i].x;
    } else {
      for (int64_t i = 0; i < m; i++) y[i].x = y[i].x == low_to.x ? low_from.x : y[i].x;
    }
  }
}

void uniform_double(Mt19937& engine, double* out, int64_t n, double from, double to) {
  alignas(64) uint32_t words[kBlock];
  const WordPair* const pairs = reinterpret_cast<const WordPair*>(words);
  const double range = to - from;
  for (int64_t begin = 0; begin < n; begin += kBlock / 2) {
    const int64_t m = std::min(kBlock / 2, n - begin);
    random_words(engine, words, 2 * m);
    double* const y = out + begin;
    for (int64_t i = 0; i < m; i++) {
      const double v = std::fma(fraction53(pairs[i]), range, from);
      y[i] = v == to ? from : v;
    }
  }
}

}  // namespace

void random_uniform(Mt19937& engine, void* out, ScalarType dtype, int64_t n, double from, double to) {
  const float f = static_cast<float>(from), t = static_cast<float>(to);
  switch (dtype) {
    case ScalarType::Float: return uniform_float(engine, static_cast<float*>(out), n, f, t);
    case ScalarType::Double: return uniform_double(engine, static_cast<double*>(out), n, from, to);
    case ScalarType::Half: return uniform_low(engine, static_cast<Half*>(out), n, f, t);
    default: return uniform_low(engine, static_cast<BFloat16*>(out), n, f, t);
  }
}

void words_to_u53(double* data, int64_t n) {
  const WordPair* const pairs = reinterpret_cast<const WordPair*>(data);
  for (int64_t i = 0; i < n; i++) data[i] = fraction53(pairs[i]);
}

void random_below(Mt19937& engine, uint8_t* out, const float* p, int64_t n) {
  alignas(64) uint32_t words[1024];
  random_words(engine, words, n);
  for (int64_t i = 0; i < n; i++) out[i] = fraction24(words[i]) < p[i];
}

}  // namespace cresset::kernels::CRESSET_ISA
