#include <gtest/gtest.h>

#include <cmath>

#include "cresset/kernels/layout/layout.h"
#include "strided_array.h"

namespace cresset::kernels {
namespace {

using namespace testing;

// <a, b> of two arrays of one shape.
double dot(const Array<double>& a, const Array<double>& b) {
  double sum = 0;
  a.for_each([&](const Shape& at) { sum += a(at) * b(at); });
  return sum;
}

Array<double> random_array(std::mt19937& rng, Shape shape, Layout layout = Layout::contiguous) {
  std::normal_distribution<double> normal;
  Array<double> a(std::move(shape), layout);
  a.for_each([&](const Shape& at) { a(at) = normal(rng); });
  return a;
}

template <class T> void expect_near(const Array<T>& got, const std::vector<double>& wanted, double tolerance) {
  const auto values = got.values();
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); i++) EXPECT_NEAR(static_cast<double>(values[i]), wanted[i], tolerance) << i;
}

TEST(Pad, ConstantFillsAndCutsInEveryDtypeAndLayout) {
  std::mt19937 rng(1);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (const Shape& pads : {Shape{1, 2}, Shape{0, 1, 2, 0}, Shape{-1, 2, 3, -2}, Shape{1, 1, 0, 0, 2, 1}, Shape{-3, 4, 0, 0, 1, -3}}) {
        Array<T> self({3, 4, 5}, layout);
        self.randomize(rng);
        Shape shape = self.sizes;
        for (size_t i = 0; i < pads.size(); i++) shape[2 - i / 2] += pads[i];
        Array<T> out(shape, layout);
        pad_constant(out.view(), self.view(), pads, 3);
        out.for_each([&](const Shape& at) {
          Shape from = at;
          bool inside = true;
          for (size_t d = 0; d < 3; d++) {
            if ((2 - d) * 2 < pads.size()) from[d] -= pads[(2 - d) * 2];
            inside &= from[d] >= 0 && from[d] < self.sizes[d];
          }
          ASSERT_TRUE(same_bits(out(at), inside ? self(from) : Scalar(3).as<T>()));
        });
      }
  });
}

TEST(Pad, ConstantOfAnEmptyInputIsAllValue) {
  const Array<float> self({0, 2});
  Array<float> out({2, 4});
  const int64_t pads[] = {1, 1, 1, 1};
  pad_constant(out.view(), self.view(), pads, 7);
  for (float v : out.values()) EXPECT_EQ(v, 7);
}

// Golden from PyTorch 2.13.
TEST(Pad, ModesMatchGoldenValues) {
  const Array<float> self({1, 2, 3}, {0, 1, 2, 3, 4, 5});
  const int64_t wide[] = {2, 1}, cut[] = {-1, 1};
  const auto check = [&](PadMode mode, IntArrayRef pads, std::vector<float> wanted) {
    Array<float> out({1, 2, 3 + pads[0] + pads[1]});
    pad(out.view(), self.view(), pads, mode);
    EXPECT_EQ(out.values(), wanted);
  };
  check(PadMode::reflect, wide, {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4});
  check(PadMode::reflect, cut, {1, 2, 1, 4, 5, 4});
  check(PadMode::replicate, wide, {0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5});
  check(PadMode::replicate, cut, {1, 2, 2, 4, 5, 5});
  check(PadMode::circular, wide, {1, 2, 0, 1, 2, 0, 4, 5, 3, 4, 5, 3});
  check(PadMode::circular, cut, {1, 2, 1, 4, 5, 4});
}

TEST(Pad, BackwardIsTheAdjointInOneToThreeDims) {
  std::mt19937 rng(2);
  for (PadMode mode : {PadMode::reflect, PadMode::replicate, PadMode::circular})
    for (Layout layout : kLayouts)
      for (const Shape& pads : {Shape{2, 1}, Shape{1, 3, 2, 0}, Shape{3, 1, 0, 2, 1, 1}, Shape{-1, 2, 1, -1}}) {
        const Array<double> x = random_array(rng, {2, 2, 4, 5, 6}, layout);
        Shape shape = x.sizes;
        for (size_t i = 0; i < pads.size(); i++) shape[4 - i / 2] += pads[i];
        const Array<double> g = random_array(rng, shape, layout);
        Array<double> y(shape, layout), grad(x.sizes, layout);
        pad(y.view(), x.view(), pads, mode);
        pad_backward(grad.view(), g.view(), pads, mode);
        EXPECT_NEAR(dot(y, g), dot(x, grad), 1e-10);
      }
}

