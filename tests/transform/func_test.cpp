// Transforms of functions: products with Jacobians, Jacobians, Hessians, and what their results keep of a history.

#include "cresset/transform/func.h"

#include <cmath>

#include "autograd/support.h"

namespace cresset {
namespace {

using func::Tensors;

const func::Function kWave = [](const Tensors& v) { return Tensors{v[0].sin() * v[0].flip({0})}; };

TEST(Func, ProductsFromBothSidesAgree) {
  const Tensor x = vec({0.3, -1.2, 2.0}), t = vec({1, -2, 0.5}), w = vec({0.1, 0.7, -3});
  const auto forward = func::jvp(kWave, {x}, {t});
  const auto backward = func::vjp(kWave, {x});
  const auto linear = func::linearize(kWave, {x});
  const double by_forward = (forward.tangent[0] * w).sum().item<double>();
  EXPECT_NEAR(by_forward, (backward.pullback({w})[0] * t).sum().item<double>(), 1e-14);
  EXPECT_NEAR(by_forward, (linear.derivative({t})[0] * w).sum().item<double>(), 1e-14);
  EXPECT_NE(by_forward, 0);
  EXPECT_EQ(numbers(forward.value[0]), numbers(backward.value[0]));
}

TEST(Func, JacobiansInBothModesAndHessians) {
  const Tensor x = vec({0.3, -1.2, 2.0});
  const Tensor forward = func::jacfwd(kWave, {x})[0], backward = func::jacrev(kWave, {x})[0];
  EXPECT_EQ(forward.sizes(), (IntArrayRef{3, 3}));
  EXPECT_TRUE(cresset::allclose(forward, backward, 1e-14, 1e-14));
  // f = a^2 b: the mixed derivatives are 2a, the others 2b and 0.
  const auto f = [](const Tensors& v) { return Tensors{(v[0] * v[0] * v[1]).sum()}; };
  const auto h = func::hessian(f, {vec({3}), vec({5})});
  EXPECT_EQ(numbers(h[0][0]), (Numbers{10}));
  EXPECT_EQ(numbers(h[0][1]), (Numbers{6}));
  EXPECT_EQ(numbers(h[1][0]), (Numbers{6}));
  EXPECT_EQ(numbers(h[1][1]), (Numbers{0}));
}

TEST(Func, ProductsWithTheHessianNeedNoHessian) {
  const auto f = [](const Tensors& v) { return Tensors{(v[0] * v[0] * v[1]).sum()}; };
  for (const auto product : {func::hvp, func::vhp}) {
    const auto at = product(f, {vec({3}), vec({5})}, {vec({1}), vec({10})});
    EXPECT_EQ(numbers(at.value[0]), (Numbers{45}));
    EXPECT_EQ(numbers(at.tangent[0]), (Numbers{10 + 6 * 10}));
    EXPECT_EQ(numbers(at.tangent[1]), (Numbers{6}));
    EXPECT_THROW(product(f, {vec({3}), vec({5})}, {vec({1})}), Error);
    EXPECT_THROW(product([](const Tensors& v) { return Tensors{v[0], v[0]}; }, {vec({3})}, {vec({1})}), Error);
  }
}

TEST(Func, TransformsNestInAnyOrder) {
  const Tensor x = vec({0.7}).sum();
  const auto cube = [](const Tensors& v) { return Tensors{v[0] * v[0] * v[0]}; };
  const auto d = [&](const Tensors& v) { return func::grad(cube, v); };
  const auto dd = [&](const Tensors& v) { return func::grad(d, v); };
  EXPECT_NEAR(func::grad(dd, {x})[0].item<double>(), 6, 1e-14);
  const Tensor one = cresset::ones({}, TensorOptions(kDouble));
  const auto t = [&](const Tensors& v) { return func::jvp(cube, v, {one}).tangent; };
  const auto tt = [&](const Tensors& v) { return func::jvp(t, v, {one}).tangent; };
  EXPECT_NEAR(tt({x})[0].item<double>(), 6 * 0.7, 1e-14);
  EXPECT_NEAR(func::grad(t, {x})[0].item<double>(), 6 * 0.7, 1e-14);
  EXPECT_NEAR(func::jvp(d, {x}, {one}).tangent[0].item<double>(), 6 * 0.7, 1e-14);
}

TEST(Func, ResultsKeepOnlyTheHistoryOfOthers) {
  const Tensor x = vec({1, 2}), w = leaf({3, 4});
  const auto plain = func::grad([](const Tensors& v) { return Tensors{(v[0] * v[0]).sum()}; }, {x})[0];
  EXPECT_FALSE(plain.requires_grad());
  const auto weighted = [&](const Tensors& v) { return Tensors{(w * v[0] * v[0]).sum()}; };
  const Tensor g = func::grad(weighted, {x})[0];
  ASSERT_TRUE(g.requires_grad());
  EXPECT_EQ(numbers(autograd::grad({g.sum()}, {w})[0]), (Numbers{2, 4}));
  const NoGradGuard no_grad;
  EXPECT_FALSE(func::grad(weighted, {x})[0].requires_grad());
}

TEST(Func, Mistakes) {
  const Tensor x = vec({1, 2});
  const auto same = [](const Tensors& v) { return v; };
  EXPECT_TRUE(contains(error_of([&] { func::grad(same, {x}); }), "a scalar tensor, got one with 1 dims"));
  EXPECT_TRUE(contains(error_of([&] { func::jvp(same, {x}, {}); }), "expected 1 tangents, got 0"));
  EXPECT_TRUE(contains(error_of([&] { func::vjp(same, {x}).pullback({vec({1})}); }), "expected vector 0 of the output's shape [2], got [1]"));
  EXPECT_TRUE(contains(error_of([&] { func::jacrev([](const Tensors& v) { return Tensors{v[0], v[0]}; }, {x}); }), "with one result, got 2"));
}

}  // namespace
}  // namespace cresset
