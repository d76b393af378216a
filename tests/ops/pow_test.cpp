// Powers that are products, roots or quotients.
#include <cmath>

#include "cresset/cresset.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

// Signs of zeros and infinities included; the values are PyTorch's.
void expect_powers(double exponent, const std::vector<double>& expected) {
  for (const ScalarType t : {kFloat, kDouble}) {
    const Tensor x = tensor({0.0, -0.0, 1.5, -2.0, INFINITY, -INFINITY, NAN}, t), y = x.pow(exponent).to(kDouble);
    for (size_t i = 0; i < expected.size(); i++) {
      const double got = y.data_ptr<double>()[i];
      const bool same = std::isnan(expected[i]) ? std::isnan(got)
                                                : std::signbit(got) == std::signbit(expected[i]) &&
                                                      (got == expected[i] || std::fabs(got - expected[i]) <= 1e-7 * std::fabs(expected[i]));
      EXPECT_TRUE(same) << exponent << " " << i << ": " << got;
    }
  }
}

TEST(Pow, SmallExponentsKeepTheSpecialValues) {
  expect_powers(1, {0.0, -0.0, 1.5, -2, INFINITY, -INFINITY, NAN});
  expect_powers(2, {0.0, 0.0, 2.25, 4, INFINITY, INFINITY, NAN});
  expect_powers(3, {0.0, -0.0, 3.375, -8, INFINITY, -INFINITY, NAN});
  expect_powers(0.5, {0.0, -0.0, 1.2247448713915890, NAN, INFINITY, NAN, NAN});
  expect_powers(-0.5, {INFINITY, -INFINITY, 0.81649658092772603, NAN, 0.0, NAN, NAN});
  expect_powers(-1, {INFINITY, -INFINITY, 0.66666666666666663, -0.5, 0.0, -0.0, NAN});
  expect_powers(-2, {INFINITY, INFINITY, 0.44444444444444442, 0.25, 0.0, 0.0, NAN});
}
TEST(Pow, IntegersWrapAroundAndNarrowOnesKeepTheirDtype) {
  EXPECT_TRUE(tensor({-3, 100}, kInt).pow(3).equal(tensor({-27, 1000000}, kInt)));
  EXPECT_TRUE(tensor({5, 7}, kChar).pow(3).equal(tensor({125, 87}, kChar)));
  EXPECT_EQ(tensor({2, 3}, kInt).pow(0.5).scalar_type(), kFloat);
}
TEST(Pow, TheFirstPowerIsACopy) {
  const Tensor x = ones({3}), y = x.pow(1);
  y.zero_();
  EXPECT_EQ(x.sum().item<float>(), 3);
}

}  // namespace
}  // namespace cresset
