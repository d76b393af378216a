// Which values of a joint program are kept, and the two graphs that it is split into.

#include "cresset/graph/passes/joint.h"

#include <gtest/gtest.h>

#include <random>

#include "cresset/autograd/autograd.h"
#include "cresset/graph/capture/capture.h"
#include "cresset/graph/runtime/program.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

// Whether backward can be computed from these values.
bool suffices(const std::vector<JointValue>& values, const std::vector<bool>& kept) {
  std::vector<bool> there(values.size());
  for (size_t v = 0; v < values.size(); v++) {
    bool inputs = true;
    for (const size_t i : values[v].inputs) inputs = inputs && there[i];
    there[v] = kept[v] || !values[v].forward || (values[v].recompute && !values[v].inputs.empty() && inputs);
    if (!values[v].forward && !inputs) return false;
    if (values[v].needed && !there[v]) return false;
  }
  return true;
}

TEST(ChooseKept, NoOtherChoiceTakesFewerBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    std::vector<JointValue> values;
    const size_t n = 4 + random() % 6;
    for (size_t v = 0; v < n; v++) {
      JointValue value;
      for (size_t i = 0; i < v; i++)
        if (random() % 3 == 0) value.inputs.push_back(i);
      value.forward = v < n - 3;
      if (value.forward)
        value.inputs.erase(std::remove_if(value.inputs.begin(), value.inputs.end(), [&](size_t i) { return !values[i].forward; }), value.inputs.end());
      value.bytes = 1 + static_cast<int64_t>(random() % 20);
      value.recompute = random() % 4 != 0;
      value.needed = value.forward && random() % 8 == 0;
      values.push_back(value);
    }
    const std::vector<size_t> chosen = choose_kept(values);
    std::vector<bool> kept(n);
    int64_t bytes = 0, fewest = INT64_MAX;
    for (const size_t v : chosen) {
      kept[v] = true;
      bytes += values[v].bytes;
    }
    EXPECT_TRUE(suffices(values, kept));
    for (uint32_t set = 0; set < (1U << (n - 3)); set++) {
      std::vector<bool> other(n);
      int64_t cost = 0;
      for (size_t v = 0; v + 3 < n; v++) {
        other[v] = (set >> v) & 1;
        cost += other[v] ? values[v].bytes : 0;
      }
      if (cost < fewest && suffices(values, other)) fewest = cost;
    }
    EXPECT_EQ(bytes, fewest) << "round " << round;
  }
}
TEST(ChooseKept, AmongEqualChoicesTheOneThatComputesLeastAgain) {
  // 0 -> 1 -> 2, all of one size; backward reads 2.
  std::vector<JointValue> values(4);
  for (size_t v = 0; v < 4; v++) values[v] = {v ? std::vector<size_t>{v - 1} : std::vector<size_t>{}, 8, v<3, false, v> 0, true};
  EXPECT_EQ(choose_kept(values), std::vector<size_t>({2}));
}
TEST(ChooseKept, AHundredThousandValuesInALine) {
  std::vector<JointValue> values(100000);
  for (size_t v = 0; v < values.size(); v++) values[v] = {v ? std::vector<size_t>{v - 1} : std::vector<size_t>{}, 8, v<50000, false, v> 0, true};
  EXPECT_EQ(choose_kept(values), std::vector<size_t>({49999}));
  EXPECT_EQ(error_of([] { choose_kept({JointValue{{3}}}); }), "choose_kept: value 0 is computed from value 3, which comes later");
}

const char* const kJoint = R"(graph @joint(%x: float32[100], %w: float32[100], %g: float32[]) {
  %a: float32[100] = sin(%x)
  %b: float32[100] = exp(%a)
  %c: float32[100] = mul.Tensor(%b, %w)
  %y: float32[] = sum(%c, none)
  %e: float32[100] = expand(%g, [100], false)
  %dw: float32[100] = mul.Tensor(%e, %b)
  %db: float32[100] = mul.Tensor(%e, %w)
  %da: float32[100] = mul.Tensor(%db, %b)
  %k: float32[100] = cos(%x)
  %dx: float32[100] = mul.Tensor(%da, %k)
  return %y, %dx, %dw
}
)";

