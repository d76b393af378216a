#include "cresset/kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/providers/onednn.h"

namespace cresset::kernels {
namespace {

template <class T> struct Wide { using type = std::conditional_t<std::is_integral_v<T>, uint64_t, double>; };
template <> struct Wide<complex<float>> { using type = complex<double>; };
template <> struct Wide<complex<double>> { using type = complex<double>; };

template <class T> typename Wide<T>::type widen(T x) {
  using W = typename Wide<T>::type;
  if constexpr (is_complex<T>::value || std::is_integral_v<T>) return static_cast<W>(x);
  else return static_cast<W>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(x));
}
template <class W> double magnitude(W x) {
  if constexpr (is_complex<W>::value) return std::hypot(x.real(), x.imag());
  else return std::abs(static_cast<double>(x));
}
template <class T> double epsilon() {
  if constexpr (is_complex<T>::value) return std::numeric_limits<typename T::value_type>::epsilon();
  else return static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon()));
}

template <class T> std::vector<T> random_values(int64_t count, unsigned seed) {
  std::mt19937_64 gen(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<T> v(count);
  for (auto& x : v) {
    if constexpr (is_complex<T>::value) x = T(static_cast<typename T::value_type>(real(gen)), static_cast<typename T::value_type>(real(gen)));
    else if constexpr (std::is_integral_v<T>) x = static_cast<T>(gen());
    else x = static_cast<T>(static_cast<float>(real(gen)));
  }
  return v;
}

int64_t count_input(const ConvParams& p) {
  int64_t n = p.batch * p.in_channels;
  for (int d = 0; d < p.dims; d++) n *= p.input[d];
  return n;
}
int64_t count_output(const ConvParams& p) {
  int64_t n = p.batch * p.out_channels;
  for (int d = 0; d < p.dims; d++) n *= p.output(d);
  return n;
}
int64_t count_weight(const ConvParams& p) {
  int64_t n = p.out_channels * (p.in_channels / p.groups);
  for (int d = 0; d < p.dims; d++) n *= p.kernel[d];
  return n;
}

// Calls f(output index, input index, weight index) for every product of the convolution, from its definition.
template <class F> void each_product(const ConvParams& p, F&& f) {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, ker[3] = {1, 1, 1}, str[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, dil[3] = {1, 1, 1};
  for (int d = 0; d < p.dims; d++) {
    in[d] = p.input[d];
    out[d] = p.output(d);
    ker[d] = p.kernel[d];
    str[d] = p.stride[d];
    pad[d] = p.padding[d];
    dil[d] = p.dilation[d];
  }
  const int64_t icg = p.in_channels / p.groups, ocg = p.out_channels / p.groups;
  for (int64_t b = 0; b < p.batch; b++)
    for (int64_t oc = 0; oc < p.out_channels; oc++)
      for (int64_t o0 = 0; o0 < out[0]; o0++)
        for (int64_t o1 = 0; o1 < out[1]; o1++)
          for (int64_t o2 = 0; o2 < out[2]; o2++)
            for (int64_t c = 0; c < icg; c++)
              for (int64_t k0 = 0; k0 < ker[0]; k0++)
                for (int64_t k1 = 0; k1 < ker[1]; k1++)
                  for (int64_t k2 = 0; k2 < ker[2]; k2++) {
                    const int64_t i0 = o0 * str[0] - pad[0] + k0 * dil[0], i1 = o1 * str[1] - pad[1] + k1 * dil[1], i2 = o2 * str[2] - pad[2] + k2 * dil[2];
                    if (i0 < 0 || i0 >= in[0] || i1 < 0 || i1 >= in[1] || i2 < 0 || i2 >= in[2]) continue;
                    f((((b * p.out_channels + oc) * out[0] + o0) * out[1] + o1) * out[2] + o2,
                      (((b * p.in_channels + oc / ocg * icg + c) * in[0] + i0) * in[1] + i1) * in[2] + i2,
                      (((oc * icg + c) * ker[0] + k0) * ker[1] + k1) * ker[2] + k2);
                  }
}

template <class T>
void expect_close(const char* what, const std::vector<T>& got, const std::vector<typename Wide<T>::type>& want, const std::vector<double>& scale) {
  for (size_t i = 0; i < got.size(); i++) {
    if constexpr (std::is_integral_v<T>) {
      ASSERT_EQ(got[i], static_cast<T>(want[i])) << what << " at " << i;
    } else {
      const double eps = epsilon<T>(), sum_eps = std::min(eps, 1.2e-7);
      const double tolerance = 16 * sum_eps * (scale[i] + 1) + eps * magnitude(want[i]);
      ASSERT_LE(magnitude(widen(got[i]) - want[i]), tolerance) << what << " at " << i << " in " << dtype_name(dtype_of<T>);
    }
  }
}

// All four results against the definition.
template <class T> void check_in_use(const ConvParams& p) {
  using W = typename Wide<T>::type;
  const auto x = random_values<T>(count_input(p), 1), w = random_values<T>(count_weight(p), 2), g = random_values<T>(count_output(p), 3),
             out_bias = random_values<T>(p.out_channels, 4), in_bias = random_values<T>(p.in_channels, 5);
  std::vector<W> y_want(g.size()), gx_want(x.size()), gw_want(w.size()), gb_want(p.out_channels);
  std::vector<double> y_scale(g.size()), gx_scale(x.size()), gw_scale(w.size()), gb_scale(p.out_channels);
  each_product(p, [&](int64_t o, int64_t i, int64_t k) {
    const W a = widen(x[i]), b = widen(w[k]), c = widen(g[o]);
    y_want[o] += a * b;
    gx_want[i] += c * b;
    gw_want[k] += a * c;
    y_scale[o] += magnitude(a) * magnitude(b);
    gx_scale[i] += magnitude(c) * magnitude(b);
    gw_scale[k] += magnitude(a) * magnitude(c);
  });
  const int64_t pixels = p.batch && p.out_channels ? static_cast<int64_t>(g.size()) / p.batch / p.out_channels : 0;
  for (size_t i = 0; i < g.size(); i++) {
    const int64_t channel = static_cast<int64_t>(i) / pixels % p.out_channels;
    gb_want[channel] += widen(g[i]);
    gb_scale[channel] += magnitude(widen(g[i]));
  }
  const T junk = random_values<T>(1, 9)[0];
  std::vector<T> y(g.size(), junk), gx(x.size(), junk), gw(w.size(), junk), gb(p.out_channels, junk);
  conv_forward(dtype_of<T>, p, x.data(), w.data(), nullptr, y.data());
  expect_close("output", y, y_want, y_scale);
  conv_backward_input(dtype_of<T>, p, g.data(), w.data(), nullptr, gx.data());
  expect_close("grad_input", gx, gx_want, gx_scale);
  conv_backward_weight(dtype_of<T>, p, x.data(), g.data(), gw.data(), gb.data());
  expect_close("grad_weight", gw, gw_want, gw_scale);
  expect_close("grad_bias", gb, gb_want, gb_scale);
  std::vector<T> gw_only(w.size(), junk);
  conv_backward_weight(dtype_of<T>, p, x.data(), g.data(), gw_only.data(), nullptr);
  EXPECT_EQ(std::memcmp(gw_only.data(), gw.data(), gw.size() * sizeof(T)), 0);

  for (size_t i = 0; i < y.size(); i++) y_want[i] += widen(out_bias[static_cast<int64_t>(i) / pixels % p.out_channels]);
  conv_forward(dtype_of<T>, p, x.data(), w.data(), out_bias.data(), y.data());
  expect_close("output with bias", y, y_want, y_scale);
  const int64_t in_pixels = x.empty() ? 1 : static_cast<int64_t>(x.size()) / p.batch / p.in_channels;
  for (size_t i = 0; i < x.size(); i++) gx_want[i] += widen(in_bias[static_cast<int64_t>(i) / in_pixels % p.in_channels]);
  conv_backward_input(dtype_of<T>, p, g.data(), w.data(), in_bias.data(), gx.data());
  expect_close("transposed with bias", gx, gx_want, gx_scale);
}

// Our own kernels, and those of oneDNN where they are there and preferred.
template <class T> void check(const ConvParams& p) {
  set_onednn_enabled(false);
  check_in_use<T>(p);
  if (set_onednn_enabled(true) && (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>)) check_in_use<T>(p);
}

ConvParams conv1d(int64_t b, int64_t ci, int64_t co, int64_t size, int64_t kernel, int64_t stride = 1, int64_t pad = 0, int64_t dil = 1, int64_t groups = 1) {
  ConvParams p;
  p.dims = 1;
  p.batch = b;
  p.in_channels = ci;
  p.out_channels = co;
  p.groups = groups;
  p.input[0] = size;
  p.kernel[0] = kernel;
  p.stride[0] = stride;
  p.padding[0] = pad;
  p.dilation[0] = dil;
  return p;
}
ConvParams conv2d(int64_t b, int64_t ci, int64_t co, int64_t size, int64_t kernel, int64_t stride = 1, int64_t pad = 0, int64_t dil = 1, int64_t groups = 1) {
  ConvParams p = conv1d(b, ci, co, size, kernel, stride, pad, dil, groups);
  p.dims = 2;
  p.input[1] = size + 1;
  p.kernel[1] = kernel;
  p.stride[1] = stride;
  p.padding[1] = pad;
  p.dilation[1] = dil;
  return p;
}
ConvParams conv3d(int64_t b, int64_t ci, int64_t co, int64_t size, int64_t kernel, int64_t stride = 1, int64_t pad = 0, int64_t dil = 1, int64_t groups = 1) {
  ConvParams p = conv2d(b, ci, co, size, kernel, stride, pad, dil, groups);
  p.dims = 3;
  p.input[2] = size + 2;
  p.kernel[2] = kernel;
  p.stride[2] = stride;
  p.padding[2] = pad;
  p.dilation[2] = dil;
  return p;
}

template <class T> class ConvTest : public testing::Test {};
using AllTypes =
    testing::Types<uint8_t, int8_t, int16_t, int32_t, int64_t, Half, float, double, complex<float>, complex<double>, BFloat16, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(ConvTest, AllTypes);

TYPED_TEST(ConvTest, OneDimension) {
  check<TypeParam>(conv1d(2, 3, 4, 11, 3));
  check<TypeParam>(conv1d(1, 2, 2, 20, 4, 3, 2));
  check<TypeParam>(conv1d(2, 4, 6, 15, 3, 2, 2, 3, 2));
}

TYPED_TEST(ConvTest, TwoDimensions) {
  check<TypeParam>(conv2d(2, 3, 5, 7, 3));
  check<TypeParam>(conv2d(1, 1, 8, 12, 5, 1, 2));
  check<TypeParam>(conv2d(2, 5, 3, 9, 3, 2, 1));
  check<TypeParam>(conv2d(2, 2, 3, 11, 3, 1, 3, 2));
  check<TypeParam>(conv2d(2, 17, 19, 5, 3, 1, 1));
}

TYPED_TEST(ConvTest, ThreeDimensions) {
  check<TypeParam>(conv3d(2, 2, 3, 4, 3, 1, 1));
  check<TypeParam>(conv3d(1, 2, 2, 5, 2, 2, 1, 2));
}

TYPED_TEST(ConvTest, Groups) {
  check<TypeParam>(conv2d(2, 6, 4, 6, 3, 1, 1, 1, 2));
  check<TypeParam>(conv2d(2, 8, 8, 9, 3, 1, 1, 1, 8));
  check<TypeParam>(conv2d(2, 8, 8, 9, 3, 2, 1, 1, 8));
  check<TypeParam>(conv2d(1, 4, 8, 9, 3, 1, 2, 2, 4));
  check<TypeParam>(conv2d(1, 6, 6, 20, 5, 1, 2, 1, 6));
}

TYPED_TEST(ConvTest, Pointwise) {
  check<TypeParam>(conv2d(2, 7, 9, 6, 1));
  check<TypeParam>(conv2d(2, 6, 9, 6, 1, 1, 0, 1, 3));
  check<TypeParam>(conv2d(2, 7, 9, 6, 1, 2));
  check<TypeParam>(conv2d(2, 3, 4, 6, 1, 1, 1));
}

// Groups of one to four channels, uneven sides, padding less and more than the kernel reaches, one thread and two.
TEST(ConvVolumes, MatchesTheDefinition) {
  for (const auto& p :
       {conv3d(2, 3, 3, 5, 3, 1, 0, 1, 3), conv3d(1, 4, 8, 9, 3, 1, 1, 1, 4), conv3d(2, 6, 4, 7, 2, 1, 3, 1, 2), conv3d(1, 8, 8, 6, 3, 1, 2, 2, 2),
        conv3d(1, 3, 12, 17, 5, 1, 6, 1, 3), conv3d(1, 2, 2, 20, 3, 1, 1, 3, 2), conv3d(3, 5, 5, 4, 1, 1, 0, 1, 5), conv3d(2, 10, 10, 4, 3, 1, 1, 1, 2)})
    check<float>(p);
  const auto p = conv3d(2, 6, 6, 12, 3, 1, 1, 1, 3);
  const std::vector<float> x = random_values<float>(2 * 6 * 12 * 13 * 14, 1), w = random_values<float>(6 * 2 * 27, 2);
  std::vector<float> results[2];
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    std::vector<float>& y = results[threads - 1];
    y.resize(2 * x.size() + w.size());
    conv_forward(ScalarType::Float, p, x.data(), w.data(), nullptr, y.data());
    conv_backward_input(ScalarType::Float, p, x.data(), w.data(), nullptr, y.data() + x.size());
    conv_backward_weight(ScalarType::Float, p, x.data(), x.data(), y.data() + 2 * x.size(), nullptr);
  }
  EXPECT_EQ(results[0], results[1]);
}

// Every cut of few pixels into vectors and dot products, taps in one block and in several, images together.
TEST(ConvFewPixels, MatchesTheDefinition) {
  for (const int64_t pixels : {1, 3, 16, 17, 19, 20, 33, 49, 64, 66, 100, 127}) check<float>(conv1d(1, 70, 64, pixels, 1));
  check<float>(conv1d(3, 70, 72, 25, 3, 1, 1));
  check<float>(conv2d(1, 128, 64, 7, 3, 1, 1));
  check<float>(conv2d(2, 64, 64, 9, 3, 2, 1));
  check<float>(conv2d(2, 64, 72, 5, 3, 1, 0, 2));
  check<float>(conv3d(1, 16, 64, 3, 3, 1, 1));
}

TYPED_TEST(ConvTest, KernelAsLargeAsThePaddedInput) {
  check<TypeParam>(conv2d(2, 3, 4, 5, 5));
  check<TypeParam>(conv2d(2, 3, 4, 3, 5, 1, 1));
}

TYPED_TEST(ConvTest, PaddingLargerThanTheImage) { check<TypeParam>(conv2d(1, 2, 3, 2, 3, 2, 6)); }

TYPED_TEST(ConvTest, RectangularParameters) {
  ConvParams p = conv2d(2, 3, 4, 10, 3);
  p.kernel[1] = 2;
  p.stride[0] = 2;
  p.stride[1] = 3;
  p.padding[0] = 1;
  p.padding[1] = 2;
  p.dilation[0] = 2;
  check<TypeParam>(p);
}

TYPED_TEST(ConvTest, EmptyBatch) { check<TypeParam>(conv2d(0, 3, 4, 6, 3)); }

template <class T> class ConvFloatTest : public testing::Test {};
using FloatTypes = testing::Types<Half, float, double, BFloat16>;
TYPED_TEST_SUITE(ConvFloatTest, FloatTypes);

TYPED_TEST(ConvFloatTest, NetworkShapes) {
  check<TypeParam>(conv2d(1, 3, 16, 30, 7, 2, 3));
  check<TypeParam>(conv2d(2, 32, 32, 14, 3, 1, 1));
  check<TypeParam>(conv2d(3, 1, 32, 27, 3));
  check<TypeParam>(conv2d(2, 32, 48, 13, 3));
  check<TypeParam>(conv2d(2, 32, 64, 14, 1));
  check<TypeParam>(conv2d(2, 16, 32, 14, 1, 2));
  check<TypeParam>(conv2d(2, 16, 32, 14, 3, 2, 1));
  check<TypeParam>(conv2d(3, 32, 32, 16, 3, 1, 1, 1, 32));
  check<TypeParam>(conv2d(3, 32, 32, 16, 3, 2, 1, 1, 32));
  check<TypeParam>(conv2d(1, 48, 32, 9, 3, 1, 2, 2));
}

// Unit strides, 3x3 and many channels: rows narrower and wider than two vectors, odd and even sizes, every padding, ragged channels.
TYPED_TEST(ConvFloatTest, ThreeByThree) {
  for (int64_t size : {2, 3, 7, 12, 28, 33, 57, 66})
    for (int64_t padding : {0, 1, 2}) {
      if (size + 2 * padding < 3) continue;
      check<TypeParam>(conv2d(size > 40 ? 1 : 3, 16, size > 40 ? 16 : 19, size, 3, 1, padding));
    }
  check<TypeParam>(conv2d(20, 17, 33, 4, 3, 1, 1));
  check<TypeParam>(conv2d(2, 65, 30, 9, 3, 1, 1));
  ConvParams p = conv2d(2, 20, 24, 13, 3);
  p.padding[1] = 2;
  check<TypeParam>(p);
}

// One image and few, which are cut by channels, groups or pixels.
const ConvParams kFewImages[] = {conv2d(1, 64, 128, 14, 3, 2, 1), conv2d(2, 128, 64, 9, 3, 2, 1),        conv2d(1, 8, 64, 17, 7, 2, 3),
                                 conv2d(3, 64, 192, 12, 1),       conv2d(1, 64, 64, 20, 3, 1, 1, 1, 64), conv2d(2, 128, 256, 9, 5, 1, 2, 1, 2),
                                 conv2d(1, 48, 70, 13, 3, 1, 1),  conv2d(1, 3, 20, 40, 3, 1, 1)};

TEST(Conv, FewImagesMatchTheDefinition) {
  for (const ConvParams& p : kFewImages) {
    check<float>(p);
    check<BFloat16>(p);
  }
  check<double>(kFewImages[0]);
}

// Weights laid out ahead give the same bits, with and without a bias.
TEST(Conv, PackedWeights) {
  int packed_ones = 0;
  for (ConvParams p : kFewImages)
    for (const bool with_bias : {false, true})
      for (const int64_t batch : {p.batch, int64_t{7}}) {
        p.batch = batch;
        const auto x = random_values<float>(count_input(p), 1), w = random_values<float>(count_weight(p), 2), b = random_values<float>(p.out_channels, 3);
        const float* bias = with_bias ? b.data() : nullptr;
        const ConvPacking packing = conv_packing(ScalarType::Float, p, with_bias);
        if (packing.count == 0) continue;
        packed_ones++;
        std::vector<float> packed(packing.count), want(count_output(p)), got(want.size());
        conv_pack(p, with_bias, w.data(), packed.data());
        conv_forward_packed(p, x.data(), packed.data(), bias, got.data());
        conv_forward(ScalarType::Float, p, x.data(), w.data(), bias, want.data());
        EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << p.in_channels << " to " << p.out_channels << ", batch " << batch;
      }
  EXPECT_GE(packed_ones, 4);  // Winograd's, everywhere
}

template <class T> void expect_same_for_every_thread_count() {
  const int threads = get_num_threads();
  std::vector<ConvParams> shapes(std::begin(kFewImages), std::end(kFewImages));
  for (const ConvParams& p : {conv2d(5, 16, 32, 20, 3, 1, 1), conv2d(4, 32, 32, 20, 3, 1, 1, 1, 32), conv2d(1, 64, 32, 30, 3, 2, 1), conv2d(3, 1, 32, 27, 3),
                              conv2d(3, 64, 48, 17, 1), conv2d(9, 40, 24, 14, 3), conv1d(6, 16, 16, 500, 5, 2, 2), conv3d(3, 8, 8, 8, 3)})
    shapes.push_back(p);
  for (const ConvParams& p : shapes) {
    const auto x = random_values<T>(count_input(p), 1), w = random_values<T>(count_weight(p), 2), g = random_values<T>(count_output(p), 3);
    struct Results {
      std::vector<T> y, gx, gw, gb;
    };
    const auto run = [&](int n) {
      set_num_threads(n);
      Results r{std::vector<T>(g.size()), std::vector<T>(x.size()), std::vector<T>(w.size()), std::vector<T>(p.out_channels)};
      conv_forward(dtype_of<T>, p, x.data(), w.data(), nullptr, r.y.data());
      conv_backward_input(dtype_of<T>, p, g.data(), w.data(), nullptr, r.gx.data());
      conv_backward_weight(dtype_of<T>, p, x.data(), g.data(), r.gw.data(), r.gb.data());
      set_num_threads(threads);
      return r;
    };
    const Results one = run(1), two = run(2), five = run(5);
    const auto same = [](const std::vector<T>& a, const std::vector<T>& b) { return !std::memcmp(a.data(), b.data(), a.size() * sizeof(T)); };
    for (const Results& more : {two, five}) {
      EXPECT_TRUE(same(one.y, more.y));
      EXPECT_TRUE(same(one.gx, more.gx));
      EXPECT_TRUE(same(one.gw, more.gw));
      EXPECT_TRUE(same(one.gb, more.gb));
    }
  }
}

TYPED_TEST(ConvFloatTest, ThreadCountDoesNotChangeABit) {
  set_onednn_enabled(false);
  expect_same_for_every_thread_count<TypeParam>();
  if (set_onednn_enabled(true)) expect_same_for_every_thread_count<TypeParam>();
}

// Nothing is read beyond the input although whole vectors are loaded: the sanitizer builds look at this.
TEST(Conv, ImagesSmallerThanAVector) {
  for (int64_t batch : {1, 2, 3, 20}) {
    check<float>(conv2d(batch, 1, 2, 1, 1));
    check<double>(conv2d(batch, 2, 2, 1, 1, 1, 0, 1, 2));
  }
}

TEST(Conv, MistakesAreExplained) {
  float x[64] = {};
  ConvParams p = conv2d(1, 3, 4, 5, 3);
  p.groups = 2;
  EXPECT_THROW(conv_forward(ScalarType::Float, p, x, x, nullptr, x), Error);
  EXPECT_THROW(conv_forward(ScalarType::Float, conv1d(1, 1, 1, 2, 3), x, x, nullptr, x), Error);
  EXPECT_THROW(conv_forward(ScalarType::Bool, conv1d(1, 1, 1, 3, 3), x, x, nullptr, x), NotImplementedError);
}

}  // namespace
}  // namespace cresset::kernels
