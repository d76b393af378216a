// Running sums and products against loops in long double (floating dtypes) and wrapping integers, for every layout.
#include <cmath>
#include <random>
#include <vector>

#include "cresset/base/half.h"
#include "cresset/kernels/reduce.h"
#include "gtest/gtest.h"

namespace cresset::kernels {
namespace {

// shape {outer, n, inner} with elements `step` apart; the scan runs along the middle.
template <class T>
void check(bool product, int64_t outer, int64_t n, int64_t inner, int64_t step, double tolerance) {
  std::mt19937 gen(static_cast<unsigned>(n + inner));
  std::uniform_real_distribution<double> real(0.5, 1.5);
  const int64_t item = static_cast<int64_t>(sizeof(T));
  std::vector<T> in(static_cast<size_t>(outer * n * inner * step)), out(in.size());
  for (T& x : in) x = std::is_integral_v<T> ? static_cast<T>(gen()) : static_cast<T>(real(gen));
  CumulativeArgs a;
  a.in = reinterpret_cast<const char*>(in.data());
  a.out = reinterpret_cast<char*>(out.data());
  a.in_dtype = a.out_dtype = dtype_of<T>;
  const int64_t shape[] = {outer, n, inner}, strides[] = {n * inner * step * item, inner * step * item, step * item};
  a.shape = shape;
  a.in_strides = a.out_strides = strides;
  a.dim = 1;
  cumulative(product ? CumOp::prod : CumOp::sum, a);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t c = 0; c < inner; c++) {
      long double acc = product;
      uint64_t whole = product;
      for (int64_t j = 0; j < n; j++) {
        const auto at = static_cast<size_t>(((o * n + j) * inner + c) * step);
        if constexpr (std::is_integral_v<T>) {
          whole = product ? whole * static_cast<uint64_t>(in[at]) : whole + static_cast<uint64_t>(in[at]);
          ASSERT_EQ(out[at], static_cast<T>(whole)) << n << " " << inner << " at " << j;
        } else {
          const long double x = static_cast<double>(in[at]);
          acc = product ? acc * x : acc + x;
          ASSERT_NEAR(static_cast<double>(out[at]), static_cast<double>(acc), tolerance * std::fabs(static_cast<double>(acc))) << n << " " << inner << " at " << j;
        }
      }
    }
}

template <class T>
void check_all(double tolerance, int64_t longest) {
  for (const bool product : {false, true})
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{8}, int64_t{9}, longest})
      for (const int64_t inner : {1, 3, 600})
        for (const int64_t step : {1, 2}) check<T>(product, 2, n, inner, step, tolerance);
}

TEST(Cumulative, Float) { check_all<float>(1e-7, 1000); }
TEST(Cumulative, Double) { check_all<double>(1e-13, 300); }
TEST(Cumulative, Half) { check_all<Half>(1e-3, 40); }
TEST(Cumulative, BFloat16) { check_all<BFloat16>(8e-3, 40); }
TEST(Cumulative, Int64WrapsAround) { check_all<int64_t>(0, 300); }

TEST(Cumulative, NotANumberAndInfinityStick) {
  std::vector<float> in(40, 1.0f), out(40);
  in[11] = INFINITY;
  in[25] = -INFINITY;
  CumulativeArgs a;
  a.in = reinterpret_cast<const char*>(in.data());
  a.out = reinterpret_cast<char*>(out.data());
  a.in_dtype = a.out_dtype = ScalarType::Float;
  const int64_t shape[] = {40}, strides[] = {4};
  a.shape = shape;
  a.in_strides = a.out_strides = strides;
  cumulative(CumOp::sum, a);
  for (size_t i = 0; i < 40; i++) {
    if (i < 11) EXPECT_EQ(out[i], static_cast<float>(i + 1));
    else if (i < 25) EXPECT_EQ(out[i], INFINITY) << i;
    else EXPECT_TRUE(std::isnan(out[i])) << i;
  }
}

}  // namespace
}  // namespace cresset::kernels
