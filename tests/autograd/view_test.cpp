// Views and in-place operators. Expected values were taken from PyTorch 2.13.

#include "cresset/autograd/function.h"
#include "cresset/transform/gradcheck.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

TEST(View, KnowsItsBase) {
  const Tensor b = cresset::ones({4});
  const Tensor v = b.slice(0, 0, 2), w = v.slice(0, 1, 2);
  EXPECT_TRUE(v.is_view());
  EXPECT_TRUE(v._base().is_same(b));
  EXPECT_TRUE(w._base().is_same(b));
  EXPECT_FALSE(b.is_view());
  EXPECT_FALSE(b._base().defined());
}

TEST(View, DetachAndDataAreNoViews) {
  const Tensor b = cresset::ones({4});
  EXPECT_FALSE(b.detach().is_view());
  EXPECT_FALSE(b.data().is_view());
}

TEST(Detach, SharesTheVersionCounterAndDataDoesNot) {
  Tensor x = cresset::ones({4});
  Tensor d = x.detach();
  d.add_(1);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(d._version(), 1);
  x.data().add_(1);
  EXPECT_EQ(x._version(), 1);
}

TEST(Detach, CutsTheGraph) {
  const Tensor x = leaf({2});
  const Tensor y = (x * 3).detach();
  EXPECT_FALSE(y.requires_grad());
  (x * y).backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6}));
}

TEST(Detach, InPlaceMakesALeaf) {
  const Tensor x = leaf({2});
  Tensor y = x * 3;
  y.detach_();
  EXPECT_TRUE(y.is_leaf());
  EXPECT_FALSE(y.requires_grad());
}

TEST(View, CountsVersionsWithItsBase) {
  Tensor b = cresset::ones({4});
  Tensor v = b.slice(0, 0, 2);
  v.add_(1);
  EXPECT_EQ(b._version(), 1);
  b.add_(1);
  EXPECT_EQ(v._version(), 2);
}

TEST(View, OfALeafRequiresGrad) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor v = x.slice(0, 1, 3);
  EXPECT_TRUE(v.requires_grad());
  EXPECT_FALSE(v.is_leaf());
  v.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{0, 1, 1}));
}

TEST(InPlace, GoesThroughTheGraph) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  y.mul_(3);
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6, 6}));
}

TEST(InPlace, MakesAPlainTensorPartOfTheGraph) {
  const Tensor w = leaf({3, 4});
  Tensor b = vec({1, 2});
  b.mul_(w);
  EXPECT_TRUE(b.requires_grad());
  b.sum().backward();
  EXPECT_EQ(numbers(w.grad()), (Numbers{1, 2}));
}

TEST(InPlace, OnTheBaseGivesAnOlderViewAHistory) {
  const Tensor w = leaf({2, 3});
  Tensor b = vec({1, 1});
  const Tensor v = b.slice(0, 0, 1);
  EXPECT_FALSE(v.requires_grad());
  b.mul_(w);
  EXPECT_TRUE(v.requires_grad());
  EXPECT_TRUE(v.is_leaf());  // until its history is asked for
  EXPECT_TRUE(contains(v.grad_fn()->name(), "AsStrided"));
  EXPECT_FALSE(v.is_leaf());
  (v * 5).sum().backward();
  EXPECT_EQ(numbers(w.grad()), (Numbers{5, 0}));
}

TEST(InPlace, OnAViewChangesTheHistoryOfTheBase) {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x.clone();
  Tensor v = y.slice(0, 0, 2);
  v.mul_(3);
  EXPECT_EQ(y.grad_fn()->name(), "torch::autograd::CopySlices");
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{3, 3, 1}));
}

TEST(InPlace, OnAViewWithAnotherArgumentThatRequiresGrad) {
  const Tensor x = leaf({1, 2, 3}), w = leaf({10, 20});
  Tensor y = x.clone();
  y.slice(0, 1, 3).mul_(w);
  (y * vec({1, 2, 3})).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1, 20, 60}));
  EXPECT_EQ(numbers(w.grad()), (Numbers{4, 9}));
}

TEST(InPlace, OnAViewOfAPlainBase) {
  const Tensor w = leaf({10, 20});
  Tensor b = vec({1, 2, 3});
  b.slice(0, 0, 2).mul_(w);
  EXPECT_TRUE(b.requires_grad());
  b.sum().backward();
  EXPECT_EQ(numbers(w.grad()), (Numbers{1, 2}));
}

TEST(InPlace, OnOneViewReachesAnotherView) {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x.clone();
  Tensor a = y.slice(0, 0, 2);
  const Tensor b = y.slice(0, 1, 3);
  a.mul_(10);
  b.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{0, 10, 1}));
}

TEST(InPlace, OnAViewOfATransposedBase) {
  const Tensor x = cresset::arange(6, TensorOptions(kDouble)).view({2, 3}).detach().requires_grad_();
  Tensor y = x.clone().t().clone(MemoryFormat::Preserve);
  y.select(0, 1).mul_(5);
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1, 5, 1, 1, 5, 1}));
}

