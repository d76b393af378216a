#include "cresset/autograd/engine.h"

#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::grad;
using autograd::variable_list;

TEST(Backward, FillsTheGradientOfEveryLeaf) {
  const Tensor x = leaf({1, 2, 3}), y = leaf({4, 5, 6});
  (x * y).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{4, 5, 6}));
  EXPECT_EQ(numbers(y.grad()), (Numbers{1, 2, 3}));
}

TEST(Backward, AddsToAnExistingGradientInPlace) {
  const Tensor x = leaf({1, 2});
  x.sum().backward();
  const Tensor first = x.grad();
  (x * 2).sum().backward();
  EXPECT_TRUE(first.is_same(x.grad()));
  EXPECT_EQ(numbers(x.grad()), (Numbers{3, 3}));
}

TEST(Backward, TheGradientOfATransposedWeightLiesLikeTheWeight) {
  const Tensor x = rand({5, 3}), w = rand({4, 3}).requires_grad_(), b = rand({4}).requires_grad_(), g = rand({5, 4});
  addmm(b, x, w.t()).backward(g);
  EXPECT_TRUE(w.grad().is_contiguous());
  EXPECT_TRUE(allclose(w.grad(), g.t().mm(x)));
  EXPECT_TRUE(allclose(b.grad(), g.sum(0)));
  const Tensor v = rand({3, 4}).requires_grad_();
  x.mm(v).backward(g);
  EXPECT_TRUE(v.grad().is_contiguous());
  EXPECT_TRUE(allclose(v.grad(), x.t().mm(g)));
}

TEST(Backward, AGradientThatIsAViewHeldElsewhereIsCopied) {
  const Tensor x = rand({5, 3}), w = rand({4, 3}).requires_grad_();
  Tensor held;
  const Tensor t = w.t();
  t.register_hook([&](const Tensor& g) { held = g; });
  x.mm(t).sum().backward();
  const Tensor before = w.grad().clone();
  held.zero_();
  EXPECT_TRUE(equal(w.grad(), before));
}

TEST(Backward, WithCreateGraphReplacesTheGradient) {
  const Tensor x = leaf({1, 2});
  (x * x).sum().backward({}, std::nullopt, true);
  const Tensor first = x.grad();
  EXPECT_TRUE(first.requires_grad());
  (x * x).sum().backward({}, std::nullopt, true);
  EXPECT_FALSE(first.is_same(x.grad()));
  EXPECT_EQ(numbers(first), (Numbers{2, 4}));
  EXPECT_EQ(numbers(x.grad()), (Numbers{4, 8}));
  // The gradient refers to the leaf and the leaf to the gradient.
  x.mutable_grad().reset();
}

TEST(Backward, DoesNotHandOutOneTensorAsTwoGradients) {
  const Tensor x = leaf({1, 2}), y = leaf({3, 4});
  (x + y).sum().backward();
  EXPECT_FALSE(x.grad().is_alias_of(y.grad()));
  x.mutable_grad().zero_();
  EXPECT_EQ(numbers(y.grad()), (Numbers{1, 1}));
}

// The gradients of a sum of views of one tensor share memory on their way.
TEST(Backward, DoesNotShareMemoryBetweenGradientsOfViews) {
  const Tensor x = ones_leaf({2, 2}), y = ones_leaf({4});
  (x.view({4}) + y).backward(vec({1, 2, 3, 4}));
  EXPECT_FALSE(x.grad().is_alias_of(y.grad()));
}

TEST(Backward, LeavesTheGivenGradientAlone) {
  const Tensor x = leaf({1, 2}), g = vec({5, 6});
  x.backward(g);
  EXPECT_FALSE(x.grad().is_alias_of(g));
  EXPECT_EQ(numbers(x.grad()), (Numbers{5, 6}));
}

TEST(Backward, KeepsTheStridesOfADenseLeaf) {
  const Tensor x = cresset::ones({3, 2}, TensorOptions(kDouble)).t().detach().requires_grad_();
  (x * 2).sum().backward();
  EXPECT_EQ(x.grad().strides().vec(), x.strides().vec());
}