TEST(Pad, TooLargePadsAreRefused) {
  const Array<float> self({1, 3});
  Array<float> out({1, 6});
  const int64_t three[] = {3, 0}, wrong[] = {1, 1};
  EXPECT_THROW(pad(out.view(), self.view(), three, PadMode::reflect), Error);
  EXPECT_THROW(pad(out.view(), self.view(), wrong, PadMode::replicate), Error);
}

// Golden from PyTorch 2.13: x = (arange(15) ** 2 % 11).view(1, 1, 3, 5).
TEST(Resize, MatchesGoldenValues) {
  std::vector<double> squares, scaled;
  for (int i = 0; i < 15; i++) {
    squares.push_back(i * i % 11);
    scaled.push_back(i * i % 11 * 20);
  }
  const auto check = [&](ResizeMode mode, bool align, bool antialias, Shape size, std::vector<double> wanted) {
    const auto one = [&](auto tag, double tolerance) {
      using T = decltype(tag);
      const Array<T> x({1, 1, 3, 5}, squares);
      Array<T> out({1, 1, size[0], size[1]});
      ResizeOptions options;
      options.mode = mode;
      options.align_corners = align;
      options.antialias = antialias;
      resize(out.view(), x.view(), options);
      expect_near(out, wanted, tolerance);
    };
    one(float{}, 5e-6);
    one(double{}, 5e-6);
    one(Half{}, 6e-3);
    one(BFloat16{}, 5e-2);
  };
  check(ResizeMode::linear, false, false, {4, 3}, {0.3333333, 4.0, 6.333334, 2.0, 4.625, 5.916667, 2.125, 3.5, 6.291667, 0.6666667, 1.0, 7.333333});
  check(ResizeMode::linear, true, false, {4, 3}, {0.0, 4.0, 5.0, 2.0, 4.6666665, 4.333333, 2.3333333, 3.6666665, 5.666667, 1.0, 1.0, 9.0});
  check(ResizeMode::linear, false, true, {2, 3}, {1.3928572, 4.8194447, 6.5000005, 1.482143, 2.9444447, 6.5892859});
  check(ResizeMode::cubic, false, false, {4, 3},
        {-0.0485741, 3.9282227, 6.5902047, 2.1494694, 5.0791016, 5.8658762, 2.3758688, 3.668457, 6.3622136, 0.4674661, 0.7128906, 7.7215242});
  check(ResizeMode::cubic, true, false, {4, 3}, {0.0, 4.0, 5.0, 2.2777777, 5.1296306, 3.7592597, 2.7037034, 3.851851, 5.4629607, 1.0, 1.0, 9.0});
  check(ResizeMode::cubic, false, true, {2, 3}, {1.1896286, 5.1315093, 6.650104, 1.3913819, 2.778379, 6.7456708});
  check(ResizeMode::lanczos, false, true, {2, 3}, {0.9931333, 5.4498264, 6.7676498, 1.3909717, 2.719913, 6.8504146});
  check(ResizeMode::nearest, false, false, {2, 7}, {0, 0, 1, 4, 4, 9, 5, 3, 3, 3, 5, 5, 9, 4});
  check(ResizeMode::nearest_exact, false, false, {2, 7}, {0, 1, 1, 4, 9, 9, 5, 1, 0, 0, 1, 4, 4, 9});
  const Array<uint8_t> bytes({1, 1, 3, 5}, scaled);
  Array<uint8_t> out({1, 1, 4, 3});
  ResizeOptions linear;
  linear.mode = ResizeMode::linear;
  resize(out.view(), bytes.view(), linear);
  expect_near(out, {7, 80, 127, 40, 93, 118, 42, 70, 126, 13, 20, 147}, 1);
}

TEST(Resize, OneAndThreeDimsAndGivenScales) {
  const Array<float> line({1, 1, 5}, {0, 1, 4, 9, 5});
  Array<float> longer({1, 1, 8});
  ResizeOptions options;
  options.mode = ResizeMode::linear;
  options.scales[0] = 1.7;
  resize(longer.view(), line.view(), options);
  expect_near(longer, {0.0, 0.382353, 0.9705883, 2.6764708, 4.7352948, 7.6764717, 7.7058821, 5.3529406}, 2e-6);
  Array<float> block({1, 1, 2, 3, 5}), small({1, 1, 3, 2, 2});
  block.for_each([&](const Shape& at) {
    const int64_t i = at[3] * 5 + at[4];
    block(at) = static_cast<float>((i * i % 11) * (at[2] + 1));
  });
  options.scales[0] = 0;
  resize(small.view(), block.view(), options);
  expect_near(small, {1.3125, 7.9375, 0.9375, 5.875, 1.96875, 11.90625, 1.40625, 8.8125, 2.625, 15.875, 1.875, 11.75}, 1e-5);
}