TEST(InPlace, RepeatedOnViews) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x.clone();
  for (int64_t i = 0; i < 4; i++) y.select(0, i).mul_(static_cast<double>(i + 1));
  y.slice(0, 1, 3).mul_(10);
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1, 20, 30, 4}));
}

TEST(InPlace, CopyIntoAViewSendsTheGradientToTheSource) {
  const Tensor x = leaf({1, 2, 3}), s = leaf({7, 8});
  Tensor y = x.clone();
  y.slice(0, 0, 2).copy_(s);
  (y * vec({1, 2, 3})).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{0, 0, 3}));
  EXPECT_EQ(numbers(s.grad()), (Numbers{1, 2}));
}

TEST(InPlace, OnAViewDifferentiatesAgain) {
  const Tensor x = leaf({2, 3});
  Tensor y = x * x;
  Tensor v = y.slice(0, 0, 1);
  v.mul_(v.detach() * 0 + 2);
  const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, std::nullopt, true)[0];
  // y = (2 x0^2, x1^2): d/dx (4 x0^4 + x1^4) = (16 x0^3, 4 x1^3), and again (48 x0^2, 12 x1^2).
  EXPECT_EQ(numbers(g), (Numbers{16 * 8, 4 * 27}));
  EXPECT_EQ(numbers(autograd::grad({g.sum()}, {x})[0]), (Numbers{48 * 4, 12 * 9}));
}

TEST(InPlace, GradWithRespectToOneArgumentThroughCopySlices) {
  const Tensor x = leaf({1, 2, 3}), w = leaf({10, 20});
  Tensor y = x.clone();
  y.slice(0, 1, 3).mul_(w);
  EXPECT_EQ(numbers(autograd::grad({y.sum()}, {w}, {}, true)[0]), (Numbers{2, 3}));
  EXPECT_EQ(numbers(autograd::grad({y.sum()}, {x})[0]), (Numbers{1, 10, 20}));
}

TEST(InPlace, UnderNoGradOnlyCountsTheVersion) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone();
  {
    NoGradGuard guard;
    y.select(0, 0).fill_(5);
  }
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1, 1}));
}

TEST(InPlace, OnALeafUnderNoGradIsAllowed) {
  Tensor x = leaf({1, 2});
  {
    NoGradGuard guard;
    x.mul_(3);
  }
  EXPECT_EQ(numbers(x), (Numbers{3, 6}));
  EXPECT_EQ(x._version(), 1);
}

TEST(InPlace, OnALeafRaises) {
  Tensor x = leaf({1, 2});
  EXPECT_TRUE(contains(error_of([&] { x.mul_(2); }), "mul_: a leaf Variable that requires grad is being used in an in-place operation"));
  EXPECT_EQ(numbers(x), (Numbers{1, 2}));
}

TEST(InPlace, OnAViewOfALeafRaises) {
  Tensor x = leaf({1, 2});
  EXPECT_TRUE(contains(error_of([&] { x.slice(0, 0, 1).mul_(2); }), "a view of a leaf Variable that requires grad"));
}

TEST(InPlace, OnAViewOfWhatBecameALeafRaises) {
  Tensor b = vec({1, 2});
  Tensor v = b.slice(0, 0, 1);
  b.requires_grad_();
  EXPECT_TRUE(v.requires_grad());
  EXPECT_TRUE(contains(error_of([&] { v.mul_(2); }), "a view of a leaf Variable that requires grad"));
}

TEST(MultiOutputView, CannotBeModifiedInPlace) {
  const Tensor x = leaf({1, 2, 3, 4});
  auto parts = x.clone().split(2);
  EXPECT_TRUE(contains(error_of([&] { parts[0].mul_(2); }), "one of several views made by one operator"));
}

TEST(MultiOutputView, LosesItsHistoryWhenTheBaseIsModified) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x.clone();
  auto parts = y.split(2);
  y.mul_(2);
  EXPECT_TRUE(contains(error_of([&] { parts[0].grad_fn(); }), "modified inplace"));
  EXPECT_TRUE(contains(error_of([&] { parts[0] * 2; }), "modified inplace"));
}

TEST(MultiOutputView, OfAPlainTensorMayBeModifiedByAPlainTensor) {
  auto parts = vec({1, 2, 3, 4}).split(2);
  parts[0].mul_(2);
  EXPECT_EQ(numbers(parts[0]), (Numbers{2, 4}));
  const Tensor w = leaf({1, 1});
  EXPECT_TRUE(contains(error_of([&] { parts[0].mul_(w); }), "one of several views"));
}

