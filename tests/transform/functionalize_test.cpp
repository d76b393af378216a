// functionalize: the same results, without changes in place.

#include "cresset/transform/functionalize.h"

#include "autograd/support.h"
#include "cresset/transform/vmap.h"

namespace cresset {
namespace {

using func::Tensors;

TEST(Functionalize, ViewsAndTheirBaseSeeEachOthersChanges) {
  const auto f = [](const Tensors& t) {
    Tensor y = t[0].clone(), row = y[0], flat = y.view({-1});
    row.add_(10);
    flat[5].fill_(7);
    y.mul_(2);
    const std::vector<Tensor> halves = y.chunk(2, 1);
    Tensor(halves[0]).sub_(1);
    return Tensors{y, row, flat, halves[0]};
  };
  const Tensor x = cresset::arange(6, TensorOptions(kDouble)).view({2, 3});
  const Tensors expected = f({x});
  for (const auto remove : {func::Remove::Mutations, func::Remove::MutationsAndViews}) {
    const Tensors got = func::functionalize(f, remove)({x});
    for (size_t i = 0; i < expected.size(); i++) EXPECT_TRUE(got[i].equal(expected[i])) << i;
  }
}

TEST(Functionalize, ArgumentsAreWrittenAtTheEnd) {
  const Tensor x = vec({1, 2, 3});
  const auto f = [&](const Tensors& t) {
    Tensor(t[0]).add_(1);
    EXPECT_EQ(numbers(x), (Numbers{1, 2, 3}));
    return Tensors{t[0], t[0].sum()};
  };
  const Tensors got = func::functionalize(f)({x});
  EXPECT_EQ(numbers(x), (Numbers{2, 3, 4}));
  EXPECT_TRUE(got[0].is_same(x));
  EXPECT_EQ(got[1].item<double>(), 9);
}

TEST(Functionalize, ElementsOfABatchAreWrittenIntoWhatIsTheSameForAll) {
  const auto f = [](const Tensors& t) {
    Tensor y = cresset::zeros({3}, TensorOptions(kDouble));
    y.copy_(t[0].sin());
    y[0].mul_(2);
    return Tensors{y.sum()};
  };
  const Tensor x = cresset::arange(6, TensorOptions(kDouble)).view({2, 3});
  const Tensor got = func::vmap(func::functionalize(f))({x})[0];
  const auto gradient = [&](const Tensors& t) { return func::grad(func::functionalize(f), t); };
  const Tensor slopes = func::vmap(gradient)({x})[0];
  for (int64_t i = 0; i < 2; i++) {
    EXPECT_TRUE(cresset::allclose(got[i], f({x[i]})[0]));
    EXPECT_TRUE(cresset::allclose(slopes[i], func::grad(f, {x[i]})[0]));
  }
}

}  // namespace
}  // namespace cresset
