// Graphs from C++ functions.

#include "cresset/graph/capture/capture.h"

#include <gtest/gtest.h>

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
  const auto f = [](const Tensors& x) -> Tensors { return {x[0].sum().item().toDouble() > 0 ? x[0] : -x[0]}; };
  const std::string error = error_of([&] { capture(f, {randn({3})}); });
  EXPECT_EQ(error.find("capture: after %sum = sum: item: a graph that is being captured would keep the example's number"), 0u) << error;
  EXPECT_TRUE(contains(error, "where() chooses between two"));
  // The layer is off again.
  EXPECT_EQ(ones({2}).sum().item().toDouble(), 2.0);
}

}  // namespace
}  // namespace cresset::graph
