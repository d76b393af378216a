#include "cresset/kernels/random/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/random/cpu/random.h"

namespace cresset::kernels {

namespace {

constexpr int64_t kDoubleChunk = 32768;  // numbers that pass through doubles at a time
constexpr int64_t kDoubleGrain = 2048;   // of them for one thread
constexpr int64_t kFloatChunk = 262144, kFloatGrain = 32768;

void check_floating(const char* op, ScalarType dtype) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_floating_type(dtype), op, ": not implemented for ", dtype, ", expected a floating dtype");
}

void check_real(const char* op, ScalarType dtype) {
  const bool wide_unsigned = dtype >= ScalarType::UInt16 && dtype <= ScalarType::UInt64;
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(dtype) && !wide_unsigned && dtype < ScalarType::Undefined, op, ": not implemented for ", dtype);
}

char* at(void* out, ScalarType dtype, int64_t i) { return static_cast<char*>(out) + i * static_cast<int64_t>(element_size(dtype)); }

void store_doubles(void* out, ScalarType dtype, int64_t offset, const double* x, int64_t n) {
  const int64_t item = static_cast<int64_t>(element_size(dtype));
  converter(ScalarType::Double, dtype)(at(out, dtype, offset), item, reinterpret_cast<const char*>(x), sizeof(double), n);
}

// Fills `out` with n numbers that `transform(data, count)` makes from count u53 in place.
template <class F> void through_doubles(RandomState& state, void* out, ScalarType dtype, int64_t n, F transform) {
  double* const data = thread_scratch<double>(Scratch::random, static_cast<size_t>(std::min(n, kDoubleChunk)));
  for (int64_t begin = 0; begin < n; begin += kDoubleChunk) {
    const int64_t m = std::min(kDoubleChunk, n - begin);
    call(random_words_stub)(state.engine, reinterpret_cast<uint32_t*>(data), 2 * m);
    parallel_for(0, m, kDoubleGrain, [&](int64_t b, int64_t e) {
      call(words_to_u53_stub)(data + b, e - b);
      transform(data + b, e - b);
      store_doubles(out, dtype, begin + b, data + b, e - b);
    });
  }
}

// Standard normals in pairs, the second of which may wait in `state`; `finish(data, count)` turns them into the numbers wanted.
template <class F> void normal_pairs(RandomState& state, void* out, ScalarType dtype, int64_t n, F finish) {
  int64_t done = 0;
  if (n > 0 && state.has_next_normal) {
    double value = state.next_normal;
    state.has_next_normal = false;
    state.next_normal = 0;
    finish(&value, 1);
    store_doubles(out, dtype, 0, &value, 1);
    done = 1;
  }
  const int64_t even = (n - done) & ~int64_t{1};
  double* const data = thread_scratch<double>(Scratch::random, static_cast<size_t>(std::clamp<int64_t>(even, 2, kDoubleChunk)));
  for (int64_t begin = 0; begin < even; begin += kDoubleChunk) {
    const int64_t m = std::min(kDoubleChunk, even - begin);
    call(random_words_stub)(state.engine, reinterpret_cast<uint32_t*>(data), 2 * m);
    parallel_for(0, m / 2, kDoubleGrain / 2, [&](int64_t b, int64_t e) {
      double* const x = data + 2 * b;
      call(words_to_u53_stub)(x, 2 * (e - b));
      call(polar_normal_stub)(x, e - b);
      finish(x, 2 * (e - b));
      store_doubles(out, dtype, done + begin + 2 * b, x, 2 * (e - b));
    });
  }
  done += even;
  if (done == n) return;
  double pair[2];
  call(random_words_stub)(state.engine, reinterpret_cast<uint32_t*>(pair), 4);
  call(words_to_u53_stub)(pair, 2);
  call(polar_normal_stub)(pair, 1);
  state.next_normal = pair[1];
  state.has_next_normal = true;
  finish(pair, 1);
  store_doubles(out, dtype, done, pair, 1);
}

void normal_float(RandomState& state, float* out, int64_t n, float mean, float std) {
  Mt19937& engine = state.engine;
  for (int64_t begin = 0; begin < n; begin += kFloatChunk) {
    const int64_t m = std::min(kFloatChunk, n - begin);
    float* const x = out + begin;
    call(random_uniform_stub)(engine, x, ScalarType::Float, m, 0, 1);
    parallel_for(0, m / 16, kFloatGrain / 16,
                 [&](int64_t b, int64_t e) { call(box_muller_float_stub)(x + 16 * b, ScalarType::Float, x + 16 * b, e - b, mean, std); });
  }
  if (n % 16 == 0) return;
  float* const tail = out + n - 16;
  call(random_uniform_stub)(engine, tail, ScalarType::Float, 16, 0, 1);
  call(box_muller_float_stub)(tail, ScalarType::Float, tail, 1, mean, std);
}

