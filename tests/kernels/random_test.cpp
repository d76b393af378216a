#include "cresset/kernels/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/core/random/generator_impl.h"
#include "cresset/kernels/layout/cpu/convert.h"

namespace cresset::kernels {
namespace {

// A parameter, as a real number and as an integer.
struct Parameter {
  double real;
  int64_t integer;
};

struct GoldenRow {
  const char* op;
  ScalarType dtype;
  Parameter a, b;
  uint64_t hashes[12];
};

struct GoldenCall {
  const char* op;
  ScalarType dtype;
  int64_t n;
  Parameter a, b;
  uint64_t hash, state;
};

#include "random_golden.inc"

constexpr uint64_t kHashStart = 0xcbf29ce484222325u;

// FNV-1a in steps of 8 bytes, the last ones padded with zeros.
uint64_t hash_bytes(const void* data, size_t bytes, uint64_t h = kHashStart) {
  const char* p = static_cast<const char*>(data);
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t part = 0;
    std::memcpy(&part, p + i, std::min<size_t>(8, bytes - i));
    h = (h ^ part) * 0x100000001b3u;
  }
  return h;
}

// The next 31 bits of the generator, as its users see them.
uint64_t hash_next(RandomState& state, uint64_t h) {
  const uint64_t next = state.engine.random() & 0x7fffffffu;
  return hash_bytes(&next, 8, h);
}

// Element i is ((37 i mod 101) + shift) / scale.
std::vector<char> pattern(int64_t n, ScalarType dtype, double shift, double scale) {
  std::vector<char> out(static_cast<size_t>(n) * element_size(dtype));
  for (int64_t i = 0; i < n; i++) {
    const double v = (static_cast<double>(i * 37 % 101) + shift) / scale;
    converter(ScalarType::Double, dtype)(&out[static_cast<size_t>(i) * element_size(dtype)], 0, reinterpret_cast<const char*>(&v), 0, 1);
  }
  return out;
}

// Element i is (101 - (37 i mod 101)) / 128.
std::vector<char> mirrored(int64_t n, ScalarType dtype) { return pattern(n, dtype, -101, -128); }

bool possible(const std::string& op, ScalarType dtype, int64_t n, int64_t a) {
  if (op == "randperm") {
    return n <= (dtype == ScalarType::Byte ? 256 : dtype == ScalarType::Char ? 128 : dtype == ScalarType::Short ? 32768 : dtype == ScalarType::Half ? 2049 : n);
  }
  return op.find("multinomial") == std::string::npos || (n >= a && n <= 5000);
}

// The op of a golden row; its output as bytes.
std::vector<char> run(RandomState& state, const std::string& op, ScalarType t, int64_t n, Parameter a, Parameter b) {
  std::vector<char> bytes(static_cast<size_t>(n) * element_size(t) + 1, '\x7f');
  char* const out = bytes.data();
  const auto indices = [&](int64_t rows, int64_t row_stride, int64_t category_stride) {
    std::vector<char> result(static_cast<size_t>(rows * a.integer) * sizeof(int64_t) + 1);
    multinomial(state, reinterpret_cast<int64_t*>(result.data()), pattern(rows * n, t, 1, 128).data(), t, rows, n, row_stride, category_stride, a.integer,
                b.integer != 0);
    result.pop_back();
    return result;
  };
  if (op == "uniform") uniform(state, out, t, n, a.real, b.real);
  else if (op == "normal") normal(state, out, t, n, a.real, b.real);
  else if (op == "normal_strided") normal(state, out, t, n, a.real, b.real, false);
  else if (op == "log_normal") log_normal(state, out, t, n, a.real, b.real);
  else if (op == "exponential") exponential(state, out, t, n, a.real);
  else if (op == "cauchy") cauchy(state, out, t, n, a.real, b.real);
  else if (op == "geometric") geometric(state, out, t, n, a.real);
  else if (op == "bernoulli") bernoulli(state, out, t, n, a.real);
  else if (op == "bernoulli_tensor") {
    constexpr ScalarType kTypes[] = {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float, ScalarType::Double};
    const ScalarType p_dtype = kTypes[b.integer];
    bernoulli(state, out, t, n, pattern(n, p_dtype, 0, 128).data(), p_dtype);
  } else if (op == "dropout_noise") dropout_noise(state, out, t, n, a.real);
  else if (op == "dropout") dropout(state, out, nullptr, pattern(n, t, -50, 8).data(), t, n, a.real);
  else if (op == "random_full") random_full(state, out, t, n);
  else if (op == "random_from_to") random_from_to(state, out, t, n, a.integer, b.integer);
  else if (op == "random_from") random_from(state, out, t, n, a.integer);
  else if (op == "randperm") randperm(state, out, t, n);
  else if (op == "poisson") poisson(state, out, pattern(n, t, 0, 100 / a.real).data(), t, n);
  else if (op == "binomial") binomial(state, out, pattern(n, t, 0, 1 / a.real).data(), mirrored(n, t).data(), t, n);
  else if (op == "standard_gamma") standard_gamma(state, out, pattern(n, t, 1, 100 / a.real).data(), t, n);
  else if (op == "rrelu") {
    std::vector<char> noise(bytes.size());
    rrelu(state, out, noise.data(), pattern(n, t, -50, 8).data(), t, n, a.real, b.real);
  } else if (op == "multinomial") return indices(3, n, 1);
  else if (op == "transposed_multinomial") return indices(3, 1, 3);
  else ADD_FAILURE() << "unknown op " << op;
  EXPECT_EQ(bytes.back(), '\x7f') << op << " wrote past the end";
  bytes.pop_back();
  return bytes;
}

void check_all_rows() {
  for (const GoldenRow& row : kRows)
    for (size_t s = 0; s < std::size(kSizes); s++) {
      const int64_t n = kSizes[s];
      uint64_t h = kHashStart;
      if (possible(row.op, row.dtype, n, row.a.integer)) {
        for (uint64_t seed : kSeeds) {
          RandomState state(seed);
          const std::vector<char> out = run(state, row.op, row.dtype, n, row.a, row.b);
          h = hash_next(state, hash_bytes(out.data(), out.size(), h));
        }
      }
      EXPECT_EQ(h, row.hashes[s]) << row.op << '(' << row.a.real << ", " << row.b.real << ") " << dtype_name(row.dtype) << " n=" << n;
    }
}

TEST(Random, EveryOpDtypeAndSizeHasPyTorchsBits) { check_all_rows(); }

TEST(Random, MixedCallsShareOneStreamAsInPyTorch) {
  Generator generator = make_generator(kSeeds[1]);
  for (const GoldenCall& call : kCalls) {
    const std::vector<char> out = run(generator.impl()->state, call.op, call.dtype, call.n, call.a, call.b);
    EXPECT_EQ(hash_bytes(out.data(), out.size()), call.hash) << call.op << ' ' << dtype_name(call.dtype) << " n=" << call.n;
    const std::vector<uint8_t> saved = generator.get_state();
    ASSERT_EQ(saved.size(), 5056u);
    EXPECT_EQ(hash_bytes(saved.data(), saved.size()), call.state) << "state after " << call.op << " n=" << call.n;
    // The rest of the calls run on a generator restored from the saved bytes.
    Generator restored = make_generator(1);
    restored.set_state(saved);
    generator = restored;
  }
}

TEST(Random, ResultsDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  for (const char* op : {"normal", "exponential", "log_normal", "cauchy"})
    for (ScalarType t : {ScalarType::Half, ScalarType::Float, ScalarType::Double}) {
      std::vector<char> results[2];
      for (int i = 0; i < 2; i++) {
        set_num_threads(i == 0 ? 1 : 4);
        RandomState state(7);
        results[i] = run(state, op, t, 700003, {1.0, 1}, {2.0, 2});
      }
      EXPECT_EQ(results[0], results[1]) << op << ' ' << dtype_name(t);
    }
  set_num_threads(before);
}

TEST(Random, EngineIsTheReferenceMersenneTwister) {
  // 10,000th output for the default seed, as the C++ standard requires of std::mt19937.
  Mt19937 engine(5489);
  for (int i = 0; i < 9999; i++) engine.random();
  EXPECT_EQ(engine.random(), 4123659995u);
}

TEST(Random, DropoutWritesItsNoise) {
  std::vector<float> x(1000, -3.0f), out(1000), noise(1000), expected(1000);
  RandomState a(3), b(3);
  dropout(a, out.data(), noise.data(), x.data(), ScalarType::Float, 1000, 0.25);
  dropout_noise(b, expected.data(), ScalarType::Float, 1000, 0.25);
  EXPECT_EQ(noise, expected);
  for (size_t i = 0; i < 1000; i++) EXPECT_EQ(out[i], x[i] * noise[i]);
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  RandomState state(11);
  std::vector<int64_t> p(70001);
  randperm(state, p.data(), ScalarType::Long, 70001);
  std::sort(p.begin(), p.end());
  for (int64_t i = 0; i < 70001; i++) ASSERT_EQ(p[static_cast<size_t>(i)], i);
}

TEST(Random, ExtremeDrawsGiveWhatPyTorchGives) {
  // A block of zeros yields u53 = 0 for ever.
  const auto zeros = [] {
    RandomState state(0);
    std::fill_n(state.engine.block(), Mt19937::kWords, 0u);
    return state;
  };
  RandomState state = zeros();
  double d[2];
  float f[2];
  exponential(state, d, ScalarType::Double, 2, 1);
  exponential(state, f, ScalarType::Float, 2, 1);
  EXPECT_EQ(d[0], 0.0);
  EXPECT_EQ(f[1], 0.0f);
  EXPECT_FALSE(std::signbit(f[0]));
  cauchy(state, f, ScalarType::Float, 2, 0, 1);
  EXPECT_EQ(f[0], -1.633123935319537e16f);
  normal(state, f, ScalarType::Float, 2, 0, 1);
  EXPECT_EQ(f[0], 0.0f);
  int32_t i32[2];
  int64_t i64[2];
  uint8_t u8[2];
  geometric(state, d, ScalarType::Double, 2, 0.3);
  geometric(state, i32, ScalarType::Int, 2, 0.3);
  geometric(state, i64, ScalarType::Long, 2, 0.3);
  geometric(state, u8, ScalarType::Byte, 2, 0.3);
  EXPECT_EQ(d[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(i32[0], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(i64[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(u8[0], 0);
}

TEST(Random, ExponentialsRoundAsTheDoubleDoes) {
  // Enough numbers for some to lie next to the middle between two floats, where the fast logarithm is not trusted.
  constexpr int64_t kCount = 3000000;
  RandomState fast(21), slow(21);
  std::vector<float> f(kCount);
  std::vector<double> d(kCount);
  exponential(fast, f.data(), ScalarType::Float, kCount, 0.7);
  exponential(slow, d.data(), ScalarType::Double, kCount, 0.7);
  int64_t wrong = 0;
  for (size_t i = 0; i < kCount; i++) wrong += f[i] != static_cast<float>(d[i]);
  EXPECT_EQ(wrong, 0);
}

TEST(Random, StridedTensorsTakeNumbersInMemoryOrder) {
  // A 3 x 4 tensor stored by columns, with a gap after each.
  const int64_t sizes[] = {3, 4}, strides[] = {2, 7};
  float packed[12], out[28] = {};
  for (int i = 0; i < 12; i++) packed[i] = static_cast<float>(i + 1);
  scatter_in_memory_order(out, packed, ScalarType::Float, sizes, strides);
  for (int64_t i = 0; i < 3; i++)
    for (int64_t j = 0; j < 4; j++) EXPECT_EQ(out[i * 2 + j * 7], static_cast<float>(j * 3 + i + 1));
  EXPECT_EQ(std::count(out, out + 28, 0.0f), 16);
  const int64_t cube[] = {4, 1, 5, 6}, cube_strides[] = {30, 99, 1, 5};
  EXPECT_EQ(memory_order(cube, cube_strides), (DimVector{0, 3, 2}));
}

TEST(Random, RefusesWhatPyTorchRefuses) {
  RandomState state(0);
  double out[8];
  EXPECT_THROW(uniform(state, out, ScalarType::Int, 2, 0, 1), NotImplementedError);
  EXPECT_THROW(normal(state, out, ScalarType::ComplexFloat, 2, 0, 1), NotImplementedError);
  EXPECT_THROW(bernoulli(state, out, ScalarType::UInt16, 2, 0.5), NotImplementedError);
  EXPECT_THROW(geometric(state, out, ScalarType::Bool, 2, 0.5), NotImplementedError);
  EXPECT_THROW(random_from_to(state, out, ScalarType::Int, 2, 5, 5), Error);
  EXPECT_THROW(random_from_to(state, out, ScalarType::Byte, 2, -1, 5), Error);
  EXPECT_THROW(random_from_to(state, out, ScalarType::Half, 2, 0, 1 << 20), Error);
  EXPECT_THROW(random_from(state, out, ScalarType::UInt64, 2, 0), Error);
  EXPECT_THROW(randperm(state, out, ScalarType::Char, 129), Error);
  EXPECT_THROW(randperm(state, out, ScalarType::Long, -1), Error);
  EXPECT_THROW(randperm(state, out, ScalarType::Half, 2050), Error);
  EXPECT_THROW(randperm(state, out, ScalarType::Float, (1 << 24) + 2), Error);
  const double rate = -1;
  EXPECT_THROW(poisson(state, out, &rate, ScalarType::Double, 1), Error);
  EXPECT_THROW(standard_gamma(state, out, out, ScalarType::Half, 1), NotImplementedError);
  int64_t index[3];
  const float zero[] = {0, 0}, negative[] = {1, -1}, nan[] = {1, std::numeric_limits<float>::quiet_NaN()};
  for (const float* weights : {zero, negative, nan})
    for (bool replacement : {false, true}) EXPECT_THROW(multinomial(state, index, weights, ScalarType::Float, 1, 2, 2, 1, 2, replacement), Error);
  EXPECT_THROW(multinomial(state, index, zero, ScalarType::Float, 1, 2, 2, 1, 3, false), Error);
  // Nothing was drawn.
  EXPECT_EQ(state.engine.random(), Mt19937(0).random());
}

TEST(Generator, SeedsStatesAndClones) {
  Generator undefined, g = make_generator();
  EXPECT_FALSE(undefined.defined());
  EXPECT_EQ(&generator_or_default(undefined), default_generator().impl());
  EXPECT_EQ(g.current_seed(), 67280421310721u);
  g.set_current_seed(uint64_t{1} << 63);
  EXPECT_EQ(g.current_seed(), uint64_t{1} << 63);
  Generator shared = g, copy = g.clone();
  EXPECT_TRUE(shared == g);
  EXPECT_FALSE(copy == g);
  EXPECT_EQ(shared.impl()->state.engine.random(), copy.impl()->state.engine.random());
  EXPECT_NE(g.impl()->state.engine.random(), copy.impl()->state.engine.random() + 1);
  EXPECT_EQ(g.get_state(), copy.get_state());
  EXPECT_NE(g.seed(), 0u);
  EXPECT_NE(g.get_state(), copy.get_state());
  manual_seed(5);
  EXPECT_EQ(default_generator().impl()->state.engine.random(), Mt19937(5).random());
}

TEST(Generator, RefusesStatesThatNoGeneratorWrote) {
  Generator g = make_generator(3);
  const std::vector<uint8_t> good = g.get_state();
  std::vector<uint8_t> bad(100);
  EXPECT_THROW(g.set_state(bad), Error);
  bad = std::vector<uint8_t>(5056);
  EXPECT_THROW(g.set_state(bad), Error);
  bad = good;
  bad[8] = 0;  // left
  EXPECT_THROW(g.set_state(bad), Error);
  bad = good;
  bad[8] = 200, bad[16] = 0xff, bad[17] = 1;  // 199 words left after position 511
  EXPECT_THROW(g.set_state(bad), Error);
  EXPECT_EQ(g.get_state(), good);
}

}  // namespace
}  // namespace cresset::kernels
