// Dtypes that are stored and not computed on: complex32 and the five of 8 bits. Codes are PyTorch's.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cresset/tensor.h"

namespace cresset {
namespace {

constexpr ScalarType kFloat8[] = {kFloat8_e4m3fn, kFloat8_e5m2, kFloat8_e4m3fnuz, kFloat8_e5m2fnuz, kFloat8_e8m0fnu};

std::vector<int> codes(const Tensor& t) {
  const Tensor bytes = t.view(kByte);
  std::vector<int> list;
  for (int64_t i = 0; i < bytes.numel(); i++) list.push_back(static_cast<uint8_t*>(bytes.data_ptr())[i]);
  return list;
}

TEST(StoredDtype, RoundingOverflowAndSpecialValues) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.f,
                                     -0.f,
                                     1.5f,
                                     3.f,
                                     6.f,
                                     0.75f,
                                     std::ldexp(1.f, -127),
                                     1e-40f,
                                     1e-45f,
                                     -1.5f,
                                     nan,
                                     -nan,
                                     inf,
                                     -inf,
                                     464.f,
                                     480.f,
                                     448.f,
                                     61440.f,
                                     57344.f,
                                     240.f,
                                     248.f,
                                     256.f,
                                     std::ldexp(1.f, -127),
                                     std::ldexp(1.5f, -127),
                                     std::ldexp(1.f, -126),
                                     std::ldexp(1.f, -9),
                                     std::ldexp(1.f, -10),
                                     std::ldexp(1.5f, -10),
                                     std::ldexp(1.f, -17),
                                     std::ldexp(1.f, -18)};
  const std::vector<int> expected[] = {
      {0, 128, 60, 68, 76, 52, 0, 0, 0, 188, 127, 255, 126, 254, 126, 126, 126, 126, 126, 119, 120, 120, 0, 0, 0, 1, 0, 1, 0, 0},
      {0, 128, 62, 66, 70, 58, 0, 0, 0, 190, 127, 255, 124, 252, 95, 96, 95, 124, 123, 92, 92, 92, 0, 0, 0, 24, 20, 22, 0, 0},
      {0, 0, 68, 76, 84, 60, 0, 0, 0, 196, 128, 128, 128, 128, 128, 128, 128, 128, 128, 127, 128, 128, 0, 0, 0, 2, 1, 2, 0, 0},
      {0, 0, 66, 70, 74, 62, 0, 0, 0, 194, 128, 128, 128, 128, 99, 100, 99, 128, 127, 96, 96, 96, 0, 0, 0, 28, 24, 26, 1, 0},
      {0, 0, 128, 129, 130, 127, 0, 0, 0, 128, 255, 255, 255, 255, 136, 136, 136, 143, 143, 135, 135, 135, 0, 1, 1, 118, 117, 118, 110, 109}};
  const Tensor floats = tensor(values);
  for (int f = 0; f < 5; f++) EXPECT_EQ(codes(floats.to(kFloat8[f])), expected[f]) << dtype_name(kFloat8[f]);
}

TEST(StoredDtype, EveryCodeComesBack) {
  for (const ScalarType format : kFloat8) {
    const Tensor all = arange(256, TensorOptions(kByte)).view(format);
    const Tensor back = all.to(kDouble).to(format);
    int nans = 0;
    for (int code = 0; code < 256; code++) {
      if (std::isnan(all[code].item().toDouble())) nans++;
      else
        EXPECT_EQ(codes(back)[static_cast<size_t>(code)], code == 128 && format == kFloat8_e4m3fnuz   ? 0
                                                          : code == 128 && format == kFloat8_e5m2fnuz ? 0
                                                                                                      : code)
            << dtype_name(format);
    }
    EXPECT_EQ(nans, format == kFloat8_e5m2 ? 6 : format == kFloat8_e4m3fn ? 2 : 1) << dtype_name(format);
  }
}

