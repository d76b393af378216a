#include "cresset/kernels/norm/softmax.h"

#include <gtest/gtest.h>

#include "tests/kernels/array.h"
#include "tests/kernels/softmax_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

const Shape kShapes[] = {{3, 1, 1},  {5, 10, 1}, {4, 16, 1}, {3, 100, 1},  {2, 1000, 1}, {2, 5000, 1}, {1, 40000, 1},
                         {2, 10, 3}, {2, 7, 16}, {3, 9, 70}, {1, 50, 200}, {0, 5, 1},    {2, 0, 3},    {2, 5, 0}};

void check(const Array& x, double ulps) {
  const int64_t outer = x.shape[0], dim = x.shape[1], inner = x.shape[2];
  Array y = x, y2 = x, dy = x, dx = x, dx2 = x;
  fill(dy, 77);
  softmax(x.data(), y.data(), x.dtype, outer, dim, inner);
  reference::softmax(x.data(), y2.data(), x.dtype, outer, dim, inner);
  expect_close(y, y2, ulps, "softmax");
  softmax_backward(dy.data(), y2.data(), dx.data(), x.dtype, outer, dim, inner);
  reference::softmax_backward(dy.data(), y2.data(), dx2.data(), x.dtype, outer, dim, inner);
  expect_close(dx, dx2, ulps, "softmax backward");
  Array in_place = x;
  softmax(in_place.data(), in_place.data(), x.dtype, outer, dim, inner);
  expect_close(in_place, y2, ulps, "softmax in place");
  log_softmax(x.data(), y.data(), x.dtype, outer, dim, inner);
  reference::log_softmax(x.data(), y2.data(), x.dtype, outer, dim, inner);
  expect_close(y, y2, ulps, "log_softmax");
  log_softmax_backward(dy.data(), y2.data(), dx.data(), x.dtype, outer, dim, inner);
  reference::log_softmax_backward(dy.data(), y2.data(), dx2.data(), x.dtype, outer, dim, inner);
  expect_close(dx, dx2, ulps, "log_softmax backward");
}

TEST(Softmax, EveryDtypeAndShape) {
  for_each_isa([] {
    for (ScalarType t : kFloatDTypes)
      for (const Shape& s : kShapes) {
        Array x(t, s);
        fill(x, 1);
        check(x, 30);
        for (int64_t i = 0; i < x.numel(); i++) x.set<double>(i, 40 * x.get<double>(i));
        check(x, 30);
      }
  });
}

// Softmax is a probability: small outputs must be right in relation to themselves, not only to 1.
TEST(Softmax, SmallProbabilitiesKeepTheirRelativePrecision) {
  for_each_isa([] {
    Array x(kFloat, {1, 500, 1});
    for (int64_t i = 0; i < 500; i++) x.set<double>(i, -0.17 * static_cast<double>(i));
    Array y = x, y2(kDouble, {1, 500, 1}), xd = y2;
    for (int64_t i = 0; i < 500; i++) xd.set<double>(i, x.get<double>(i));
    softmax(x.data(), y.data(), kFloat, 1, 500, 1);
    reference::softmax(xd.data(), y2.data(), kDouble, 1, 500, 1);
    for (int64_t i = 0; i < 500; i++) ASSERT_NEAR(y.get<double>(i) / y2.get<double>(i), 1, 1e-6) << i;
  });
}

TEST(Softmax, InfinitiesAndNan) {
  for_each_isa([] {
    for (ScalarType t : kFloatDTypes)
      for (const Shape& s : {Shape{4, 40, 1}, Shape{1, 9000, 1}, Shape{1, 40, 4}, Shape{2, 40, 20}}) {
        const int64_t n = s[1] * s[2];
        Array x(t, s);
        fill(x, 2);
        for (int64_t i = 0; i < x.numel(); i += 3) x.set<double>(i, -INFINITY);
        check(x, 30);
        x.set<double>(n - 1, NAN);
        check(x, 30);
        x.set<double>(n - 1, INFINITY);
        Array y = x;
        softmax(x.data(), y.data(), t, s[0], s[1], s[2]);
        EXPECT_TRUE(std::isnan(y.get<double>(n - 1)));
        for (int64_t i = 0; i < x.numel(); i++) x.set<double>(i, -INFINITY);
        check(x, 30);
      }
  });
}

TEST(Softmax, StreamedOutputsAndThreads) {
  for_each_isa([] {
    Array x(kFloat, {130, 50257, 1}), y = x, z = x;
    fill(x, 3);
    expect_same_on_threads(y, [&] { log_softmax(x.data(), y.data(), kFloat, 130, 50257, 1); });
    for (int64_t r : {0, 77, 129}) {
      Array xr(kFloat, {1, 50257, 1}), yr = xr, expected = xr;
      std::memcpy(xr.data(), x.data() + r * 50257 * 4, 50257 * 4);
      std::memcpy(yr.data(), y.data() + r * 50257 * 4, 50257 * 4);
      reference::log_softmax(xr.data(), expected.data(), kFloat, 1, 50257, 1);
      expect_close(yr, expected, 8);
    }
    expect_same_on_threads(z, [&] { softmax(x.data(), z.data(), kFloat, 130, 50257, 1); });
    Array w(kFloat, {30, 64, 100});
    fill(w, 4);
    expect_same_on_threads(z = w, [&] { softmax(w.data(), z.data(), kFloat, 30, 64, 100); });
  });
}

}  // namespace
}  // namespace cresset::kernels
