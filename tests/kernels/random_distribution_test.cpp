// Whether samples follow their distributions: Kolmogorov and Smirnov's test of continuous ones, Pearson's chi-square test of discrete ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cresset/base/numbers/half.h"
#include "cresset/kernels/random/random.h"

namespace cresset::kernels {
namespace {

constexpr int64_t kCount = 40000;
// Seeds are fixed, so that a right sampler never fails; a wrong one exceeds these quantiles by far.
constexpr double kChance = 1e-4;
const double kSmirnov = std::sqrt(-0.5 * std::log(kChance / 2));

// The greatest distance between the distribution of the samples and `cdf`, times the root of their number.
double distance(std::vector<double> x, const std::function<double(double)>& cdf) {
  std::sort(x.begin(), x.end());
  const double n = static_cast<double>(x.size());
  double d = 0;
  for (size_t i = 0; i < x.size(); i++) {
    const double f = cdf(x[i]);
    d = std::max({d, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return d * std::sqrt(n);
}

// Pearson's sum over the values 0 ... p.size() - 1 and the rest, of which those that are expected less than 8 times are put together; as a
// number of deviations by Wilson and Hilferty's approximation.
double deviations(const std::vector<double>& x, const std::vector<double>& p) {
  const double n = static_cast<double>(x.size());
  std::vector<double> seen(p.size() + 1), expected(p.size() + 1);
  for (const double v : x) {
    const bool known = v >= 0 && v < static_cast<double>(p.size()) && v == std::floor(v);
    seen[known ? static_cast<size_t>(v) : p.size()]++;
  }
  for (size_t k = 0; k < p.size(); k++) expected[k] = n * p[k];
  expected.back() = std::max(0.0, n - std::accumulate(expected.begin(), expected.end() - 1, 0.0));
  double sum = 0, rare_seen = 0, rare_expected = 0;
  int cells = 0;
  const auto add = [&](double s, double e) { sum += (s - e) * (s - e) / e, cells++; };
  for (size_t k = 0; k < seen.size(); k++) {
    if (expected[k] >= 8) add(seen[k], expected[k]);
    else rare_seen += seen[k], rare_expected += expected[k];
  }
  if (rare_expected >= 1) add(rare_seen, rare_expected);
  else if (rare_seen > 3) return 1e9;
  const double freedom = cells - 1, spread = 2 / (9 * freedom);
  return (std::cbrt(sum / freedom) - (1 - spread)) / std::sqrt(spread);
}
constexpr double kDeviations = 4;

// n samples of a dtype as doubles.
std::vector<double> drawn(ScalarType t, uint64_t seed, const std::function<void(RandomState&, void*)>& draw, int64_t n = kCount) {
  RandomState state(seed);
  std::vector<char> memory(static_cast<size_t>(n) * element_size(t));
  draw(state, memory.data());
  std::vector<double> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); i++) {
    const char* at = memory.data() + i * element_size(t);
    const auto value = [&]<class T>(T*) { return static_cast<double>(*reinterpret_cast<const T*>(at)); };
    switch (t) {
      case ScalarType::Double: x[i] = value(static_cast<double*>(nullptr)); break;
      case ScalarType::Float: x[i] = value(static_cast<float*>(nullptr)); break;
      case ScalarType::Long: x[i] = value(static_cast<int64_t*>(nullptr)); break;
      case ScalarType::Int: x[i] = value(static_cast<int32_t*>(nullptr)); break;
      case ScalarType::Short: x[i] = value(static_cast<int16_t*>(nullptr)); break;
      case ScalarType::Char: x[i] = value(static_cast<int8_t*>(nullptr)); break;
      case ScalarType::Byte: x[i] = value(static_cast<uint8_t*>(nullptr)); break;
      case ScalarType::Bool: x[i] = value(static_cast<bool*>(nullptr)); break;
      case ScalarType::Half: x[i] = static_cast<float>(*reinterpret_cast<const Half*>(at)); break;
      default: x[i] = static_cast<float>(*reinterpret_cast<const BFloat16*>(at));
    }
  }
  return x;
}

const ScalarType kFloats[] = {ScalarType::Float, ScalarType::Double};

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// The regularised lower incomplete gamma function by its series.
double gamma_cdf(double a, double x) {
  if (x <= 0) return 0;
  double term = 1 / a, sum = term;
  for (int n = 1; term > sum * 1e-16; n++) sum += term *= x / (a + n);
  return std::min(1.0, sum * std::exp(a * std::log(x) - x - std::lgamma(a)));
}

std::vector<double> masses(int64_t count, const std::function<double(double)>& log_mass) {
  std::vector<double> p;
  for (int64_t k = 0; k < count; k++) p.push_back(std::exp(log_mass(static_cast<double>(k))));
  return p;
}
double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

TEST(RandomDistribution, UniformAndNormal) {
  for (const ScalarType t : kFloats) {
    EXPECT_LT(distance(drawn(t, 1, [&](auto& s, void* p) { uniform(s, p, t, kCount, -2, 5); }), [](double x) { return (x + 2) / 7; }), kSmirnov);
    for (const bool contiguous : {true, false})
      EXPECT_LT(distance(drawn(t, 2, [&](auto& s, void* p) { normal(s, p, t, kCount, 1, 3, contiguous); }), [](double x) { return normal_cdf((x - 1) / 3); }),
                kSmirnov);
  }
}

TEST(RandomDistribution, NormalInBlocksThatOverlap) {
  // 23 numbers at a time: a block of sixteen, and a second one over its end.
  RandomState state(3);
  std::vector<double> x;
  float part[23];
  for (int i = 0; i < 1500; i++) {
    normal(state, part, ScalarType::Float, 23, 0, 1);
    x.insert(x.end(), part, part + 23);
  }
  EXPECT_LT(distance(x, normal_cdf), kSmirnov);
}

TEST(RandomDistribution, LogNormalExponentialAndCauchy) {
  for (const ScalarType t : kFloats) {
    EXPECT_LT(distance(drawn(t, 4, [&](auto& s, void* p) { log_normal(s, p, t, kCount, 0.5, 0.25); }),
                       [](double x) { return normal_cdf((std::log(x) - 0.5) / 0.25); }),
              kSmirnov);
    EXPECT_LT(distance(drawn(t, 5, [&](auto& s, void* p) { exponential(s, p, t, kCount, 2.5); }), [](double x) { return -std::expm1(-2.5 * x); }), kSmirnov);
    EXPECT_LT(distance(drawn(t, 6, [&](auto& s, void* p) { cauchy(s, p, t, kCount, 1, 2); }), [](double x) { return 0.5 + std::atan((x - 1) / 2) / M_PI; }),
              kSmirnov);
  }
}

TEST(RandomDistribution, Gamma) {
  for (const ScalarType t : kFloats)
    for (const double shape : {0.3, 1.0, 2.5, 40.0}) {
      const auto draw = [&](RandomState& s, void* p) {
        std::vector<double> a(kCount, shape);
        std::vector<float> b(kCount, static_cast<float>(shape));
        standard_gamma(s, p, t == ScalarType::Double ? static_cast<void*>(a.data()) : b.data(), t, kCount);
      };
      EXPECT_LT(distance(drawn(t, 7, draw), [&](double x) { return gamma_cdf(shape, x); }), kSmirnov) << shape;
    }
}

TEST(RandomDistribution, HalvesAreTheSameDistributionRounded) {
  for (const ScalarType t : {ScalarType::Half, ScalarType::BFloat16}) {
    const double step = t == ScalarType::Half ? 0x1p-11 : 0x1p-8;  // of numbers near 1: what rounding moves the distribution by
    EXPECT_LT(distance(drawn(t, 8, [&](auto& s, void* p) { uniform(s, p, t, kCount, 0, 1); }), [](double x) { return x; }),
              kSmirnov + step * std::sqrt(kCount));
    EXPECT_LT(distance(drawn(t, 9, [&](auto& s, void* p) { normal(s, p, t, kCount, 0, 1); }), normal_cdf), kSmirnov + 2 * step * std::sqrt(kCount));
  }
}

TEST(RandomDistribution, BernoulliAndDropout) {
  for (const ScalarType t : {ScalarType::Bool, ScalarType::Byte, ScalarType::Short, ScalarType::Long, ScalarType::Half, ScalarType::Float, ScalarType::Double})
    EXPECT_LT(deviations(drawn(t, 10, [&](auto& s, void* p) { bernoulli(s, p, t, kCount, 0.3); }), {0.7, 0.3}), kDeviations);
  for (const ScalarType t : kFloats) {
    const std::vector<float> chances(kCount, 0.8f);
    EXPECT_LT(deviations(drawn(t, 11, [&](auto& s, void* p) { bernoulli(s, p, t, kCount, chances.data(), ScalarType::Float); }), {0.2, 0.8}), kDeviations);
    std::vector<double> kept = drawn(t, 12, [&](auto& s, void* p) { dropout_noise(s, p, t, kCount, 0.25); });
    for (double& k : kept) k = k == 0 ? 0 : 1;
    EXPECT_LT(deviations(kept, {0.25, 0.75}), kDeviations);
  }
}

TEST(RandomDistribution, Geometric) {
  for (const ScalarType t : {ScalarType::Byte, ScalarType::Int, ScalarType::Float, ScalarType::Double})
    EXPECT_LT(deviations(drawn(t, 13, [&](auto& s, void* p) { geometric(s, p, t, kCount, 0.2); }),
                         masses(60, [](double k) { return k == 0 ? -1e9 : std::log(0.2) + (k - 1) * std::log(0.8); })),
              kDeviations);
}

TEST(RandomDistribution, PoissonBelowAndAboveTen) {
  for (const ScalarType t : kFloats)
    for (const double rate : {0.7, 9.5, 10.5, 60.0}) {
      const auto draw = [&](RandomState& s, void* p) {
        std::vector<double> a(kCount, rate);
        std::vector<float> b(kCount, static_cast<float>(rate));
        poisson(s, p, t == ScalarType::Double ? static_cast<void*>(a.data()) : b.data(), t, kCount);
      };
      EXPECT_LT(deviations(drawn(t, 14, draw), masses(200, [&](double k) { return k * std::log(rate) - rate - std::lgamma(k + 1); })), kDeviations) << rate;
    }
}

TEST(RandomDistribution, BinomialByWaitingAndByRejection) {
  const double cases[][2] = {{5, 0.3}, {12, 0.9}, {40, 0.2}, {40, 0.3}, {300, 0.5}, {100, 0.85}};
  for (const ScalarType t : kFloats)
    for (const auto& [n, p] : cases) {
      const double count = n, chance = p;
      const auto draw = [&](RandomState& s, void* out) {
        std::vector<double> a(kCount, count), b(kCount, chance);
        std::vector<float> c(a.begin(), a.end()), d(b.begin(), b.end());
        if (t == ScalarType::Double) binomial(s, out, a.data(), b.data(), t, kCount);
        else binomial(s, out, c.data(), d.data(), t, kCount);
      };
      const auto mass = [&](double k) { return log_choose(count, k) + k * std::log(chance) + (count - k) * std::log1p(-chance); };
      EXPECT_LT(deviations(drawn(t, 15, draw), masses(static_cast<int64_t>(count) + 1, mass)), kDeviations) << count << ' ' << chance;
    }
}

TEST(RandomDistribution, WholeNumbers) {
  const std::vector<double> even(37, 1.0 / 37);
  for (const ScalarType t : {ScalarType::Char, ScalarType::Byte, ScalarType::Short, ScalarType::Int, ScalarType::Long, ScalarType::Half, ScalarType::BFloat16,
                             ScalarType::Float, ScalarType::Double})
    EXPECT_LT(deviations(drawn(t, 16, [&](auto& s, void* p) { random_from_to(s, p, t, kCount, 0, 37); }), even), kDeviations);
  // The whole range, by its eighths; a range that takes 64 bits, too.
  const auto eighths = [](std::vector<double> x, double low, double size) {
    for (double& v : x) v = std::floor((v - low) / size * 8);
    return deviations(x, std::vector<double>(8, 0.125));
  };
  EXPECT_LT(eighths(drawn(ScalarType::Int, 17, [](auto& s, void* p) { random_full(s, p, ScalarType::Int, kCount); }), 0, 0x1p31), kDeviations);
  EXPECT_LT(eighths(drawn(ScalarType::Long, 18, [](auto& s, void* p) { random_full(s, p, ScalarType::Long, kCount); }), 0, 0x1p63), kDeviations);
  EXPECT_LT(
      eighths(drawn(ScalarType::Long, 19, [](auto& s, void* p) { random_from_to(s, p, ScalarType::Long, kCount, -(int64_t{1} << 40), int64_t{1} << 41); }),
              -0x1p40, 3 * 0x1p40),
      kDeviations);
  EXPECT_LT(eighths(drawn(ScalarType::Long, 20, [](auto& s, void* p) { random_from(s, p, ScalarType::Long, kCount, std::numeric_limits<int64_t>::min()); }),
                    -0x1p63, 0x1p64),
            kDeviations);
}

TEST(RandomDistribution, PermutationsOfFour) {
  RandomState state(21);
  std::vector<double> order;
  for (int i = 0; i < kCount; i++) {
    int32_t p[4];
    randperm(state, p, ScalarType::Int, 4);
    int rank = 0;  // by the numbers that are out of order
    for (int a = 0, factor = 6; a < 3; factor /= 3 - a, a++)
      for (int b = a + 1; b < 4; b++) rank += p[b] < p[a] ? factor : 0;
    order.push_back(rank);
  }
  EXPECT_LT(deviations(order, std::vector<double>(24, 1.0 / 24)), kDeviations);
}

TEST(RandomDistribution, MultinomialWithAndWithoutReplacement) {
  const float weights[] = {1, 3, 0, 4, 2};
  const std::vector<double> p = {0.1, 0.3, 0, 0.4, 0.2};
  RandomState state(22);
  std::vector<int64_t> picks(kCount);
  multinomial(state, picks.data(), weights, ScalarType::Float, 1, 5, 5, 1, kCount, true);
  EXPECT_LT(deviations({picks.begin(), picks.end()}, p), kDeviations);
  // Pairs without replacement: p(a) p(b) / (1 - p(a)).
  std::vector<double> pairs, expected(25);
  for (int i = 0; i < kCount; i++) {
    int64_t two[2];
    multinomial(state, two, weights, ScalarType::Float, 1, 5, 5, 1, 2, false);
    pairs.push_back(static_cast<double>(two[0] * 5 + two[1]));
  }
  for (size_t a = 0; a < 5; a++)
    for (size_t b = 0; b < 5; b++)
      if (a != b) expected[a * 5 + b] = p[a] * p[b] / (1 - p[a]);
  EXPECT_LT(deviations(pairs, expected), kDeviations);
}

TEST(RandomDistribution, SlopesOfALeakyRelu) {
  const std::vector<float> x(kCount, -1.0f);
  std::vector<float> out(kCount);
  EXPECT_LT(distance(drawn(ScalarType::Float, 23, [&](auto& s, void* noise) { rrelu(s, out.data(), noise, x.data(), ScalarType::Float, kCount, 0.1, 0.4); }),
                     [](double v) { return (v - 0.1) / 0.3; }),
            kSmirnov);
}

TEST(RandomDistribution, TheTestsSeeWrongDistributions) {
  EXPECT_GT(distance(drawn(ScalarType::Double, 24, [](auto& s, void* p) { normal(s, p, ScalarType::Double, kCount, 0.03, 1); }), normal_cdf), kSmirnov);
  EXPECT_GT(deviations(drawn(ScalarType::Int, 25, [](auto& s, void* p) { geometric(s, p, ScalarType::Int, kCount, 0.52); }),
                       masses(60, [](double k) { return k == 0 ? -1e9 : k * std::log(0.5); })),
            kDeviations);
}

// dF(x; a) / da by differences, over the density.
TEST(RandomSlope, GammaIsTheImplicitDerivative) {
  const double cases[][2] = {{0.05, 0.4}, {0.5, 0.3}, {0.5, 3}, {1, 1}, {2, 0.1}, {3, 7}, {20, 15}, {20, 30}, {100, 110}};
  for (const auto& [a, x] : cases) {
    const double h = 1e-4 * a;
    const double d = (gamma_cdf(a - 2 * h, x) - 8 * gamma_cdf(a - h, x) + 8 * gamma_cdf(a + h, x) - gamma_cdf(a + 2 * h, x)) / (12 * h);
    const double expected = -d / std::exp((a - 1) * std::log(x) - x - std::lgamma(a));
    EXPECT_NEAR(gamma_slope(x, a), expected, 1e-8 * std::fabs(expected)) << a << ' ' << x;
  }
  EXPECT_TRUE(std::isnan(gamma_slope(1, -1)));
}

TEST(RandomSlope, BetaWithWholeParametersIsTheImplicitDerivative) {
  // F(x; a, 1) = x^a, and F(x; a, 2) = x^a (1 + a (1 - x)).
  for (const double a : {0.02, 0.3, 1.0, 4.0, 60.0})
    for (const double x : {1e-3, 0.2, 0.5, 0.9, 0.999}) {
      const double one = -x * std::log(x) / a;
      EXPECT_NEAR(beta_slope(x, a, 1), one, 1e-9 * one) << a << ' ' << x;
      const double two = -(std::log(x) * (1 + a * (1 - x)) + 1 - x) * x / (a * (a + 1) * (1 - x));
      EXPECT_NEAR(beta_slope(x, a, 2), two, 1e-8 * two) << a << ' ' << x;
    }
  EXPECT_EQ(beta_slope(0, 1, 1), 0);
  EXPECT_TRUE(std::isnan(beta_slope(2, 1, 1)));
}

}  // namespace
}  // namespace cresset::kernels