TEST(Backward, SumsOverBroadcastDimensions) {
  const Tensor x = ones_leaf({2, 3}), y = ones_leaf({3}), z = ones_leaf({2, 1}), s = ones_leaf({});
  (x * y * z * s).sum().backward();
  EXPECT_EQ(numbers(y.grad()), (Numbers{2, 2, 2}));
  EXPECT_EQ(z.grad().sizes().vec(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(numbers(z.grad()), (Numbers{3, 3}));
  EXPECT_EQ(s.grad().dim(), 0);
  EXPECT_EQ(numbers(s.grad()), (Numbers{6}));
}

TEST(Backward, CastsToTheDtypeOfTheLeaf) {
  const Tensor x = cresset::ones({2}, TensorOptions(kFloat)).requires_grad_(), y = leaf({2, 3});
  (x * y).sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), kFloat);
  EXPECT_EQ(y.grad().scalar_type(), kDouble);
  EXPECT_EQ(numbers(x.grad()), (Numbers{2, 3}));
}

TEST(Backward, KeepsTheRealPartForARealLeaf) {
  const Tensor x = leaf({1, 2});
  const Tensor c = cresset::ones({2}, TensorOptions(kComplexDouble));
  (x * c).backward(cresset::ones({2}, TensorOptions(kComplexDouble)));
  EXPECT_EQ(x.grad().scalar_type(), kDouble);
  EXPECT_EQ(numbers(x.grad()), (Numbers{1, 1}));
}

TEST(Backward, AcceptsAGradientOfAnotherFloatingDtype) {
  const Tensor x = leaf({1, 2});
  (x * 3).backward(cresset::ones({2}, TensorOptions(kFloat)));
  EXPECT_EQ(x.grad().scalar_type(), kDouble);
}

TEST(Backward, RunsSharedNodesOnce) {
  const Tensor x = leaf({3});
  const Tensor y = x * 2;
  (y * y + y).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2 * 2 * 6 + 2}));
}

TEST(Backward, TakesSeveralRootsAndRepeatedOnes) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x.sum(), z = (x * 3).sum();
  autograd::backward({y, z, z});
  EXPECT_EQ(numbers(x.grad()), (Numbers{7, 7}));
}

TEST(Backward, TakesARootThatLeadsToAnotherRoot) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3, z = y * 5;
  autograd::backward({y, z});
  EXPECT_EQ(numbers(x.grad()), (Numbers{18}));
}

TEST(Backward, OfALeafSetsItsGradientToTheGivenOne) {
  const Tensor x = leaf({7});
  x.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1}));
}

TEST(Backward, RunsTwiceWithRetainGraph) {
  const Tensor x = leaf({3});
  const Tensor y = (x * x).sum();
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{12}));
}

TEST(Backward, RestrictedToInputsLeavesOtherLeavesAlone) {
  const Tensor x = leaf({2}), y = leaf({3});
  autograd::backward({(x * y).sum()}, {}, std::nullopt, false, {x});
  EXPECT_EQ(numbers(x.grad()), (Numbers{3}));
  EXPECT_FALSE(y.grad().defined());
}

