// The namespace of Fourier transforms. (Values in every layout: tests/python/ops/rows_test.py.)
#include "cresset/ops/namespaces.h"

#include "cresset/cresset.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

bool near(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && (a - b).abs().max().item<double>() < 1e-12; }
Tensor numbers(IntArrayRef sizes) {
  return arange(1, 25, kDouble).sin().slice(0, 0, sizes.empty() ? 1 : sizes[0] * (sizes.size() > 1 ? sizes[1] : 1)).reshape(sizes);
}

TEST(FftNamespace, AKnownTransform) {
  const Tensor x = arange(1, 5, kDouble);
  const Tensor y = view_as_real(fft::fft(x)).flatten();
  const double expected[] = {10, 0, -2, 2, -2, 0, -2, -2};
  for (int64_t i = 0; i < 8; i++) EXPECT_NEAR(y[i].item<double>(), expected[i], 1e-12);
}

TEST(FftNamespace, InversesUndoTransformsInEveryNumberOfDimensions) {
  const Tensor x = numbers({4, 6});
  for (const std::string_view norm : {"backward", "ortho", "forward"}) {
    EXPECT_TRUE(near(real(fft::ifft(fft::fft(x, {}, 0, norm), {}, 0, norm)), x));
    EXPECT_TRUE(near(fft::irfft(fft::rfft(x, {}, -1, norm), 6, -1, norm), x));
    EXPECT_TRUE(near(fft::hfft(fft::ihfft(x, {}, -1, norm), 6, -1, norm), x));
    EXPECT_TRUE(near(real(fft::ifft2(fft::fft2(x, {}, {-2, -1}, norm), {}, {-2, -1}, norm)), x));
    EXPECT_TRUE(near(fft::irfft2(fft::rfft2(x, {}, {-2, -1}, norm), {}, {-2, -1}, norm), x));
    EXPECT_TRUE(near(fft::hfft2(fft::ihfft2(x, {}, {-2, -1}, norm), {}, {-2, -1}, norm), x));
    EXPECT_TRUE(near(real(fft::ifftn(fft::fftn(x, {}, {}, norm), {}, {}, norm)), x));
    EXPECT_TRUE(near(fft::irfftn(fft::rfftn(x, {}, {}, norm), {}, {}, norm), x));
    EXPECT_TRUE(near(fft::hfftn(fft::ihfftn(x, {}, {}, norm), {}, {}, norm), x));
  }
  EXPECT_EQ(fft::fft(x, 9).sizes(), (std::vector<int64_t>{4, 9}));
  EXPECT_EQ(fft::rfft2(x, {{2, 8}}).sizes(), (std::vector<int64_t>{2, 5}));
}

TEST(FftNamespace, FrequenciesAndShifts) {
  EXPECT_TRUE(near(fft::fftfreq(4, 0.5, kDouble), tensor({0.0, 0.5, -1.0, -0.5}, kDouble)));
  EXPECT_TRUE(near(fft::rfftfreq(4, 2.0, kDouble), tensor({0.0, 0.125, 0.25}, kDouble)));
  const Tensor x = numbers({5});
  EXPECT_TRUE(near(fft::fftshift(x), cat({x.slice(0, 3), x.slice(0, 0, 3)})));
  EXPECT_TRUE(near(fft::ifftshift(fft::fftshift(x)), x));
}

TEST(FftNamespace, FrequenciesTakeOptionsWithoutASpacing) {
  EXPECT_EQ(fft::fftfreq(4, kFloat).scalar_type(), kFloat);
  EXPECT_TRUE(near(fft::fftfreq(4, kDouble), fft::fftfreq(4, 1.0, kDouble)));
  EXPECT_TRUE(near(fft::rfftfreq(4, TensorOptions(kDouble)), fft::rfftfreq(4, 1.0, kDouble)));
  EXPECT_TRUE(near(fft::fftfreq(4, 0.5, kDouble), fft::fftfreq(4, kDouble) * 2));
}

TEST(LinalgNamespace, OrdersOfNormsMayBeLiterals) {
  const Tensor x = numbers({3, 4});
  EXPECT_NEAR(linalg::norm(x, "fro").item<double>(), linalg::norm(x).item<double>(), 1e-12);
  EXPECT_NEAR(linalg::norm(x, "nuc").item<double>(), linalg::svdvals(x).sum().item<double>(), 1e-12);
  EXPECT_NEAR(linalg::norm(x, 1).item<double>(), x.abs().sum(0).max().item<double>(), 1e-12);
  EXPECT_NEAR(linalg::matrix_norm(x, "fro").item<double>(), linalg::matrix_norm(x).item<double>(), 1e-12);
  EXPECT_EQ(linalg::norm(x, "fro", IntArrayRef{0, 1}, true).sizes(), (std::vector<int64_t>{1, 1}));
}

}  // namespace
}  // namespace cresset
