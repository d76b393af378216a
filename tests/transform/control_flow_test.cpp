#include "cresset/transform/control_flow.h"

#include <gtest/gtest.h>

#include "cresset/core/fake_mode.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/fake.h"
#include "cresset/transform/vmap.h"
#include "tests/error_of.h"

namespace cresset::func {
namespace {

const Function kTwice = [](const Tensors& x) -> Tensors { return {x[0] * 2}; };
const Function kNegate = [](const Tensors& x) -> Tensors { return {-x[0]}; };

TEST(Cond, ABranchRunsByTheValueOfThePredicate) {
  const Tensor x = randn({3});
  EXPECT_TRUE(equal(cond(full({}, true), kTwice, kNegate, {x})[0], x * 2));
  EXPECT_TRUE(equal(cond(full({1}, false), kTwice, kNegate, {x})[0], -x));
}
TEST(Cond, EachElementOfABatchHasItsOwnBranch) {
  const Tensor x = randn({5, 3});
  const Function f = vmap([](const Tensors& e) { return cond(e[0].sum() > 0, kTwice, kNegate, e); });
  EXPECT_TRUE(equal(f({x})[0], where((x.sum({1}) > 0).unsqueeze(1), x * 2, -x)));
}
TEST(Cond, BranchesThatDifferAreFoundBeforeOneRuns) {
  int runs = 0;
  const Function counts = [&](const Tensors& x) -> Tensors {
    runs += !is_fake(x[0]);
    return {x[0] + 1};
  };
  const Function sums = [](const Tensors& x) -> Tensors { return {x[0].sum()}; };
  EXPECT_THROW(cond(full({}, true), counts, sums, {ones({2})}), ControlFlowError);
  EXPECT_EQ(runs, 0);
  const std::string error = error_of([&] { cond(ones({2}), kTwice, kNegate, {ones({2})}); });
  EXPECT_EQ(error, "cond: expected a predicate of one element, got float32[2]");
}
TEST(Cond, WithoutDataBothBranchesRun) {
  const auto mode = make_fake_mode();
  const FakeModeScope scope(mode.get());
  const Tensor x = randn({2, 3});
  EXPECT_EQ(cond(x.sum() > 0, kTwice, kNegate, {x})[0].sizes(), IntArrayRef({2, 3}));
}
TEST(WhileLoop, ItGoesOnWhileTheConditionHolds) {
  const Function small = [](const Tensors& x) -> Tensors { return {x[0].sum() < 100}; };
  EXPECT_TRUE(equal(while_loop(small, kTwice, {ones({2})})[0], full({2}, 64.0)));
  const Tensor starts = cat({full({1}, 1.0), full({1}, 60.0), full({1}, 200.0)}).unsqueeze(1);
  EXPECT_TRUE(equal(vmap([&](const Tensors& x) { return while_loop(small, kTwice, x); })({starts})[0],
                    cat({full({1}, 128.0), full({1}, 120.0), full({1}, 200.0)}).unsqueeze(1)));
}
TEST(Map, ItStacksTheResultsOfSlices) {
  const Tensor x = randn({4, 3}), y = randn({3});
  EXPECT_TRUE(equal(map([](const Tensors& a) -> Tensors { return {a[0] * a[1]}; }, {x}, {y})[0], x * y));
  EXPECT_EQ(error_of([&] { map(kTwice, {ones({0, 2})}); }), "map: expected at least one slice, got float32[0, 2] along dimension 0");
}
TEST(Scan, ItsGradientIsThatOfALoop) {
  const Tensor x = randn({6, 2}).requires_grad_(), c = ones({2}).requires_grad_();
  const Function step = [](const Tensors& a) -> Tensors { return {a[0] * a[1], a[0] + a[1]}; };
  const ScanResult forward = scan(step, {c}, {x}), backward = scan(step, {c}, {x}, 0, true);
  EXPECT_TRUE(allclose(forward.carry[0], x.prod(0)));
  EXPECT_TRUE(allclose(backward.outputs[0][5], 1 + x[5]));
  (forward.carry[0].sum() + forward.outputs[0].sum()).backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  const Tensor again = x.detach().requires_grad_();
  Tensor carry = ones({2}), total = zeros({});
  for (int64_t i = 0; i < 6; i++) {
    total = total + (carry + again[i]).sum();
    carry = carry * again[i];
  }
  (total + carry.sum()).backward();
  EXPECT_TRUE(allclose(x.grad(), again.grad()));
}
TEST(AssociativeScan, PrefixesOfProductsOfMatrices) {
  const Tensor m = randn({7, 2, 2}, TensorOptions(::cresset::kDouble));
  const Tensor got = associative_scan([](const Tensors& a) -> Tensors { return {matmul(a[0], a[1])}; }, {m}, 0)[0];
  Tensor product = m[0];
  for (int64_t i = 0; i < 7; i++) {
    if (i) product = matmul(product, m[i]);
    EXPECT_TRUE(allclose(got[i], product)) << i;
  }
}

}  // namespace
}  // namespace cresset::func
