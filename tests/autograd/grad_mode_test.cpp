// Expected values taken from PyTorch 2.13.
#include "tests/autograd/support.h"

namespace cresset {
namespace {

TEST(NoGradGuard, StopsRecordingInItsScope) {
  const Tensor x = leaf({1});
  {
    NoGradGuard guard;
    EXPECT_FALSE(GradMode::is_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    {
      AutoGradMode on(true);
      EXPECT_TRUE((x * 2).requires_grad());
    }
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(NoGradGuard, LeavesExplicitRequestsAlone) {
  NoGradGuard guard;
  EXPECT_TRUE(cresset::ones({1}).requires_grad_().requires_grad());
}

TEST(InferenceMode, ResultsAreInferenceTensorsWithoutHistory) {
  const Tensor x = leaf({1});
  Tensor y, i;
  {
    InferenceMode guard;
    EXPECT_TRUE(InferenceMode::is_enabled());
    EXPECT_FALSE(GradMode::is_enabled());
    y = x * 2;
    i = cresset::ones({2});
  }
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_inference());
  EXPECT_TRUE(i.is_inference());
  EXPECT_FALSE(InferenceMode::is_enabled());
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(InferenceMode, GradModeDoesNotOverrideIt) {
  const Tensor x = leaf({1});
  InferenceMode guard;
  AutoGradMode on(true);
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST(InferenceMode, CanBeLeftWithinItsScope) {
  const Tensor x = leaf({1});
  InferenceMode guard;
  {
    InferenceMode off(false);
    EXPECT_FALSE(cresset::ones({1}).is_inference());
    EXPECT_TRUE((x * 2).requires_grad());
  }
  EXPECT_TRUE(cresset::ones({1}).is_inference());
}

TEST(InferenceMode, ViewsOfNormalTensorsAreNormal) {
  const Tensor b = cresset::ones({4});
  Tensor v, i, iv;
  {
    InferenceMode guard;
    v = b.slice(0, 0, 2);
    i = cresset::ones({2});
    iv = i.slice(0, 0, 1);
  }
  EXPECT_TRUE(v.is_view());
  EXPECT_FALSE(v.is_inference());
  EXPECT_FALSE(iv.is_view());
  EXPECT_TRUE(iv.is_inference());
  EXPECT_TRUE(i.slice(0, 0, 1).is_inference());
  EXPECT_FALSE(i.clone().is_inference());
}

TEST(InferenceMode, ViewsMadeInItMayNotEnterTheGraphInPlace) {
  Tensor b = vec({1, 2}), v;
  {
    InferenceMode guard;
    v = b.slice(0, 0, 1);
  }
  v.mul_(2);
  EXPECT_EQ(numbers(b), (Numbers{2, 2}));
  const Tensor w = leaf({1});
  EXPECT_TRUE(contains(error_of([&] { v.mul_(w); }), "created in inference mode"));
}

TEST(InferenceTensor, CannotBeModifiedOutside) {
  Tensor i;
  {
    InferenceMode guard;
    i = vec({1, 2});
    i.add_(1);
  }
  EXPECT_TRUE(contains(error_of([&] { i.add_(1); }), "inference tensor outside InferenceMode"));
  {
    NoGradGuard guard;
    EXPECT_TRUE(contains(error_of([&] { i.add_(1); }), "inference tensor outside InferenceMode"));
  }
  EXPECT_EQ(numbers(i), (Numbers{2, 3}));
}

TEST(InferenceTensor, CannotBeSavedForBackward) {
  const Tensor w = leaf({1, 2});
  Tensor i;
  {
    InferenceMode guard;
    i = vec({1, 2});
  }
  EXPECT_TRUE(contains(error_of([&] { w* i; }), "Inference tensors cannot be saved"));
  // Addition saves nothing.
  EXPECT_TRUE((w + i).requires_grad());
}

TEST(InferenceTensor, CannotRequireGradOutside) {
  Tensor i;
  {
    InferenceMode guard;
    i = vec({1});
    EXPECT_TRUE(vec({1}).requires_grad_().requires_grad());
  }
  EXPECT_TRUE(contains(error_of([&] { i.requires_grad_(); }), "inference tensor"));
}

TEST(InferenceMode, InPlaceOnANormalLeafCountsItsVersion) {
  Tensor w = leaf({1});
  {
    InferenceMode guard;
    w.add_(1);
  }
  EXPECT_EQ(w._version(), 1);
}

}  // namespace
}  // namespace cresset
