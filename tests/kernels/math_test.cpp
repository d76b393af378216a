// Accuracy of the vectorised functions, against the C library in the next wider format.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cresset/kernels/pointwise/pointwise_kernels.h"

namespace cresset::kernels {
namespace {

// Distance in units of the last place of T at the exact value; subnormal spacing at the least.
template <class T> double ulps(T got, long double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : 1e9;
  const long double largest = std::numeric_limits<T>::max();
  if (std::isinf(got) || std::fabs(want) > largest) {
    // Rounding to infinity starts half a unit above the largest number.
    const long double half_unit = std::ldexp(1.0L, std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::digits - 1);
    return std::isinf(got) && std::signbit(got) == std::signbit(want) && std::fabs(want) >= largest - 2 * half_unit ? 0
           : std::fabs(want) < largest + 4 * half_unit && got == std::copysign(std::numeric_limits<T>::max(), got)  ? 0
                                                                                                                    : 1e9;
  }
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

struct Range {
  double low, high;
};

// Numbers of every magnitude within the range, dense around its ends and around 1.
template <class T> std::vector<T> samples(Range range) {
  std::mt19937_64 rng(7);
  std::vector<T> v;
  const auto add = [&](double x) {
    if (x >= range.low && x <= range.high) v.push_back(static_cast<T>(x));
  };
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 40000; i++) {
    const double finite_low = std::max(range.low, -1e4), finite_high = std::min(range.high, 1e4);
    add(finite_low + (finite_high - finite_low) * unit(rng));
    add(1 + 2 * (unit(rng) - 0.5));
    add(-1 - 2 * (unit(rng) - 0.5));
    add(20 * (unit(rng) - 0.5));
    const double exponents = std::is_same_v<T, float> ? 149 : 1074;
    const double magnitude = std::exp2((unit(rng) * 2 - 1) * exponents);
    add(magnitude);
    add(-magnitude);
  }
  return v;
}

template <class T> void check(const PointwiseKernel& kernel, long double (*exact)(long double), Range range, double limit) {
  const std::vector<T> x = samples<T>(range);
  std::vector<T> y(x.size());
  const int64_t shape[] = {static_cast<int64_t>(x.size())}, stride[] = {sizeof(T)};
  const ScalarType types[] = {dtype_of<T>, dtype_of<T>};
  std::vector<long double> want(x.size());
  for (size_t i = 0; i < x.size(); i++) want[i] = exact(x[i]);
  const int best = active_isa();
  for (int isa = best; isa >= 0; isa--) {
    detail::g_isa = isa;
    const Operand operands[] = {{reinterpret_cast<char*>(y.data()), dtype_of<T>, stride},
                                {reinterpret_cast<char*>(const_cast<T*>(x.data())), dtype_of<T>, stride}};
    run_nd(shape, operands, 1, types, kernel.loop(dtype_of<T>), nullptr);
    double worst = 0;
    T where = 0;
    for (size_t i = 0; i < x.size(); i++)
      if (const double e = ulps(y[i], want[i]); e > worst) worst = e, where = x[i];
    EXPECT_LE(worst, limit) << kernel.name << " " << dtype_name(dtype_of<T>) << " " << isa_name() << " at " << where;
  }
  detail::g_isa = best;
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double normal_cdf(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double gelu(long double x) { return x * normal_cdf(x); }
long double gelu_tanh(long double x) { return x * sigmoid(2 * std::sqrt(2 / 3.141592653589793238462643L) * (x + 0.044715L * x * x * x)); }
long double silu(long double x) { return x * sigmoid(x); }
long double mish(long double x) { return x * std::tanh(std::log1p(std::exp(x))); }
long double log_sigmoid(long double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }

#define F(name) static_cast<long double (*)(long double)>(std::name)
constexpr Range kEverywhere = {-INFINITY, INFINITY};

TEST(Math, FloatFunctionsAreWithinAFewUlps) {
  check<float>(exp_kernel, F(exp), kEverywhere, 2);
  check<float>(expm1_kernel, F(expm1), kEverywhere, 2);
  check<float>(exp2_kernel, F(exp2), kEverywhere, 2);
  check<float>(log_kernel, F(log), kEverywhere, 2);
  check<float>(log2_kernel, F(log2), kEverywhere, 2);
  check<float>(log10_kernel, F(log10), kEverywhere, 2);
  check<float>(log1p_kernel, F(log1p), kEverywhere, 2);
  check<float>(tanh_kernel, F(tanh), kEverywhere, 2.2);
  check<float>(sinh_kernel, F(sinh), kEverywhere, 2);
  check<float>(cosh_kernel, F(cosh), kEverywhere, 2);
  check<float>(asinh_kernel, F(asinh), kEverywhere, 2);
  check<float>(acosh_kernel, F(acosh), kEverywhere, 2);
  check<float>(atanh_kernel, F(atanh), kEverywhere, 2);
  check<float>(sin_kernel, F(sin), kEverywhere, 2);
  check<float>(cos_kernel, F(cos), kEverywhere, 2);
  check<float>(tan_kernel, F(tan), kEverywhere, 2);
  check<float>(asin_kernel, F(asin), kEverywhere, 2);
  check<float>(acos_kernel, F(acos), kEverywhere, 2);
  check<float>(atan_kernel, F(atan), kEverywhere, 2);
  check<float>(erf_kernel, F(erf), kEverywhere, 2);
}

TEST(Math, FloatActivationsAreWithinAFewUlps) {
  // Below, the result (or an intermediate) is subnormal and flushed to 0 or to the sign of 0, as PyTorch does.
  check<float>(sigmoid_kernel, sigmoid, {-87, INFINITY}, 2);
  check<float>(erfc_kernel, F(erfc), {-INFINITY, 9.1}, 2);
  check<float>(gelu_kernel, gelu, {-12.9, 3e38}, 5);
  check<float>(silu_kernel, silu, {-86, 3e38}, 2.5);
  check<float>(mish_kernel, mish, {-86, 3e38}, 4);
  check<float>(log_sigmoid_kernel, log_sigmoid, kEverywhere, 2);
  // The argument of the exponential is rounded: its relative error grows with it.
  check<float>(gelu_tanh_kernel, gelu_tanh, {-1, 3e38}, 3);
}

TEST(Math, DoubleFunctionsAreWithinAFewUlps) {
  check<double>(exp_kernel, F(exp), kEverywhere, 2);
  check<double>(expm1_kernel, F(expm1), kEverywhere, 2);
  check<double>(exp2_kernel, F(exp2), kEverywhere, 2);
  check<double>(log_kernel, F(log), kEverywhere, 2);
  check<double>(log1p_kernel, F(log1p), kEverywhere, 2);
  check<double>(log2_kernel, F(log2), kEverywhere, 2);
  check<double>(tanh_kernel, F(tanh), kEverywhere, 2.5);
  check<double>(sigmoid_kernel, sigmoid, {-708, INFINITY}, 2);
  check<double>(sin_kernel, F(sin), kEverywhere, 2);
  check<double>(cos_kernel, F(cos), kEverywhere, 2);
  check<double>(erf_kernel, F(erf), kEverywhere, 2);
}

}  // namespace
}  // namespace cresset::kernels