TEST(SplitJoint, BothHalvesComputeWhatTheWholeDoes) {
  const auto joint = parse_graph(kJoint);
  const Tensor x = randn({100}), w = randn({100}), g = randn({});
  const auto whole = Program(*joint).run_tensors({x, w, g});
  size_t kept[2] = {};
  for (const bool recompute : {false, true}) {
    SplitOptions options;
    options.inputs = 2;
    options.results = 1;
    options.recompute = recompute;
    const Module m = split_joint(*joint, options);
    const auto first = Program(*m.find("forward")).run_tensors({x, w});
    EXPECT_TRUE(equal(first[0], whole[0]));
    kept[recompute] = first.size() - 1;
    std::vector<Tensor> rest(first.begin() + 1, first.end());
    rest.push_back(g);
    const auto second = Program(*m.find("backward")).run_tensors(rest);
    ASSERT_EQ(second.size(), 2u);
    EXPECT_TRUE(equal(second[0], whole[1]));
    EXPECT_TRUE(equal(second[1], whole[2]));
  }
  EXPECT_EQ(kept[0], 3u);  // x, w and b
  EXPECT_EQ(kept[1], 2u);  // x and w: b is cheap
}
TEST(SplitJoint, WhatWritesIsRefused) {
  const auto g = parse_graph("graph @f(%x: float32[2]) {\n  %y: float32[2] = relu_(%x)\n  return %y\n}\n");
  SplitOptions options;
  options.inputs = options.results = 1;
  EXPECT_EQ(error_of([&] { split_joint(*g, options); }), "split_joint: node %y = relu_ writes to its input 0; functionalize the graph first");
  options.results = 2;
  EXPECT_EQ(error_of([&] { split_joint(*g, options); }), "split_joint: expected at most 1 inputs and 1 results, got 1 and 2");
}

TEST(CaptureJoint, ForwardAndBackwardAreOneGraphThatSplits) {
  const Tensor w = randn({3, 4}).requires_grad_(), b = randn({3}).requires_grad_(), x = randn({5, 4});
  const auto f = [](const std::vector<Tensor>& a) -> std::vector<Tensor> { return {gelu(linear(a[0], a[1], a[2])).tanh().sum({1}), a[0].sum()}; };
  const JointGraph joint = capture_joint(f, {x, w, b});
  EXPECT_EQ(joint.inputs, 3u);
  EXPECT_EQ(joint.results, 2u);
  const Tensor g = randn({5}), y = randn({5, 4});
  const std::vector<Tensor> expected = f({y, w, b});
  const auto gradients = autograd::grad({expected[0]}, {w, b}, {g});
  SplitOptions options;
  options.inputs = joint.inputs;
  options.results = joint.results;
  for (const bool recompute : {false, true}) {
    options.recompute = recompute;
    const Module m = split_joint(*joint.graph, options);
    const auto first = Program(*m.find("forward")).run_tensors({y, w.detach(), b.detach()});
    EXPECT_TRUE(allclose(first[0], expected[0].detach()));
    std::vector<Tensor> rest(first.begin() + 2, first.end());
    rest.push_back(g);
    const auto second = Program(*m.find("backward")).run_tensors(rest);
    EXPECT_TRUE(allclose(second[0], gradients[0]));
    EXPECT_TRUE(allclose(second[1], gradients[1]));
  }
  EXPECT_EQ(error_of([&] { capture_joint(f, {x, x.t().matmul(x), x}); }).find("capture_joint: expected an example that requires a gradient"), 0u);
}

}  // namespace
}  // namespace cresset::graph
