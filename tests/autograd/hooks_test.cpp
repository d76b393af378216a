#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::variable_list;

TEST(TensorHook, SeesAndReplacesTheGradient) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  double seen = 0;
  y.register_hook([&](const Tensor& g) {
    seen = g.item<double>();
    return g * 10;
  });
  (y * 3).backward();
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(numbers(x.grad()), (Numbers{60}));
}

TEST(TensorHook, ThatReturnsNothingOnlyWatches) {
  const Tensor x = leaf({1});
  int calls = 0;
  x.register_hook([&](const Tensor&) { calls++; });
  (x * 3).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(numbers(x.grad()), (Numbers{3}));
}

TEST(TensorHook, RunInOrderOfRegistration) {
  const Tensor x = leaf({1});
  x.register_hook([](const Tensor& g) { return g + 1; });
  x.register_hook([](const Tensor& g) { return g * 10; });
  x.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{20}));
}

TEST(TensorHook, OfALeafSeesTheSumOfItsUses) {
  const Tensor x = leaf({1});
  std::vector<double> seen;
  x.register_hook([&](const Tensor& g) { seen.push_back(g.item<double>()); });
  (x * 2 + x * 3).backward();
  EXPECT_EQ(seen, (Numbers{5}));
}

TEST(TensorHook, CanBeRemoved) {
  const Tensor x = leaf({1});
  const unsigned first = x.register_hook([](const Tensor& g) { return g * 10; });
  x.register_hook([](const Tensor& g) { return g * 3; });
  x.remove_hook(first);
  x.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{3}));
}

TEST(TensorHook, OnALeafAppliesToGradAsWell) {
  const Tensor x = leaf({1});
  x.register_hook([](const Tensor& g) { return g * 10; });
  EXPECT_EQ(numbers(autograd::grad({x * 2}, {x})[0]), (Numbers{20}));
}

// A hook belongs to the value that the tensor had when it was registered.
TEST(TensorHook, StaysWithTheOldHistoryAfterAnInPlaceOperator) {
  const Tensor x = leaf({1});
  Tensor y = x * 2;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.mul_(3);
  y.register_hook([](const Tensor& g) { return g * 100; });
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6000}));
}

TEST(RetainGrad, KeepsTheGradientOfANonLeaf) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  y.retain_grad();
  EXPECT_TRUE(y.retains_grad());
  (y * y).backward();
  EXPECT_EQ(numbers(y.grad()), (Numbers{4}));
}

TEST(RetainGrad, SeesWhatHooksMadeOfTheGradient) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.backward();
  EXPECT_EQ(numbers(y.grad()), (Numbers{10}));
  EXPECT_EQ(numbers(x.grad()), (Numbers{20}));
}

TEST(RetainGrad, FollowsTheTensorThroughInPlaceOperators) {
  const Tensor x = leaf({1});
  Tensor y = x * 2;
  y.retain_grad();
  y.mul_(3);
  y.backward();
  EXPECT_EQ(numbers(y.grad()), (Numbers{1}));
  EXPECT_EQ(numbers(x.grad()), (Numbers{6}));
}

TEST(RetainGrad, AccumulatesOverPasses) {
  const Tensor x = leaf({1});
  const Tensor y = x + 1;
  y.retain_grad();
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(numbers(y.grad()), (Numbers{2}));
}

TEST(RetainGrad, IsNothingForALeaf) {
  const Tensor x = leaf({1});
  x.retain_grad();
  EXPECT_FALSE(x.retains_grad());
  x.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1}));
}

TEST(RetainGrad, DoesNotKeepTheTensorAlive) {
  const Tensor x = leaf({1});
  Tensor y = x + 1;
  const weak_intrusive_ptr<TensorImpl> weak(y.getIntrusivePtr());
  const Tensor z = y + 1;
  y.retain_grad();
  y.reset();
  EXPECT_TRUE(weak.expired());
  z.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{1}));
}

TEST(PostAccumulateHook, SeesTheLeafWithItsGradient) {
  const Tensor x = leaf({1});
  std::vector<double> seen;
  const unsigned at = autograd::register_post_accumulate_grad_hook(x, [&](const Tensor& t) {
    seen.push_back(t.grad().item<double>());
    t.mutable_grad().reset();
  });
  (x * 3).backward();
  EXPECT_FALSE(x.grad().defined());
  autograd::remove_post_accumulate_grad_hook(x, at);
  (x * 4).backward();
  EXPECT_EQ(seen, (Numbers{3}));
  EXPECT_EQ(numbers(x.grad()), (Numbers{4}));
}

TEST(NodePreHook, ReplacesWhatTheNodeGets) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  y.grad_fn()->add_pre_hook([](const variable_list& grads) { return variable_list{grads[0] * 10}; });
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{20}));
}

TEST(NodePostHook, ReplacesWhatTheNodeGives) {
  const Tensor x = leaf({1}), w = leaf({5});
  const Tensor y = x * w;
  y.grad_fn()->add_post_hook([](const variable_list& inputs, const variable_list& outputs) {
    EXPECT_EQ(numbers(outputs[0]), (Numbers{1}));
    return variable_list{inputs[0] * 10, inputs[1]};
  });
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{50}));
  EXPECT_EQ(numbers(w.grad()), (Numbers{1}));
}

TEST(NodeHook, CanBeRemoved) {
  const Tensor x = leaf({1}), w = leaf({2});
  const Tensor y = x * w;
  const size_t pre = y.grad_fn()->add_pre_hook([](const variable_list& grads) { return variable_list{grads[0] * 10}; });
  const size_t post = y.grad_fn()->add_post_hook([](const variable_list& in, const variable_list&) { return variable_list{in[0] * 7, in[1]}; });
  y.grad_fn()->remove_pre_hook(pre);
  y.grad_fn()->remove_post_hook(post);
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{2}));
}

}  // namespace
}  // namespace cresset