TEST(StoredDtype, OperatorsComputeWideAndStoreNarrowOrAreRefused) {
  const Tensor a = tensor({1.5, -2.25}).to(kFloat8_e4m3fn), b = tensor({0.5, 4.0}).to(kFloat8_e4m3fn);
  EXPECT_EQ((a * b).scalar_type(), kFloat8_e4m3fn);
  EXPECT_TRUE(equal((a * b).to(kFloat), tensor({0.75f, -9.0f})));
  EXPECT_TRUE(equal(a.abs().to(kFloat), tensor({1.5f, 2.25f})));
  EXPECT_TRUE(equal(a.eq(b), tensor({false, false})));
  EXPECT_TRUE(equal(cat({a, b}).to(kFloat), tensor({1.5f, -2.25f, 0.5f, 4.0f})));
  EXPECT_TRUE(equal(a.index_select(0, tensor({1, 0})).to(kFloat), tensor({-2.25f, 1.5f})));
  EXPECT_TRUE(equal(where(tensor({true, false}), a, b).to(kFloat), tensor({1.5f, 4.0f})));
  EXPECT_THROW(a * 2, NotImplementedError);
  EXPECT_THROW(a + b, NotImplementedError);
  EXPECT_THROW(a.sum(), NotImplementedError);
  EXPECT_THROW(a + ones({2}), Error);
  EXPECT_THROW(promote_types(kFloat8_e5m2, kFloat8_e4m3fn), Error);
}

TEST(StoredDtype, InPlaceChangesReachTheMemoryAndItsViews) {
  Tensor a = zeros({2, 2}, TensorOptions(kFloat8_e5m2));
  a.select(1, 0).fill_(1.25);
  a.mul_(full({2, 2}, 2.0).to(kFloat8_e5m2));
  EXPECT_TRUE(equal(a.to(kFloat), tensor({2.5f, 0.f, 2.5f, 0.f}).view({2, 2})));
  a.t()[1][0] = -3;
  EXPECT_EQ(a[0][1].item().toDouble(), -3);
  EXPECT_TRUE(equal(a.t().contiguous().to(kFloat), a.to(kFloat).t()));
  Tensor out = empty({2}, TensorOptions(kComplexHalf));
  add_out(out, ones({2}), ones({2}));
  EXPECT_TRUE(equal(out.to(kComplexFloat), full({2}, 2.0).to(kComplexFloat)));
}

TEST(StoredDtype, Complex32PromotesAndItsPartsAreHalf) {
  const Tensor z = view_as_complex(tensor({1.5, -2.0, 0.5, 3.0}).to(kHalf).view({2, 2}));
  EXPECT_EQ(z.scalar_type(), kComplexHalf);
  EXPECT_EQ(z.abs().scalar_type(), kHalf);
  EXPECT_EQ(real(z).scalar_type(), kHalf);
  EXPECT_EQ((z + ones({2}, TensorOptions(kHalf))).scalar_type(), kComplexHalf);
  EXPECT_EQ((z + ones({2})).scalar_type(), kComplexFloat);
  EXPECT_EQ((z[0] + ones({2}, TensorOptions(kBFloat16))).scalar_type(), kComplexFloat);
  EXPECT_EQ((ones({2}, TensorOptions(kHalf)) * Scalar(cresset::complex<double>(0, 2))).scalar_type(), kComplexHalf);
  EXPECT_TRUE(equal(z.conj().clone().to(kComplexFloat), z.to(kComplexFloat).conj()));
}

TEST(StoredDtype, RandomNumbersAreDrawnAsHalf) {
  manual_seed(0);
  const Tensor z = rand({2}, TensorOptions(kComplexHalf));
  manual_seed(0);
  EXPECT_TRUE(equal(view_as_real(z).flatten(), rand({4}, TensorOptions(kHalf))));
}

TEST(StoredDtype, GradientsPassThroughConversions) {
  Tensor x = tensor({1.3f, -0.4f}).requires_grad_();
  x.to(kFloat8_e5m2).to(kFloat).mul(tensor({2.0f, 3.0f})).sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({2.0f, 3.0f})));
}

}  // namespace
}  // namespace cresset