void normal_double(RandomState& state, double* out, int64_t n, double mean, double std) {
  Mt19937& engine = state.engine;
  for (int64_t begin = 0; begin < n; begin += kDoubleChunk) {
    const int64_t m = std::min(kDoubleChunk, n - begin);
    double* const x = out + begin;
    call(random_uniform_stub)(engine, x, ScalarType::Double, m, 0, 1);
    parallel_for(0, m / 16, kDoubleGrain / 16, [&](int64_t b, int64_t e) { call(box_muller_double_stub)(x + 16 * b, e - b, mean, std); });
  }
  if (n % 16 == 0) return;
  double* const tail = out + n - 16;
  call(random_uniform_stub)(engine, tail, ScalarType::Double, 16, 0, 1);
  call(box_muller_double_stub)(tail, 1, mean, std);
}

// Half and BFloat16: whole blocks only, computed in float.
void normal_low(RandomState& state, void* out, ScalarType dtype, int64_t n, float mean, float std) {
  Mt19937& engine = state.engine;
  const int64_t whole = n & ~int64_t{15};
  float* const x = thread_scratch<float>(Scratch::random, static_cast<size_t>(std::min(whole, kFloatChunk)));
  for (int64_t begin = 0; begin < whole; begin += kFloatChunk) {
    const int64_t m = std::min(kFloatChunk, whole - begin);
    call(random_uniform_stub)(engine, x, ScalarType::Float, m, 0, 1);
    parallel_for(0, m / 16, kFloatGrain / 16,
                 [&](int64_t b, int64_t e) { call(box_muller_float_stub)(at(out, dtype, begin + 16 * b), dtype, x + 16 * b, e - b, mean, std); });
  }
  if (n == whole) return;
  call(random_uniform_stub)(engine, x, ScalarType::Float, 16, 0, 1);
  call(box_muller_float_stub)(at(out, dtype, n - 16), dtype, x, 1, mean, std);
}

// u53 < p exactly when the 53-bit integer is below this.
uint64_t threshold53(double p) { return static_cast<uint64_t>(std::ceil(p * 0x1p53)); }

// The bytes of 1 in a dtype.
uint64_t bits_of(ScalarType dtype, double value) {
  uint64_t bits = 0;
  converter(ScalarType::Double, dtype)(reinterpret_cast<char*>(&bits), 8, reinterpret_cast<const char*>(&value), 8, 1);
  return bits;
}

double dropout_scale(ScalarType dtype, double p) {
  return dtype == ScalarType::Double ? 1.0 / (1.0 - p) : static_cast<double>(1.0f / static_cast<float>(1.0 - p));
}

}  // namespace

void uniform(RandomState& state, void* out, ScalarType dtype, int64_t n, double from, double to) {
  check_floating("uniform", dtype);
  call(random_uniform_stub)(state.engine, out, dtype, n, from, to);
}

void normal(RandomState& state, void* out, ScalarType dtype, int64_t n, double mean, double std, bool contiguous) {
  check_floating("normal", dtype);
  if (n < 16 || !contiguous) {
    normal_pairs(state, out, dtype, n, [&](double* x, int64_t m) { call(scale_shift_stub)(x, m, std, mean); });
    return;
  }
  if (dtype == ScalarType::Float) normal_float(state, static_cast<float*>(out), n, static_cast<float>(mean), static_cast<float>(std));
  else if (dtype == ScalarType::Double) normal_double(state, static_cast<double*>(out), n, mean, std);
  else normal_low(state, out, dtype, n, static_cast<float>(mean), static_cast<float>(std));
}

void log_normal(RandomState& state, void* out, ScalarType dtype, int64_t n, double mean, double std) {
  check_floating("log_normal", dtype);
  normal_pairs(state, out, dtype, n, [&](double* x, int64_t m) {
    call(scale_shift_stub)(x, m, std, mean);
    for (int64_t i = 0; i < m; i++) x[i] = std::exp(x[i]);
  });
}

