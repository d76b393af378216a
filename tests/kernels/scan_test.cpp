// Running sums and products against loops in long double (floating dtypes) and wrapping integers, for every layout.
#include <cmath>
#include <random>
#include <vector>

#include "cresset/base/numbers/half.h"
#include "cresset/kernels/reduce/reduce.h"
#include "gtest/gtest.h"

namespace cresset::kernels {
namespace {

// shape {outer, n, inner} with elements `step` apart; the scan runs along the middle.
template <class T> void check(bool product, int64_t outer, int64_t n, int64_t inner, int64_t step, double tolerance) {
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
          ASSERT_NEAR(static_cast<double>(out[at]), static_cast<double>(acc), tolerance * std::fabs(static_cast<double>(acc)))
              << n << " " << inner << " at " << j;
        }
      }
    }
}

template <class T> void check_all(double tolerance, int64_t longest) {
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

TEST(Cumulative, NarrowIntegersIntoInt64) {
  std::mt19937 gen(3);
  const int64_t shape[] = {2, 90, 5}, in_strides[] = {90 * 5 * 4, 5 * 4, 4}, out_strides[] = {90 * 5 * 8, 5 * 8, 8};
  std::vector<int32_t> in(900);
  std::vector<int64_t> out(900);
  for (int32_t& x : in) x = static_cast<int32_t>(gen());
  for (const int dim : {0, 1, 2}) {
    CumulativeArgs a;
    a.in = reinterpret_cast<const char*>(in.data());
    a.out = reinterpret_cast<char*>(out.data());
    a.in_dtype = ScalarType::Int;
    a.out_dtype = ScalarType::Long;
    a.shape = shape;
    a.in_strides = in_strides;
    a.out_strides = out_strides;
    a.dim = dim;
    cumulative(CumOp::sum, a);
    const int64_t step = dim == 0 ? 450 : dim == 1 ? 5 : 1;
    for (int64_t i = 0; i < 900; i++) {
      const bool first = (i / step) % shape[dim] == 0;
      ASSERT_EQ(out[i], in[i] + (first ? 0 : out[i - step])) << dim << " at " << i;
    }
  }
}

// The last of equal elements gives the place; a NaN sticks, with the place of the last NaN.
template <class T> void check_order(bool is_max, int64_t outer, int64_t n, int64_t inner, int64_t step, bool with_nan) {
  std::mt19937 gen(static_cast<unsigned>(n * inner));
  const auto item = static_cast<int64_t>(sizeof(T));
  std::vector<T> in(static_cast<size_t>(outer * n * inner * step)), out(in.size());
  std::vector<int64_t> places(in.size());
  for (T& x : in) x = static_cast<T>(static_cast<int>(gen() % 50));
  if constexpr (!std::is_integral_v<T>)
    if (with_nan)
      for (size_t i = 0; i < in.size(); i += 83) in[i] = static_cast<T>(NAN);
  CumulativeArgs a;
  a.in = reinterpret_cast<const char*>(in.data());
  a.out = reinterpret_cast<char*>(out.data());
  a.indices = reinterpret_cast<char*>(places.data());
  a.in_dtype = a.out_dtype = dtype_of<T>;
  const int64_t shape[] = {outer, n, inner}, strides[] = {n * inner * step * item, inner * step * item, step * item};
  const int64_t index_strides[] = {n * inner * 8, inner * 8, 8};
  a.shape = shape;
  a.in_strides = a.out_strides = strides;
  a.index_strides = index_strides;
  a.dim = 1;
  cumulative(is_max ? CumOp::max : CumOp::min, a);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t c = 0; c < inner; c++) {
      double best = 0;
      int64_t place = 0;
      for (int64_t j = 0; j < n; j++) {
        const auto at = static_cast<size_t>((o * n + j) * inner + c);
        const auto x = static_cast<double>(in[at * step]);
        if (j == 0 || std::isnan(x) || (!std::isnan(best) && (is_max ? x >= best : x <= best))) {
          best = x;
          place = j;
        }
        const auto y = static_cast<double>(out[at * step]);
        ASSERT_TRUE(y == best || (std::isnan(y) && std::isnan(best))) << n << " " << inner << " at " << j << ": " << y << ", expected " << best;
        ASSERT_EQ(places[at], place) << n << " " << inner << " at " << j;
      }
    }
}

template <class T> void check_order_all() {
  for (const bool is_max : {false, true})
    for (const int64_t n : {1, 63, 64, 65, 300})
      for (const int64_t inner : {1, 3, 600})
        for (const int64_t step : {1, 2})
          for (const bool with_nan : {false, true}) check_order<T>(is_max, 2, n, inner, step, with_nan);
}

TEST(CumulativeExtremes, Float) { check_order_all<float>(); }
TEST(CumulativeExtremes, Double) { check_order_all<double>(); }
TEST(CumulativeExtremes, Half) { check_order_all<Half>(); }
TEST(CumulativeExtremes, BFloat16) { check_order_all<BFloat16>(); }
TEST(CumulativeExtremes, Int8) { check_order_all<int8_t>(); }
TEST(CumulativeExtremes, Int64) { check_order_all<int64_t>(); }
TEST(CumulativeExtremes, UInt64) { check_order_all<uint64_t>(); }

}  // namespace
}  // namespace cresset::kernels
