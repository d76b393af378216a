// A number behind var and std is a dimension, not the flag of the older overload.

#include <gtest/gtest.h>

#include "cresset/tensor.h"

namespace cresset {
namespace {

TEST(Moments, ANumberIsADimension) {
  const Tensor x = arange(12).to(kFloat).view({4, 3});
  const int64_t last = 1;
  EXPECT_EQ(x.var(0).sizes(), IntArrayRef({3}));
  EXPECT_EQ(x.std(last).sizes(), IntArrayRef({4}));
  EXPECT_EQ(x.std(-1).sizes(), IntArrayRef({4}));
  EXPECT_EQ(var(x, 0).sizes(), IntArrayRef({3}));
  EXPECT_EQ(cresset::std(x, 1).sizes(), IntArrayRef({4}));
  EXPECT_EQ(std::get<0>(var_mean(x, 0)).sizes(), IntArrayRef({3}));
  EXPECT_EQ(std::get<1>(std_mean(x, last)).sizes(), IntArrayRef({4}));
  EXPECT_TRUE(equal(x.var(0), x.var({0}, true)));
  EXPECT_EQ(x.var({0}).dim(), 1);
  EXPECT_EQ(var(x, {1}).sizes(), IntArrayRef({4}));
  EXPECT_EQ(x.std({0, 1}).dim(), 0);
}

TEST(Moments, AFlagIsNoDimension) {
  const Tensor x = arange(4).to(kFloat);
  EXPECT_EQ(x.var(false).item<float>(), 1.25f);
  EXPECT_EQ(var(x, true).dim(), 0);
  EXPECT_EQ(x.var(0, false).item<float>(), 1.25f);
}

}  // namespace
}  // namespace cresset