TEST(MultiOutputView, IsWhatSplitChunkAndUnbindGive) {
  const Tensor x = leaf({1, 2, 3, 4, 5});
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> several = {
      {"SplitBackward0", [](const Tensor& y) { return y.split(2)[0]; }},
      {"SplitWithSizesBackward0",
       [](const Tensor& y) {
         return y.split({2, 3})[0];
       }},
      {"SplitBackward0", [](const Tensor& y) { return y.chunk(2)[0]; }},
      {"UnbindBackward0", [](const Tensor& y) { return y.unbind()[0]; }}};
  for (const auto& [name, first] : several) {
    Tensor y = x.clone(), v = first(y);
    EXPECT_EQ(v.grad_fn()->name(), name);
    EXPECT_TRUE(v._base().is_same(y));
    EXPECT_TRUE(contains(error_of([&, v = v]() mutable { v.mul_(2); }), "one of several views made by one operator")) << name;
    // A view of one is no better.
    Tensor w = v.view({-1});
    EXPECT_TRUE(contains(error_of([&] { w.mul_(2); }), "one of several views made by one operator")) << name;
  }
  // tensor_split makes its views one by one.
  Tensor y = x.clone();
  y.tensor_split(2)[0].mul_(2);
  y.sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2, 2, 2, 1, 1}));
}

TEST(MultiOutputView, MadeWithoutRecordingIsANoGradView) {
  Tensor y = leaf({1, 2}).clone();
  std::vector<Tensor> parts;
  {
    NoGradGuard guard;
    parts = y.unbind();
    parts[0].zero_();
  }
  EXPECT_TRUE(contains(error_of([&] { parts[0].mul_(2); }), "created in no_grad mode"));
}

TEST(MultiOutputView, GradientsOfUnusedPartsAreZero) {
  const Tensor x = leaf({1, 2, 3, 4, 5});
  (x.split(2)[1] * vec({10, 20})).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{0, 0, 10, 20, 0}));
  const Tensor m = ones_leaf({2, 3});
  (m.unbind(1)[2] * vec({1, 2})).sum().backward();
  EXPECT_EQ(numbers(m.grad()), (Numbers{0, 0, 1, 0, 0, 2}));
}

TEST(MultiOutputView, DifferentiatesTwice) {
  auto f = [](const autograd::variable_list& in) {
    const Tensor x = in[0].view({2, 3});
    const auto a = x.split(2, 1), b = x.split_with_sizes({1, 2}, -1), c = x.unbind(0);
    return autograd::variable_list{a[0].exp().sum() * b[1].pow(2).sum() * c[0].prod()};
  };
  const Tensor x = leaf({0.3, -0.4, 0.5, 0.6, -0.7, 0.8});
  EXPECT_TRUE(autograd::gradcheck(f, {x}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {x}));
}

TEST(InPlace, TheOverwrittenValueKeepsItsHistoryForSecondDerivatives) {
  auto f = [](const autograd::variable_list& in) {
    Tensor y = in[0].exp() + 1;
    y.mul_(in[1]);
    y.pow_(3);
    return autograd::variable_list{y};
  };
  EXPECT_TRUE(autograd::gradgradcheck(f, {leaf({0.3, -0.4}), leaf({1.5, 0.7})}));
}

TEST(NoGradView, CannotBeModifiedInPlaceWithGradientsOn) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone(), v;
  {
    NoGradGuard guard;
    v = y.slice(0, 0, 1);
  }
  EXPECT_TRUE(v.requires_grad());
  EXPECT_TRUE(v.is_leaf());
  EXPECT_TRUE(contains(error_of([&] { v.mul_(2); }), "created in no_grad mode"));
}

TEST(NoGradView, HasNoHistoryAfterItsBaseIsModified) {
  const Tensor w = leaf({1, 2});
  Tensor b = vec({1, 2}), v;
  {
    NoGradGuard guard;
    v = b.slice(0, 0, 1);
  }
  b.mul_(w);
  EXPECT_TRUE(v.requires_grad());
  EXPECT_TRUE(contains(error_of([&] { v.grad_fn(); }), "created in no_grad mode"));
}

TEST(NoGradView, TakesPartInTheGraphWithoutAnEdge) {
  const Tensor x = leaf({1, 2}), w = leaf({3});
  Tensor v;
  {
    NoGradGuard guard;
    v = x.slice(0, 0, 1);
  }
  (v * w).sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(numbers(w.grad()), (Numbers{1}));
}

TEST(RequiresGrad, OnAViewOfAPlainTensorMakesItALeaf) {
  Tensor b = vec({1, 2});
  const Tensor v = b.slice(0, 0, 1);
  v.requires_grad_();
  EXPECT_TRUE(v.is_leaf());
  EXPECT_FALSE(b.requires_grad());
  (v * 3).sum().backward();
  EXPECT_EQ(numbers(v.grad()), (Numbers{3}));
}

TEST(SetData, ReplacesTheDataAndKeepsTheIdentity) {
  const Tensor x = leaf({1, 2});
  x.set_data(vec({5, 6, 7}));
  EXPECT_EQ(numbers(x), (Numbers{5, 6, 7}));
  EXPECT_TRUE(x.requires_grad());
  (x * 2).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2, 2, 2}));
}

}  // namespace
}  // namespace cresset
