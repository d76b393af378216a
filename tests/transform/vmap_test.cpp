// vmap: every element of a batch on its own.

#include "cresset/transform/vmap.h"

#include "autograd/support.h"
#include "error_of.h"

namespace cresset {
namespace {

using func::Tensors;
using func::VmapOptions;

Tensor matrix() { return cresset::arange(6, TensorOptions(kDouble)).view({2, 3}) * 0.5 - 1; }

VmapOptions in_dims(std::vector<std::optional<int64_t>> dims) {
  VmapOptions options;
  options.in_dims = std::move(dims);
  return options;
}

TEST(Vmap, DimensionsOfArgumentsAndResults) {
  const Tensor x = matrix(), v = vec({1, 2, 3});
  const auto dot = [](const Tensors& t) { return Tensors{t[0].dot(t[1])}; };
  EXPECT_TRUE(cresset::allclose(func::vmap(dot, in_dims({0, std::nullopt}))({x, v})[0], x.mv(v)));
  VmapOptions options = in_dims({-1});
  options.out_dims = {1};
  EXPECT_TRUE(func::vmap([](const Tensors& t) { return Tensors{t[0] * 2}; }, options)({x})[0].equal(x * 2));
  const auto twice = func::vmap(func::vmap([](const Tensors& t) { return Tensors{t[0].exp()}; }));
  EXPECT_TRUE(cresset::allclose(twice({x})[0], x.exp()));
}

TEST(Vmap, ChunksGiveTheSame) {
  const Tensor x = cresset::randn({5, 4}, TensorOptions(kDouble));
  for (const int64_t size : {1, 2, 3, 7}) {
    VmapOptions options;
    options.chunk_size = size;
    EXPECT_TRUE(func::vmap([](const Tensors& t) { return Tensors{t[0].sum()}; }, options)({x})[0].equal(x.sum(1)));
  }
}

TEST(Vmap, NestsWithDerivativesInAnyOrder) {
  const Tensor x = matrix();
  const auto f = [](const Tensors& t) { return Tensors{(t[0].sin() * t[0].cumsum(0)).sum()}; };
  const auto gradient = [&](const Tensors& t) { return func::grad(f, t); };
  const Tensor each = func::vmap(gradient)({x})[0];
  for (int64_t i = 0; i < 2; i++) EXPECT_TRUE(cresset::allclose(each[i], gradient({x[i]})[0]));
  const auto total = [&](const Tensors& t) { return Tensors{func::vmap(f)(t)[0].sum()}; };
  EXPECT_TRUE(cresset::allclose(func::grad(total, {x})[0], each));
  const Tensor hessians = func::vmap([&](const Tensors& t) { return func::hessian(f, t)[0]; })({x})[0];
  for (int64_t i = 0; i < 2; i++) EXPECT_TRUE(cresset::allclose(hessians[i], func::hessian(f, {x[i]})[0][0]));
  const Tensor along = func::vmap([&](const Tensors& t) { return func::jvp(gradient, t, {t[0] * 2}).tangent; })({x})[0];
  for (int64_t i = 0; i < 2; i++) EXPECT_TRUE(cresset::allclose(along[i], hessians[i].mv(x[i] * 2)));
}

TEST(Vmap, ASharedParameterHasAGradientForEachElement) {
  const Tensor x = matrix(), w = vec({1, -2, 3});
  const auto loss = [](const Tensors& t) { return Tensors{(t[0] * t[1]).sum().square()}; };
  const auto gradient = [&](const Tensors& t) { return Tensors{func::grad(loss, t)[0]}; };
  const Tensor each = func::vmap(gradient, in_dims({std::nullopt, 0}))({w, x})[0];
  EXPECT_TRUE(cresset::allclose(each, x * (2 * x.mv(w)).unsqueeze(1)));
}

TEST(Vmap, JacobiansInChunks) {
  const auto f = [](const Tensors& t) { return Tensors{t[0].exp() * t[1].sum()}; };
  const Tensors at{vec({0.5, 1}), vec({1, 2, 3})};
  const Tensors expected = func::jacrev(f, at);
  EXPECT_EQ(expected[1].sizes(), (IntArrayRef{2, 3}));
  for (const int64_t size : {0, 1, 2}) {
    for (size_t p = 0; p < 2; p++) {
      EXPECT_TRUE(cresset::allclose(func::jacrev(f, at, size)[p], expected[p]));
      EXPECT_TRUE(cresset::allclose(func::jacfwd(f, at, size)[p], expected[p]));
    }
  }
}

TEST(Vmap, RandomOperatorsObeyTheMode) {
  const Tensor x = matrix();
  const auto draw = [](const Tensors&) { return Tensors{cresset::randn({4})}; };
  VmapOptions options;
  EXPECT_NE(error_of([&] { func::vmap(draw, options)({x}); }).find("under randomness='error'"), std::string::npos);
  options.randomness = func::Randomness::Same;
  const Tensor same = func::vmap(draw, options)({x})[0];
  EXPECT_TRUE(same[0].equal(same[1]));
  // In chunks, too.
  options.chunk_size = 1;
  const Tensor in_chunks = func::vmap(draw, options)({x})[0];
  EXPECT_TRUE(in_chunks[0].equal(in_chunks[1]));
  options.chunk_size = 0;
  options.randomness = func::Randomness::Different;
  const Tensor different = func::vmap(draw, options)({x})[0];
  EXPECT_FALSE(different[0].equal(different[1]));
}

TEST(Vmap, Mistakes) {
  const Tensor x = matrix();
  const auto says = [&](const func::Function& f, const char* text) { return error_of([&] { func::vmap(f)({x}); }).find(text) != std::string::npos; };
  EXPECT_TRUE(says([](const Tensors& t) { return Tensors{t[0] * t[0].sum().item()}; }, "item() cannot give one number"));
  EXPECT_TRUE(says([](const Tensors& t) { return Tensors{cresset::zeros({3}, TensorOptions(kDouble)).add_(t[0])}; }, "inplace arithmetic"));
  EXPECT_TRUE(says([](const Tensors& t) { return Tensors{t[0].nonzero()}; }, "dynamic shape"));
  EXPECT_NE(error_of([&] { func::vmap([](const Tensors& t) { return t; })({x, x.t()}); }).find("differ in size"), std::string::npos);
  // No level is left open.
  EXPECT_EQ(func::current_vmap(), nullptr);
}

TEST(Vmap, ElementsCanBeLookedUnder) {
  std::vector<std::vector<int64_t>> seen;
  const auto look = [&](const autograd::variable_list& in) {
    for (const bool recurse : {true, false}) seen.push_back(func::debug_unwrap(in[0], recurse).sizes().vec());
    return in;
  };
  func::vmap(func::vmap(look))({ones({2, 3})});
  EXPECT_EQ(seen, (std::vector<std::vector<int64_t>>{{2, 3}, {3}}));
  const Tensor plain = ones({1});
  EXPECT_TRUE(func::debug_unwrap(plain).is_same(plain));
}

}  // namespace
}  // namespace cresset
