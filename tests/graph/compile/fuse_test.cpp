// The pass that joins pointwise operators: which groups it makes, and that they give the bits of their operators.

#include "cresset/graph/codegen/fuse.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/graph/codegen/rows.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/runtime/program.h"

namespace cresset::graph {
namespace {

// Runs a graph as it is and fused; the names of the operators of each kernel.
std::vector<std::vector<std::string>> fused(const std::string& text, std::vector<Tensor> inputs) {
  const auto graph = parse_graph(text);
  propagate_shapes(*graph);
  const auto copies = [&] {
    std::vector<Tensor> own;
    for (const Tensor& t : inputs) own.push_back(t.clone());
    return own;
  };
  const auto expected = Program(*graph).run_tensors(copies());
  const Kernels kernels = fuse(*graph);
  const auto found = Program(*graph).run_tensors(copies());
  EXPECT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) EXPECT_TRUE(cresset::equal(found[i], expected[i])) << "result " << i << " of\n" << graph->text();
  std::vector<std::vector<std::string>> names;
  for (const auto& n : graph->block().nodes())
    if (const auto at = n->attributes().find("fused"); at != n->attributes().end()) names.push_back(std::get<std::vector<std::string>>(at->second.data()));
  EXPECT_EQ(names.size(), kernels.size());
  return names;
}
using Names = std::vector<std::vector<std::string>>;
Tensor waves(std::vector<int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return cresset::arange(count, TensorOptions(kFloat)).mul(0.37).sin().reshape(sizes);
}

TEST(Fuse, JoinsAChain) {
  EXPECT_EQ(
      fused("graph @f(%x: float32[32, 32]) { %a: Tensor = sin(%x) %b: Tensor = mul.Tensor(%a, %x) %c: Tensor = exp(%b) return %c, %a }", {waves({32, 32})}),
      (Names{{"sin", "mul.Tensor", "exp"}}));
}

TEST(Fuse, LeavesSmallTensorsAndSingleOperators) {
  EXPECT_TRUE(fused("graph @f(%x: float32[8]) { %a: Tensor = sin(%x) %b: Tensor = exp(%a) return %b }", {waves({8})}).empty());
  EXPECT_TRUE(fused("graph @f(%x: float32[1024]) { %a: Tensor = sin(%x) return %a }", {waves({1024})}).empty());
}

TEST(Fuse, JoinsThoseThatReadTheSame) {
  EXPECT_EQ(fused("graph @f(%x: float32[1024]) { %a: Tensor = sin(%x) %b: Tensor = exp(%x) return %a, %b }", {waves({1024})}), (Names{{"sin", "exp"}}));
}

TEST(Fuse, MakesNoCircle) {
  // The sum stands between the two: it needs the first and is needed by the last.
  const Names names = fused(
      "graph @f(%x: float32[16, 16, 4]) { %a: Tensor = sin(%x) %b: Tensor = exp(%a) %s: Tensor = sum(%b, none) %c: Tensor = mul.Tensor(%b, %s) "
      "%d: Tensor = neg(%c) return %d }",
      {waves({16, 16, 4})});
  EXPECT_EQ(names, (Names{{"sin", "exp"}, {"mul.Tensor", "neg"}}));
}

TEST(Fuse, TakesReductionsOfRowsBetween) {
  EXPECT_EQ(fused("graph @f(%x: float32[16, 128]) { %m: Tensor = mean.dim(%x, [-1], true, none) %c: Tensor = sub.Tensor(%x, %m, 1) %e: Tensor = exp(%c) "
                  "%s: Tensor = sum.dim_IntList(%e, [-1], true, none) %y: Tensor = div.Tensor(%e, %s) return %y }",
                  {waves({16, 128})}),
            (Names{{"mean.dim", "sub.Tensor", "exp", "sum.dim_IntList", "div.Tensor"}}));
}

TEST(Fuse, TakesSymbolsAsSizes) {
  EXPECT_EQ(fused("graph @f(%x: float32[s0, 64], %b: float32[64]) { dim s0 in [1, 100] %a: Tensor = add.Tensor(%x, %b, 1) %y: Tensor = relu(%a) return %y }",
                  {waves({7, 64}), waves({64})}),
            (Names{{"add.Tensor", "relu"}}));
}

TEST(Fuse, ReachesAcrossNoWrite) {
  // %a reads what is written afterwards, %b what has been written.
  const Names names =
      fused("graph @f(%x: float32[1024]) { %a: Tensor = sin(%x) %w: Tensor = mul_.Scalar(%x, 2) %b: Tensor = cos(%x) return %a, %b }", {waves({1024})});
  EXPECT_TRUE(names.empty());
}

TEST(Fuse, LeavesRandomNumbersInTheirOrder) {
  const auto graph = parse_graph(
      "graph @f(%x: float32[1024]) { %r: Tensor = rand_like(%x, none, none, none, none, none) %a: Tensor = sin(%r) %q: Tensor = rand_like(%x, none, none, "
      "none, none, none) "
      "%b: Tensor = mul.Tensor(%q, %a) return %b }");
  propagate_shapes(*graph);
  const Tensor x = waves({1024});
  cresset::manual_seed(3);
  const Tensor expected = Program(*graph).run_tensors({x})[0];
  const Kernels kernels = fuse(*graph);
  EXPECT_EQ(kernels.size(), 1U);
  cresset::manual_seed(3);
  EXPECT_TRUE(cresset::equal(Program(*graph).run_tensors({x})[0], expected));
}

// The gradient of a mean of rows: one kernel.
TEST(Fuse, LooksThroughRepeatedColumns) {
  EXPECT_EQ(
      fused("graph @f(%x: float32[16, 128], %g: float32[16, 128]) { %p: Tensor = mul.Tensor(%x, %g) %s: Tensor = sum.dim_IntList(%p, [-1], true, none) "
            "%e: Tensor = expand(%s, [16, 128], false) %d: Tensor = alias(%e) %m: Tensor = div.Scalar(%d, 128) %y: Tensor = sub.Tensor(%g, %m, 1) return %y }",
            {waves({16, 128}), waves({16, 128}).cos()}),
      (Names{{"mul.Tensor", "sum.dim_IntList", "div.Scalar", "sub.Tensor"}}));
}

TEST(Fuse, GivesRepeatedColumnsToOthers) {
  EXPECT_EQ(
      fused(
          "graph @f(%x: float32[16, 128]) { %p: Tensor = sin(%x) %s: Tensor = sum.dim_IntList(%p, [-1], true, none) %e: Tensor = expand(%s, [16, 128], false) "
          "%y: Tensor = mul.Tensor(%p, %e) return %y, %e }",
          {waves({16, 128})}),
      (Names{{"sin", "sum.dim_IntList", "mul.Tensor"}}));
}

TEST(Fuse, NeedsAnArgumentOfTheWholeShape) {
  EXPECT_TRUE(
      fused("graph @f(%s: float32[16, 1]) { %e: Tensor = expand(%s, [16, 128], false) %a: Tensor = sin(%e) %b: Tensor = exp(%a) return %b }", {waves({16, 1})})
          .empty());
}

TEST(Fuse, KeepsConversionsAndOtherDtypesOut) {
  EXPECT_TRUE(fused("graph @f(%x: int64[1024]) { %a: Tensor = sin(%x) %b: Tensor = add.Tensor(%a, %x, 1) return %b }", {cresset::arange(1024)}).empty());
}

}  // namespace
}  // namespace cresset::graph
