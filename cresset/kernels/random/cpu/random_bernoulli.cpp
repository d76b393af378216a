#include <algorithm>
#include <cstring>

#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/cpu/random_narrow.h"
#include "cresset/kernels/random/cpu/random_u53.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int64_t kPairs = 624;

// U: the unsigned integer of an element's size.
template <class U> void bernoulli(Mt19937& engine, void* out, int64_t n, uint64_t threshold, U one) {
  alignas(64) uint32_t words[2 * kPairs];
  const WordPair* const pairs = reinterpret_cast<const WordPair*>(words);
  for (int64_t begin = 0; begin < n; begin += kPairs) {
    const int64_t m = std::min(kPairs, n - begin);
    random_words(engine, words, 2 * m);
    char* const y = static_cast<char*>(out) + begin * static_cast<int64_t>(sizeof(U));
    for (int64_t i = 0; i < m; i++) {
      const U v = static_cast<int64_t>(bits53(pairs[i])) < static_cast<int64_t>(threshold) ? one : U{0};
      std::memcpy(y + i * static_cast<int64_t>(sizeof(U)), &v, sizeof v);
    }
  }
}

template <class T> void dropout(Mt19937& engine, T* out, T* noise, const T* x, int64_t n, uint64_t threshold, T scale) {
  alignas(64) T local[kPairs];
  [[maybe_unused]] alignas(64) float wide_noise[kPairs], wide_x[kPairs];
  uint64_t one = 0;
  std::memcpy(&one, &scale, sizeof scale);
  for (int64_t begin = 0; begin < n; begin += kPairs) {
    const int64_t m = std::min(kPairs, n - begin);
    T* const factor = noise ? noise + begin : local;
    random_bernoulli(engine, factor, sizeof(T), m, threshold, one);
    const T* const a = x + begin;
    T* const y = out + begin;
    if constexpr (sizeof(T) == 2) {
      widen(wide_noise, factor, m);
      widen(wide_x, a, m);
      for (int64_t i = 0; i < m; i++) wide_x[i] *= wide_noise[i];
      narrow(y, wide_x, m);
    } else {
      for (int64_t i = 0; i < m; i++) y[i] = a[i] * factor[i];
    }
  }
}

}  // namespace

void random_bernoulli(Mt19937& engine, void* out, size_t item, int64_t n, uint64_t threshold, uint64_t one) {
  switch (item) {
    case 1: return bernoulli(engine, out, n, threshold, static_cast<uint8_t>(one));
    case 2: return bernoulli(engine, out, n, threshold, static_cast<uint16_t>(one));
    case 4: return bernoulli(engine, out, n, threshold, static_cast<uint32_t>(one));
    default: return bernoulli(engine, out, n, threshold, one);
  }
}

void random_dropout(Mt19937& engine, void* out, void* noise, const void* x, ScalarType dtype, int64_t n, uint64_t threshold, float scale, double double_scale) {
  const auto run = [&](auto* typed, auto factor) {
    using T = std::remove_pointer_t<decltype(typed)>;
    dropout(engine, typed, static_cast<T*>(noise), static_cast<const T*>(x), n, threshold, T(factor));
  };
  switch (dtype) {
    case ScalarType::Float: return run(static_cast<float*>(out), scale);
    case ScalarType::Double: return run(static_cast<double*>(out), double_scale);
    case ScalarType::Half: return run(static_cast<Half*>(out), scale);
    default: return run(static_cast<BFloat16*>(out), scale);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
