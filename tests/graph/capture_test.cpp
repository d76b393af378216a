// Graphs from C++ functions.

#include "cresset/graph/capture/capture.h"

#include <gtest/gtest.h>

#include "cresset/core/random/generator.h"
#include "cresset/graph/runtime/program.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

using Tensors = std::vector<Tensor>;
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Capture, AFunctionBecomesAGraphThatComputesTheSame) {
  const Tensor w = randn({3, 4}), b = randn({3});
  const auto f = [&](const Tensors& x) -> Tensors {
    Tensor y = relu(linear(x[0], w, b));
    const Tensors parts = y.split(1, 1);
    y.add_(cat({parts[0], parts[2], parts[1]}, 1));
    return {y, y.sum({0}) * 2};
  };
  const auto g = capture(f, {randn({2, 4})});
  EXPECT_TRUE(contains(g->text(), "linear(%x0, @constant, @constant_1)")) << g->text();
  const Tensor x = randn({2, 4});
  const Tensors expected = f({x}), got = Program(*g).run_tensors({x});
  for (size_t i = 0; i < expected.size(); i++) EXPECT_TRUE(equal(expected[i], got[i]));
  EXPECT_TRUE(contains(parse_graph(g->text())->text(), "relu"));
}
TEST(Capture, CompositesAreTakenApartOnRequest) {
  CaptureOptions options;
  options.decompose_composites = true;
  const auto f = [](const Tensors& x) -> Tensors { return {cresset::std(x[0], true)}; };
  const auto g = capture(f, {randn({4})}, options);
  EXPECT_FALSE(contains(g->text(), "std("));
}
TEST(Capture, ValuesThatDependOnDataAreErrors) {
  [[maybe_unused]] const int line = __LINE__ + 1;
  const auto f = [](const Tensors& x) -> Tensors { return {x[0].sum().item().toDouble() > 0 ? x[0] : -x[0]}; };
  const std::string error = error_of([&] { capture(f, {randn({3})}); });
  EXPECT_EQ(error.find("capture: item of %sum = sum at "), 0u) << error;
  EXPECT_TRUE(contains(error, ": a graph that is being captured would keep the example's number. Two ways out: ")) << error;
  EXPECT_TRUE(contains(error, "where() chooses between two")) << error;
  EXPECT_FALSE(contains(error, "libcresset")) << error;
#ifdef CRESSET_LINES_KNOWN
  EXPECT_TRUE(contains(error, "capture_test.cpp:" + std::to_string(line))) << error;
#endif
  // The layer is off again.
  EXPECT_EQ(ones({2}).sum().item().toDouble(), 2.0);
}
TEST(Capture, AFailureIsToldWhereAskedAndTheFunctionGoesOn) {
  std::string failure;
  CaptureOptions options;
  options.name = "mine";
  options.failure = &failure;
  bool ended = false;
  const auto f = [&](const Tensors& x) -> Tensors {
    const double total = x[0].sum().item().toDouble();
    ended = true;
    return {x[0] * total};
  };
  capture(f, {ones({3})}, options);
  EXPECT_TRUE(ended);
  EXPECT_EQ(failure.find("item of %sum = sum at "), 0u) << failure;
  failure.clear();
  const auto g = capture([](const Tensors& x) -> Tensors { return {x[0] * 2}; }, {ones({3})}, options);
  EXPECT_EQ(failure, "");
  EXPECT_EQ(g->name(), "mine");
}
TEST(Capture, ListsAndTensorsThatAreLeftOutAreOperands) {
  const Tensor elsewhere = arange(3);
  const auto f = [&](const Tensors& x) -> Tensors {
    return {cat({x[0], x[1]}, 0), cresset::index(x[0], {std::nullopt, elsewhere}), layer_norm(x[0], {3}), x[0].expand({2, 2, 3}),
            cresset::where(x[0] > 0, x[0], x[1])};
  };
  const Tensors given{randn({2, 3}), randn({2, 3})};
  const auto g = capture(f, given);
  const Tensors expected = f(given), got = Program(*parse_graph(g->text())).run_tensors(given);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); i++) EXPECT_TRUE(equal(got[i], expected[i])) << i;
}
TEST(Capture, GeneratorsAreRefused) {
  const auto f = [](const Tensors& x) -> Tensors { return {cresset::bernoulli(x[0], make_generator(3))}; };
  EXPECT_EQ(error_of([&] { capture(f, {full({3}, 0.5)}); }), "capture: bernoulli: got a generator, which graphs cannot hold; seed the default one instead");
}
TEST(Capture, WhatTheFunctionThrowsComesThrough) {
  const auto f = [](const Tensors& x) -> Tensors { return {x[0].matmul(x[1])}; };
  EXPECT_EQ(error_of([&] { capture(f, {ones({2, 3}), ones({2, 3})}); }), error_of([&] { f({ones({2, 3}), ones({2, 3})}); }));
  EXPECT_THROW(capture([](const Tensors&) -> Tensors { throw std::runtime_error("mine"); }, {}), std::runtime_error);
  EXPECT_TRUE(equal(ones({2}) + 1, full({2}, 2.0)));
}
TEST(Capture, QuestionsOfOperatorsAreErrorsAtTheirArgument) {
  const auto f = [](const Tensors& x) -> Tensors { return {equal(x[0], x[1]) ? x[0] : x[1]}; };
  const std::string error = error_of([&] { capture(f, {ones({3}), ones({3})}); });
  EXPECT_EQ(error.find("capture: equal of %x0 at "), 0u) << error;
}

}  // namespace
}  // namespace cresset::graph
