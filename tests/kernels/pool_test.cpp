#include "cresset/kernels/pool/pool.h"

#include <gtest/gtest.h>

#include "cresset/base/error.h"
#include "tests/kernels/array.h"
#include "tests/kernels/pool_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

int64_t out_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil) {
  const int64_t reach = in + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t n = (reach + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (n - 1) * stride >= in + padding) n--;
  return n;
}

PoolShape make(int64_t planes, std::vector<int64_t> in, std::vector<int64_t> kernel, std::vector<int64_t> stride, std::vector<int64_t> padding,
               std::vector<int64_t> dilation, bool ceil = false) {
  PoolShape s;
  s.planes = planes;
  const size_t lead = 3 - in.size();
  for (size_t d = 0; d < in.size(); d++) {
    s.in[lead + d] = in[d];
    s.kernel[lead + d] = kernel[d];
    s.stride[lead + d] = stride[d];
    s.padding[lead + d] = padding[d];
    s.dilation[lead + d] = dilation[d];
    s.out[lead + d] = out_size(in[d], kernel[d], stride[d], padding[d], dilation[d], ceil);
  }
  return s;
}

std::vector<PoolShape> shapes(bool dilated) {
  std::vector<PoolShape> all{
      make(3, {40}, {2}, {2}, {0}, {1}),
      make(2, {37}, {3}, {1}, {1}, {1}),
      make(2, {7}, {7}, {7}, {0}, {1}),
      make(3, {100}, {5}, {3}, {2}, {1}, true),
      make(3, {24, 24}, {2, 2}, {2, 2}, {0, 0}, {1, 1}),
      make(2, {33, 35}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
      make(3, {33, 41}, {2, 2}, {2, 2}, {0, 0}, {1, 1}),
      make(2, {4, 6, 70}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}),
      make(2, {33, 34}, {3, 2}, {2, 2}, {1, 1}, {1, 1}, true),
      make(1, {70, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
      make(1, {150, 5}, {3, 3}, {1, 1}, {0, 0}, {1, 1}),
      make(2, {30, 64}, {6, 8}, {5, 8}, {3, 4}, {1, 1}),
      make(1, {8, 300}, {2, 9}, {4, 7}, {0, 3}, {1, 1}),
      make(2, {6, 7, 8}, {2, 3, 2}, {2, 2, 1}, {1, 1, 1}, {1, 1, 1}),
      make(2, {5, 6, 40}, {3, 2, 3}, {1, 2, 2}, {1, 0, 1}, {1, 1, 1}, true),
      make(0, {8, 8}, {2, 2}, {2, 2}, {0, 0}, {1, 1}),
  };
  if (dilated) {
    all.push_back(make(2, {30, 50}, {3, 3}, {1, 1}, {1, 1}, {2, 2}));
    all.push_back(make(2, {30, 50}, {3, 2}, {2, 2}, {1, 1}, {3, 5}));
    all.push_back(make(1, {9, 10, 40}, {2, 2, 3}, {2, 1, 3}, {1, 1, 1}, {3, 2, 2}));
  }
  return all;
}

Shape input_shape(const PoolShape& s) { return {s.planes, s.in_size()}; }
Shape output_shape(const PoolShape& s) { return {s.planes, s.out_size()}; }

void check_max(ScalarType t, const PoolShape& s, const Array& x, bool adaptive = false) {
  Array y(t, output_shape(s)), y2 = y, y3 = y, i(kLong, output_shape(s)), i2 = i;
  const auto f = adaptive ? adaptive_max_pool : max_pool;
  const auto r = adaptive ? reference::adaptive_max_pool : reference::max_pool;
  f(x.data(), y.data(), i.as<int64_t>(), t, s);
  r(x.data(), y2.data(), i2.as<int64_t>(), t, s);
  expect_close(y, y2, 0);
  expect_close(i, i2, 0);
  f(x.data(), y3.data(), nullptr, t, s);
  expect_close(y3, y2, 0);
}

TEST(MaxPool, EveryRealDtypeWithTies) {
  for_each_isa([] {
    for (ScalarType t : kAllDTypes) {
      if (is_complex_type(t)) continue;
      for (const PoolShape& s : shapes(true)) {
        Array x(t, input_shape(s));
        fill(x, 3, true);
        check_max(t, s, x);
      }
    }
  });
}

TEST(MaxPool, NanWinsAndLowestValuesKeepTheFirstIndex) {
  for_each_isa([] {
    for (ScalarType t : kFloatDTypes)
      for (const PoolShape& s : shapes(true)) {
        Array x(t, input_shape(s));
        fill(x, 5);
        for (int64_t i = 0; i < x.numel(); i += 5) x.set<double>(i, i % 3 ? NAN : -INFINITY);
        check_max(t, s, x);
        for (int64_t i = 0; i < x.numel(); i++) x.set<double>(i, -INFINITY);
        check_max(t, s, x);
      }
    for (const PoolShape& s : shapes(true)) {
      Array x(kLong, input_shape(s));
      for (int64_t i = 0; i < x.numel(); i++) x.as<int64_t>()[i] = INT64_MIN;
      check_max(kLong, s, x);
    }
  });
}

TEST(MaxPool, BackwardAddsAtTheIndices) {
  for_each_isa([] {
    for (ScalarType t : kFloatDTypes)
      for (const PoolShape& s : shapes(true)) {
        Array x(t, input_shape(s)), y(t, output_shape(s)), i(kLong, output_shape(s)), dy(t, output_shape(s)), dx(t, input_shape(s)), dx2 = dx;
        fill(x, 3);
        fill(dy, 4);
        max_pool(x.data(), y.data(), i.as<int64_t>(), t, s);
        max_pool_backward(dy.data(), i.as<int64_t>(), dx.data(), t, s.planes, s.in_size(), s.out_size());
        reference::max_pool_backward(dy.data(), i.as<int64_t>(), dx2.data(), t, s.planes, s.in_size(), s.out_size());
        expect_close(dx, dx2, 8);
      }
    float dy = 1, dx[4];
    const int64_t index = 4;
    EXPECT_THROW(max_pool_backward(reinterpret_cast<char*>(&dy), &index, reinterpret_cast<char*>(dx), kFloat, 1, 4, 1), IndexError);
  });
}

TEST(AvgPool, EveryDtypeDivisorAndPadding) {
  for_each_isa([] {
    for (ScalarType t : {kHalf, kBFloat16, kFloat, kDouble, kLong})
      for (const PoolShape& s : shapes(false))
        for (bool include_pad : {true, false})
          for (int64_t divisor : {0, 7}) {
            Array x(t, input_shape(s)), y(t, output_shape(s)), y2 = y;
            fill(x, 8);
            avg_pool(x.data(), y.data(), t, s, include_pad, divisor);
            reference::avg_pool(x.data(), y2.data(), t, s, include_pad, divisor);
            expect_close(y, y2, 8);
            if (t == kLong) continue;
            Array dy(t, output_shape(s)), dx(t, input_shape(s)), dx2 = dx;
            fill(dy, 9);
            avg_pool_backward(dy.data(), dx.data(), t, s, include_pad, divisor);
            reference::avg_pool_backward(dy.data(), dx2.data(), t, s, include_pad, divisor);
            expect_close(dx, dx2, 8);
          }
  });
}

// Windows of several vectors.
TEST(AdaptivePool, TheMaximumOfWideWindowsIsTheFirstOfEqualOnesOrTheLastNan) {
  for_each_isa([] {
    for (const auto& [in, out] : {std::pair{Shape{1, 1, 300}, Shape{1, 1, 3}}, {Shape{1, 4, 91}, Shape{1, 2, 1}}, {Shape{2, 3, 500}, Shape{1, 2, 7}}}) {
      PoolShape s;
      s.planes = 4;
      std::copy(in.begin(), in.end(), s.in);
      std::copy(out.begin(), out.end(), s.out);
      for (ScalarType t : kFloatDTypes) {
        Array x(t, input_shape(s));
        fill(x, 2);
        check_max(t, s, x, true);
        fill(x, 3, true);
        check_max(t, s, x, true);
        for (int64_t i = 0; i < x.numel(); i += 101) x.set<double>(i, NAN);
        check_max(t, s, x, true);
        for (int64_t i = 0; i < x.numel(); i++) x.set<double>(i, i % 2 ? -0.0 : -INFINITY);
        check_max(t, s, x, true);
      }
    }
  });
}

TEST(AdaptivePool, DivisibleAndUnevenWindows) {
  for_each_isa([] {
    for (const auto& [in, out] : {std::pair{Shape{1, 1, 30}, Shape{1, 1, 7}},
                                  {Shape{1, 12, 18}, Shape{1, 6, 9}},
                                  {Shape{1, 13, 17}, Shape{1, 5, 4}},
                                  {Shape{1, 7, 7}, Shape{1, 1, 1}},
                                  {Shape{5, 9, 40}, Shape{2, 4, 40}},
                                  {Shape{1, 3, 4}, Shape{1, 6, 7}}}) {
      PoolShape s;
      s.planes = 3;
      std::copy(in.begin(), in.end(), s.in);
      std::copy(out.begin(), out.end(), s.out);
      for (ScalarType t : kFloatDTypes) {
        Array x(t, input_shape(s)), y(t, output_shape(s)), y2 = y, dy = y, dx = x, dx2 = x;
        fill(x, 2);
        fill(dy, 3);
        check_max(t, s, x, true);
        adaptive_avg_pool(x.data(), y.data(), t, s);
        reference::adaptive_avg_pool(x.data(), y2.data(), t, s);
        expect_close(y, y2, 8);
        adaptive_avg_pool_backward(dy.data(), dx.data(), t, s);
        reference::adaptive_avg_pool_backward(dy.data(), dx2.data(), t, s);
        expect_close(dx, dx2, 8);
        x.set<double>(5, NAN);
        check_max(t, s, x, true);
      }
    }
  });
}

TEST(Pool, IndependentOfThreads) {
  const PoolShape s = make(6, {70, 80}, {3, 3}, {2, 2}, {1, 1}, {1, 1});
  Array x(kFloat, input_shape(s)), y(kFloat, output_shape(s)), dx = x, i(kLong, output_shape(s));
  fill(x, 1);
  expect_same_on_threads(i, [&] { max_pool(x.data(), y.data(), i.as<int64_t>(), kFloat, s); });
  expect_same_on_threads(y, [&] { avg_pool(x.data(), y.data(), kFloat, s, true, 0); });
  expect_same_on_threads(dx, [&] { avg_pool_backward(y.data(), dx.data(), kFloat, s, true, 0); });
  expect_same_on_threads(dx, [&] { max_pool_backward(y.data(), i.as<int64_t>(), dx.data(), kFloat, s.planes, s.in_size(), s.out_size()); });
}

TEST(Pool, UnsupportedDtypesAreNamed) {
  PoolShape s = make(1, {4}, {2}, {2}, {0}, {1});
  char x[64] = {}, y[64];
  EXPECT_THROW(max_pool(x, y, nullptr, kComplexFloat, s), NotImplementedError);
  EXPECT_THROW(avg_pool(x, y, kInt, s, true, 0), NotImplementedError);
}

}  // namespace
}  // namespace cresset::kernels