void exponential(RandomState& state, void* out, ScalarType dtype, int64_t n, double lambda) {
  check_floating("exponential", dtype);
  const double scale = -1.0 / lambda;
  if (dtype == ScalarType::Double) {
    through_doubles(state, out, dtype, n, [&](double* x, int64_t m) {
      for (int64_t i = 0; i < m; i++) x[i] = scale * std::log1p(-x[i]);
    });
    return;
  }
  double* const u = thread_scratch<double>(Scratch::random, static_cast<size_t>(std::min(n, kDoubleChunk)));
  const Convert store = converter(ScalarType::Float, dtype);
  const int64_t item = static_cast<int64_t>(element_size(dtype));
  for (int64_t begin = 0; begin < n; begin += kDoubleChunk) {
    const int64_t m = std::min(kDoubleChunk, n - begin);
    call(random_words_stub)(state.engine, reinterpret_cast<uint32_t*>(u), 2 * m);
    parallel_for(0, m, 4 * kDoubleGrain, [&](int64_t b, int64_t e) {
      constexpr int64_t kBlock = 512;
      float values[kBlock];
      for (; b < e; b += kBlock) {
        const int64_t count = std::min(kBlock, e - b);
        call(words_to_u53_stub)(u + b, count);
        call(exponential_float_stub)(values, u + b, count, scale);
        store(at(out, dtype, begin + b), item, reinterpret_cast<const char*>(values), sizeof(float), count);
      }
    });
  }
}

void cauchy(RandomState& state, void* out, ScalarType dtype, int64_t n, double median, double sigma) {
  check_floating("cauchy", dtype);
  through_doubles(state, out, dtype, n, [&](double* x, int64_t m) {
    for (int64_t i = 0; i < m; i++) x[i] = std::tan(M_PI * (x[i] - 0.5));
    call(scale_shift_stub)(x, m, sigma, median);
  });
}

void geometric(RandomState& state, void* out, ScalarType dtype, int64_t n, double p) {
  check_real("geometric", dtype);
  CRESSET_CHECK_NOT_IMPLEMENTED(dtype != ScalarType::Bool, "geometric: not implemented for bool");
  const double log_q = std::log1p(-p);
  through_doubles(state, out, dtype, n, [&](double* x, int64_t m) {
    for (int64_t i = 0; i < m; i++) x[i] = std::ceil(std::log(x[i]) / log_q);
  });
}

void bernoulli(RandomState& state, void* out, ScalarType dtype, int64_t n, double p) {
  check_real("bernoulli", dtype);
  call(random_bernoulli_stub)(state.engine, out, element_size(dtype), n, threshold53(p), bits_of(dtype, 1));
}

void bernoulli(RandomState& state, void* out, ScalarType dtype, int64_t n, const void* p, ScalarType p_dtype) {
  check_real("bernoulli", dtype);
  check_floating("bernoulli", p_dtype);
  const bool wide = p_dtype == ScalarType::Double;
  constexpr int64_t kBlock = 512;
  const int64_t item = static_cast<int64_t>(element_size(dtype)), p_item = static_cast<int64_t>(element_size(p_dtype));
  const Convert widen = converter(p_dtype, ScalarType::Float), store = converter(ScalarType::Bool, dtype);
  alignas(64) double fractions[kBlock];
  alignas(64) float low[kBlock];
  uint8_t hits[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    const char* const source = static_cast<const char*>(p) + begin * p_item;
    if (wide) {
      call(random_words_stub)(state.engine, reinterpret_cast<uint32_t*>(fractions), 2 * m);
      call(words_to_u53_stub)(fractions, m);
      for (int64_t i = 0; i < m; i++) hits[i] = fractions[i] < reinterpret_cast<const double*>(source)[i];
    } else {
      widen(reinterpret_cast<char*>(low), sizeof(float), source, p_item, m);
      call(random_below_stub)(state.engine, hits, low, m);
    }
    store(at(out, dtype, begin), item, reinterpret_cast<const char*>(hits), 1, m);
  }
}

void dropout_noise(RandomState& state, void* noise, ScalarType dtype, int64_t n, double p) {
  check_floating("dropout", dtype);
  call(random_bernoulli_stub)(state.engine, noise, element_size(dtype), n, threshold53(1.0 - p), bits_of(dtype, dropout_scale(dtype, p)));
}

void dropout(RandomState& state, void* out, void* noise, const void* x, ScalarType dtype, int64_t n, double p) {
  check_floating("dropout", dtype);
  const double scale = dropout_scale(dtype, p);
  call(random_dropout_stub)(state.engine, out, noise, x, dtype, n, threshold53(1.0 - p), static_cast<float>(scale), scale);
}

}  // namespace cresset::kernels
