// Fused kernels: the loops of operators, learnt from calls on tensors without data, run tile after tile with the same bits.

#include "cresset/graph/codegen/fused.h"

#include <gtest/gtest.h>

#include "cresset/base/parallel.h"
#include "cresset/cresset.h"
#include "cresset/dispatch/registration.h"
#include "cresset/graph/codegen/rows.h"

namespace cresset::graph {
namespace {

Tensor waves(std::vector<int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return cresset::arange(count, TensorOptions(kFloat)).mul(0.37).sin().reshape(sizes);
}
Tensor like(const Tensor& t) { return cresset::empty_strided(t.sizes(), t.strides(), t.options().device(kMeta)); }

// The step of an operator on tensors like these.
template <class F> FusedStep step_of(F&& call, std::vector<Tensor> tensors) {
  for (Tensor& t : tensors) t = like(t);
  Probe probe(tensors);
  const Tensor result = call(tensors);
  EXPECT_TRUE(probe.is_one_loop(result));
  return probe.step();
}
void reads_step(FusedStep& step, size_t input, int from) {
  step.inputs[input].kind = FusedStep::Input::Step;
  step.inputs[input].index = from;
}

// sin(x * y + 2) and x * y
FusedKernel product(const Tensor& x, const Tensor& y) {
  std::vector<FusedStep> steps;
  steps.push_back(step_of([](const auto& t) { return t[0] * t[1]; }, {x, y}));
  steps.push_back(step_of([](const auto& t) { return t[0] + 2; }, {x}));
  reads_step(steps[1], 0, 0);
  steps.push_back(step_of([](const auto& t) { return t[0].sin(); }, {x}));
  reads_step(steps[2], 0, 1);
  return FusedKernel({x.scalar_type(), y.scalar_type()}, std::move(steps), {2, 0});
}

TEST(FusedKernel, GivesItsResultsTheMemoryOfArgumentsThatNothingElseHolds) {
  const FusedKernel kernel = product(waves({70, 50}), waves({70, 50}));
  const auto expected = kernel.run({waves({70, 50}), waves({70, 50})});
  std::vector<Tensor> given = {waves({70, 50}), waves({70, 50})};
  const std::vector<const void*> memory = {given[0].data_ptr(), given[1].data_ptr()};
  const auto out = kernel.run_owning(given);
  EXPECT_EQ(out[0].data_ptr(), memory[0]);
  EXPECT_EQ(out[1].data_ptr(), memory[1]);
  for (size_t i = 0; i < 2; i++) EXPECT_TRUE(cresset::equal(out[i], expected[i]));
}

TEST(FusedKernel, LeavesMemoryAloneThatOthersHold) {
  const FusedKernel kernel = product(waves({70, 50}), waves({70, 50}));
  std::vector<float> foreign(3500, 0.5f);
  std::vector<Tensor> given = {waves({70, 50}), cresset::from_blob(foreign.data(), {70, 50}, TensorOptions(kFloat))};
  const Tensor part = given[0].select(0, 1), before = given[0].clone();
  const auto out = kernel.run_owning(given);
  EXPECT_TRUE(cresset::equal(given[0], before)) << "a view of it is held";
  EXPECT_EQ(foreign, std::vector<float>(3500, 0.5f)) << "its memory is not the library's";
  EXPECT_TRUE(cresset::equal(out[1], before * 0.5));
}

TEST(FusedKernel, KeepsArgumentsThatLaterStepsRead) {
  // x * y, which is a result, then sin(x)
  const Tensor x = waves({40, 50});
  std::vector<FusedStep> steps;
  steps.push_back(step_of([](const auto& t) { return t[0] * t[1]; }, {x, x.clone()}));
  steps.push_back(step_of([](const auto& t) { return t[0].sin(); }, {x}));
  const FusedKernel kernel({kFloat, kFloat}, std::move(steps), {0, 1});
  std::vector<Tensor> given = {waves({40, 50}), waves({40, 50}).mul(3)};
  const auto expected = kernel.run(given), out = kernel.run_owning(given);
  for (size_t i = 0; i < 2; i++) EXPECT_TRUE(cresset::equal(out[i], expected[i]));
}

TEST(Probe, KnowsOperatorsThatAreOneLoop) {
  const Tensor x = like(waves({4}));
  const std::vector<Tensor> tensors = {x};
  {
    Probe probe(tensors);
    EXPECT_TRUE(probe.is_one_loop(x.sin()));
  }
  {
    Probe probe(tensors);
    EXPECT_FALSE(probe.is_one_loop(x.sin().cos())) << "two loops";
  }
  {
    Probe probe(tensors);
    EXPECT_FALSE(probe.is_one_loop(x.sum())) << "no pointwise operator";
  }
  {
    Probe probe(tensors);
    EXPECT_FALSE(probe.is_one_loop(x + like(waves({4})))) << "a tensor that the kernel does not get";
  }
  {
    Probe probe(tensors);
    EXPECT_FALSE(probe.is_one_loop(x + x.to(kDouble))) << "a conversion";
  }
}

TEST(Probe, KnowsReductionsOfRows) {
  const std::vector<Tensor> tensors = {waves({3, 64})};
  const Tensor& x = tensors[0];
  const auto seen = [&](auto&& call) {
    Probe probe(tensors);
    const Tensor result = call();
    return probe.reduction(result);
  };
  EXPECT_EQ(seen([&] { return x.mean(IntArrayRef{-1}, true); }), kernels::ReduceOp::mean);
  EXPECT_EQ(seen([&] { return x.amax({1}, true); }), kernels::ReduceOp::max);
  EXPECT_EQ(seen([&] { return x.mean(IntArrayRef{0}, true); }), std::nullopt) << "of columns";
  EXPECT_EQ(seen([&] { return x.mean(IntArrayRef{-1}, true) + 1; }), std::nullopt) << "another result";
  EXPECT_EQ(seen([&] { return x.logsumexp({-1}, true); }), std::nullopt) << "two reductions";
  EXPECT_EQ(seen([&] { return x.exp().sum(IntArrayRef{-1}, true); }), std::nullopt) << "of another tensor";
  EXPECT_EQ(seen([&] { return x.sum(IntArrayRef{-1}, true, kDouble); }), std::nullopt) << "another dtype";
}

TEST(FusedKernel, GivesTheBitsOfItsOperators) {
  for (const int64_t n : {1, 127, 128, 2048, 2049, 100003}) {
    const Tensor x = waves({n}), y = waves({n}).cos();
    const auto out = product(x, y).run({x, y});
    EXPECT_TRUE(cresset::equal(out[0], (x * y + 2).sin())) << n;
    EXPECT_TRUE(cresset::equal(out[1], x * y)) << n;
  }
}

TEST(FusedKernel, Broadcasts) {
  const Tensor x = waves({7, 33, 20});
  for (const Tensor& y :
       {waves({20}), waves({33, 1}), waves({7, 1, 1}), waves({1}), waves({7, 1, 20}), waves({7, 33, 20}).transpose(0, 1).contiguous().transpose(0, 1)}) {
    const auto out = product(x, y).run({x, y});
    EXPECT_TRUE(cresset::equal(out[0], (x * y + 2).sin())) << y.sizes();
    EXPECT_TRUE(out[0].is_contiguous());
  }
}

TEST(FusedKernel, TemporariesAreUsedAgain) {
  const Tensor x = waves({10});
  std::vector<FusedStep> steps = {step_of([](const auto& t) { return t[0].sin(); }, {x})};
  for (int i = 1; i < 20; i++) {
    steps.push_back(step_of([](const auto& t) { return t[0].cos(); }, {x}));
    reads_step(steps.back(), 0, i - 1);
  }
  const FusedKernel kernel({kFloat}, std::move(steps), {19});
  EXPECT_LE(kernel.num_temporaries(), 2);
  Tensor expected = x.sin();
  for (int i = 1; i < 20; i++) expected = expected.cos();
  EXPECT_TRUE(cresset::equal(kernel.run({x})[0], expected));
}

TEST(FusedKernel, DoesNotDependOnTheNumberOfThreads) {
  const Tensor x = waves({500000}), y = waves({500000}).cos();
  const FusedKernel kernel = product(x, y);
  const int before = get_num_threads();
  set_num_threads(1);
  const auto one = kernel.run({x, y});
  set_num_threads(3);
  const auto three = kernel.run({x, y});
  set_num_threads(before);
  EXPECT_TRUE(cresset::equal(one[0], three[0]));
}

TEST(FusedKernel, EmptyTensors) {
  const Tensor x = waves({0, 3});
  EXPECT_EQ(product(x, x).run({x, x})[0].sizes(), IntArrayRef({0, 3}));
}

TEST(FusedKernel, RefusesOtherArguments) {
  const Tensor x = waves({4});
  const FusedKernel kernel = product(x, x);
  EXPECT_THROW(kernel.run({x}), Error);
  EXPECT_THROW(kernel.run({x, x.to(kDouble)}), Error);
  EXPECT_THROW(kernel.run({x, Tensor()}), Error);
  EXPECT_THROW(kernel.run({x, waves({3})}), Error);
  EXPECT_THROW(kernel.run({x, like(x)}), Error);
}

TEST(FusedKernel, RefusesStepsThatReadWhatIsNotThere) {
  const Tensor x = waves({4});
  FusedStep step = step_of([](const auto& t) { return t[0].sin(); }, {x});
  EXPECT_THROW(FusedKernel({}, {step}, {0}), ValueError);
  reads_step(step, 0, 0);
  EXPECT_THROW(FusedKernel({kFloat}, {step}, {0}), ValueError) << "its own value";
  EXPECT_THROW(FusedKernel({kFloat}, {FusedStep{}}, {0}), ValueError) << "no loop";
  EXPECT_THROW(FusedKernel({kFloat}, {step_of([](const auto& t) { return t[0].sin(); }, {x})}, {1}), ValueError);
}

TEST(FusedKernel, IsAnOperator) {
  const Tensor x = waves({1000}), y = waves({1000}).cos();
  const int64_t number = keep_kernel(std::make_shared<FusedKernel>(product(x, y)));
  const auto& entry = dispatch::find_op("cresset_fused::run").entry();
  dispatch::Stack stack{dispatch::Value(number), dispatch::Value(std::vector<Tensor>{x, y})};
  dispatch::call_boxed(entry, stack);
  EXPECT_TRUE(cresset::equal(stack[0].to_tensor_list()[1], x * y));
  drop_kernel(number);
  dispatch::Stack again{dispatch::Value(number), dispatch::Value(std::vector<Tensor>{x, y})};
  EXPECT_THROW(dispatch::call_boxed(entry, again), Error);
}

RowStep reduction(const char* name, int input, dispatch::Value dim) {
  RowStep step;
  step.reduction = &dispatch::find_op(name).entry();
  step.rest = {std::move(dim), dispatch::Value(true)};
  step.loop.result = kFloat;
  step.wide = false;
  step.loop.inputs.resize(1);
  step.loop.inputs[0].kind = FusedStep::Input::Argument;
  step.loop.inputs[0].index = input;
  return step;
}

TEST(RowKernel, ReducesAndUsesWhatItHasReduced) {
  const auto kernel_for = [](const Tensor& x) {
    std::vector<RowStep> steps = {reduction("amax", 0, dispatch::Value(std::vector<int64_t>{-1}))};
    RowStep sub;
    sub.loop = step_of([](const auto& t) { return t[0] - t[1]; }, {x, cresset::amax(x, {-1}, true)});
    reads_step(sub.loop, 1, 0);
    steps.push_back(sub);
    return RowKernel({kFloat}, {RowArgument::Wide}, std::move(steps), {1, 0});
  };
  for (const int64_t rows : {1, 5, 300, 3000}) {
    const Tensor x = waves({rows, 100});
    const auto out = kernel_for(x).run({x});
    EXPECT_TRUE(cresset::equal(out[0], x - x.amax({-1}, true)));
    EXPECT_TRUE(cresset::equal(out[1], x.amax({-1}, true)));
  }
  const Tensor empty = waves({0, 100}), x = waves({5, 100});
  EXPECT_EQ(kernel_for(x).run({empty})[1].sizes(), IntArrayRef({0, 1}));
  EXPECT_TRUE(cresset::equal(kernel_for(x).run({waves({100, 5}).t()})[0], waves({100, 5}).t() - waves({100, 5}).t().amax({-1}, true))) << "strided";
}

TEST(RowKernel, RefusesOtherArguments) {
  const RowKernel kernel({kFloat, kFloat}, {RowArgument::Wide, RowArgument::Narrow}, {reduction("amax", 0, dispatch::Value(std::vector<int64_t>{-1}))}, {0});
  const Tensor x = waves({4, 70});
  EXPECT_THROW(kernel.run({x}), Error);
  EXPECT_THROW(kernel.run({x, waves({5, 1})}), Error);
  EXPECT_THROW(kernel.run({x, waves({4, 1}).to(kDouble)}), Error);
  EXPECT_THROW(kernel.run({cresset::scalar_tensor(1), waves({1})}), Error);
  EXPECT_THROW(RowKernel({kFloat}, {RowArgument::Narrow}, {}, {}), ValueError) << "no argument with all columns";
  EXPECT_THROW(RowKernel({kFloat}, {RowArgument::Wide}, {RowStep{}}, {0}), ValueError) << "a step that does nothing";
  EXPECT_THROW(RowKernel({kFloat}, {RowArgument::Wide}, {reduction("amax", 3, dispatch::Value(int64_t{-1}))}, {0}), ValueError);
  EXPECT_THROW(RowKernel({kFloat}, {}, {}, {}), ValueError);
}

TEST(Costs, AreThoseOfTheLoop) {
  const Tensor x = waves({4});
  const double add = cost_of(step_of([](const auto&t) { return t[0] + t[0]; }, {x})),
               lgamma = cost_of(step_of([](const auto&t) { return t[0].lgamma(); }, {x}));
  EXPECT_GT(add, 0);
  EXPECT_GT(lgamma, add);
}

}  // namespace
}  // namespace cresset::graph