TEST(Backward, RestrictedToANonLeafRetainsItsGradient) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  autograd::backward({(y * y).sum()}, {}, std::nullopt, false, {y});
  EXPECT_EQ(numbers(y.grad()), (Numbers{12}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Backward, OnZeroElementsGivesAZeroElementGradient) {
  const Tensor x = ones_leaf({0, 3});
  (x * 2).sum().backward();
  EXPECT_EQ(x.grad().sizes().vec(), (std::vector<int64_t>{0, 3}));
}

TEST(Grad, ReturnsGradientsWithoutTouchingLeaves) {
  const Tensor x = leaf({2}), y = leaf({3});
  const auto g = grad({(x * x * y).sum()}, {y, x});
  EXPECT_EQ(numbers(g[0]), (Numbers{4}));
  EXPECT_EQ(numbers(g[1]), (Numbers{12}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, OfIntermediateResults) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3, z = y * y;
  const auto g = grad({z.sum()}, {y, x});
  EXPECT_EQ(numbers(g[0]), (Numbers{12}));
  EXPECT_EQ(numbers(g[1]), (Numbers{36}));
}

TEST(Grad, OfTheOutputItself) {
  const Tensor y = leaf({2}) * 3;
  EXPECT_EQ(numbers(grad({y}, {y})[0]), (Numbers{1}));
}

TEST(Grad, OfALateTensorDoesNotRunWhatLiesBeforeIt) {
  const Tensor x = leaf({2});
  const Tensor early = x * 3;
  bool ran = false;
  early.grad_fn()->add_pre_hook([&](const variable_list&) {
    ran = true;
    return variable_list();
  });
  const Tensor late = early * 2;
  EXPECT_EQ(numbers(grad({(late * late).sum()}, {late})[0]), (Numbers{24}));
  EXPECT_FALSE(ran);
}

TEST(Grad, DifferentiatesAgain) {
  const Tensor x = leaf({2});
  const Tensor first = grad({(x * x * x).sum()}, {x}, {}, std::nullopt, true)[0];
  const Tensor second = grad({first.sum()}, {x}, {}, std::nullopt, true)[0];
  const Tensor third = grad({second.sum()}, {x})[0];
  EXPECT_EQ(numbers(first), (Numbers{12}));
  EXPECT_EQ(numbers(second), (Numbers{12}));
  EXPECT_EQ(numbers(third), (Numbers{6}));
}

TEST(Grad, WithoutCreateGraphHasNoHistory) {
  const Tensor x = leaf({2});
  EXPECT_FALSE(grad({(x * x).sum()}, {x})[0].requires_grad());
}

TEST(Grad, OfAnUnusedInputIsUndefinedIfAllowed) {
  const Tensor x = leaf({2}), unused = leaf({1});
  const auto g = grad({x.sum()}, {x, unused}, {}, std::nullopt, false, true);
  EXPECT_TRUE(g[0].defined());
  EXPECT_FALSE(g[1].defined());
}

TEST(Grad, WeighsOutputs) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(numbers(grad({x * 3}, {x}, {vec({10, 100})})[0]), (Numbers{30, 300}));
}

TEST(Graph, RecordsNamesAndEdges) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  EXPECT_EQ(y.grad_fn()->name().substr(0, 3), "Mul");
  const auto& next = y.grad_fn()->next_edge(0).function;
  EXPECT_EQ(next->name(), "torch::autograd::AccumulateGrad");
  EXPECT_TRUE(y.grad_fn()->should_compute_output(0));
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(x.is_leaf());
}

TEST(Graph, LaterOperatorsHaveHigherSequenceNumbers) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2, z = y * 2;
  EXPECT_GT(z.grad_fn()->sequence_nr(), y.grad_fn()->sequence_nr());
  EXPECT_GT(z.grad_fn()->topological_nr(), y.grad_fn()->topological_nr());
}

TEST(Graph, GradientAccumulatorLivesWithTheGraph) {
  const Tensor x = leaf({1});
  EXPECT_FALSE(autograd::impl::try_get_grad_accumulator(x).defined());
  {
    const Tensor y = x * 2;
    EXPECT_TRUE(autograd::impl::try_get_grad_accumulator(x).defined());
  }
  EXPECT_FALSE(autograd::impl::try_get_grad_accumulator(x).defined());
}

TEST(Graph, HoldsItsLeaves) {
  Tensor x = leaf({1});
  const weak_intrusive_ptr<TensorImpl> weak(x.getIntrusivePtr());
  Tensor y = x + 2;
  x.reset();
  EXPECT_FALSE(weak.expired());
  y.backward();
  EXPECT_EQ(numbers(Tensor(weak.lock()).grad()), (Numbers{1}));
  y.reset();
  EXPECT_TRUE(weak.expired());
}

// One after another, a million operators: neither running nor freeing the graph may recurse.
TEST(DeepGraph, AMillionNodesRunBackwardAndAreFreed) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000000; i++) y = y + 1.0;
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1}));
}

TEST(DeepGraph, AMillionNodesAreFreedWithoutBackward) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000000; i++) y = y + 1.0;
  y.reset();
  EXPECT_FALSE(autograd::impl::try_get_grad_accumulator(x).defined());
}

// Multiplication saves its inputs, so that the chain also runs through saved tensors.
TEST(DeepGraph, ChainsOfSavedTensorsAreFreedWithoutRecursion) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 300000; i++) y = y * x;
  y.reset();
  Tensor z = x;
  for (int i = 0; i < 300000; i++) z = z * x;
  z.backward({}, true);
  EXPECT_EQ(numbers(x.grad()), (Numbers{300001}));
}

TEST(DeepGraph, DoubleBackwardOfALongChain) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 20000; i++) y = y * 1.0;
  const Tensor g = grad({y * y}, {x}, {}, std::nullopt, true)[0];
  g.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2}));
}

TEST(Callbacks, RunAfterThePass) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  bool after = false;
  y.register_hook([&](const Tensor&) { autograd::Engine::get_default_engine().queue_callback([&] { after = x.grad().defined(); }); });
  y.backward();
  EXPECT_TRUE(after);
}

}  // namespace
}  // namespace cresset