TEST(Resize, NearestTakesEveryDtypeAndLayout) {
  std::mt19937 rng(3);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts) {
      Array<T> x({2, 3, 4, 6}, layout), out({2, 3, 8, 3}, layout);
      x.randomize(rng);
      resize(out.view(), x.view(), {});
      out.for_each([&](const Shape& at) { ASSERT_TRUE(same_bits(out(at), x({at[0], at[1], at[2] / 2, at[3] * 2}))); });
    }
  });
}

TEST(Resize, BackwardIsTheAdjointOfEveryMode) {
  std::mt19937 rng(4);
  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::nearest_exact, ResizeMode::linear, ResizeMode::cubic, ResizeMode::lanczos})
    for (bool align : {false, true})
      for (bool antialias : {false, true})
        for (size_t dims = 1; dims <= 3; dims++)
          for (Layout layout : kLayouts) {
            const Shape in{5, 4, 6}, out{3, 9, 6};
            Shape xs{2, 2}, ys{2, 2};
            for (size_t d = 0; d < dims; d++) xs.push_back(in[d]), ys.push_back(out[d]);
            ResizeOptions options;
            options.mode = mode;
            options.align_corners = align;
            options.antialias = antialias;
            const Array<double> x = random_array(rng, xs, layout), g = random_array(rng, ys, layout);
            Array<double> y(ys, layout), grad(xs, layout);
            resize(y.view(), x.view(), options);
            resize_backward(grad.view(), g.view(), options);
            EXPECT_NEAR(dot(y, g), dot(x, grad), 1e-10);
          }
}

TEST(Resize, LowPrecisionGradientsAreSummedInFloat) {
  Array<BFloat16> g({1, 1, 4096}), grad({1, 1, 1});
  g.for_each([&](const Shape& at) { g(at) = BFloat16(1.0f); });
  resize_backward(grad.view(), g.view(), {});
  EXPECT_EQ(static_cast<float>(grad({0, 0, 0})), 4096);
}

TEST(Resize, RefusesIntegersForInterpolation) {
  Array<int32_t> x({1, 1, 4}), out({1, 1, 8});
  ResizeOptions options;
  options.mode = ResizeMode::linear;
  EXPECT_THROW(resize(out.view(), x.view(), options), NotImplementedError);
}

TEST(Unfold, ColumnsMatchALoopAndSumBack) {
  std::mt19937 rng(5);
  for (const Window2d& w : {Window2d{{3, 2}, {1, 1}, {0, 0}, {1, 1}}, Window2d{{2, 3}, {2, 1}, {1, 2}, {2, 3}}, Window2d{{1, 1}, {1, 1}, {0, 0}, {3, 2}},
                            Window2d{{3, 3}, {2, 2}, {4, 4}, {1, 2}}})
    for (Layout layout : kLayouts) {
      const Array<double> x = random_array(rng, {2, 3, 7, 8}, layout);
      const int64_t rows = w.positions(7, 0), columns = w.positions(8, 1), taps = w.kernel[0] * w.kernel[1];
      Array<double> out({2, 3 * taps, rows * columns}, layout), back(x.sizes, layout);
      im2col(out.view(), x.view(), w);
      out.for_each([&](const Shape& at) {
        const int64_t tap = at[1] % taps, y = at[2] / columns * w.stride[0] - w.padding[0] + tap / w.kernel[1] * w.dilation[0];
        const int64_t z = at[2] % columns * w.stride[1] - w.padding[1] + tap % w.kernel[1] * w.dilation[1];
        const bool inside = y >= 0 && y < 7 && z >= 0 && z < 8;
        ASSERT_EQ(out(at), inside ? x({at[0], at[1] / taps, y, z}) : 0);
      });
      const Array<double> g = random_array(rng, out.sizes, layout);
      col2im(back.view(), g.view(), w);
      EXPECT_NEAR(dot(out, g), dot(x, back), 1e-10);
    }
}

TEST(Resize, ResultsDoNotDependOnTheThreadCount) {
  std::mt19937 rng(6);
  const Array<double> x = random_array(rng, {4, 8, 40, 50}), g = random_array(rng, {4, 8, 70, 30});
  std::vector<std::vector<unsigned char>> results[2];
  with_one_and_two_threads([&](int threads) {
    ResizeOptions options;
    options.mode = ResizeMode::cubic;
    Array<double> y(g.sizes), grad(x.sizes), padded({4, 8, 44, 54});
    const int64_t pads[] = {2, 2, 2, 2};
    resize(y.view(), x.view(), options);
    resize_backward(grad.view(), g.view(), options);
    pad(padded.view(), x.view(), pads, PadMode::reflect);
    for (const auto& bytes : {y.bytes, grad.bytes, padded.bytes}) results[threads - 1].push_back(bytes);
  });
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace cresset::kernels
