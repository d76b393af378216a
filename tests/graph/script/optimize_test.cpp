// Graphs before they run: each pass changes them, and they compute the same.

#include <gtest/gtest.h>

#include "cresset/autograd/grad_mode.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/script/module.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/unit.h"
#include "cresset/kernels/providers/onednn.h"
#include "cresset/ops/conv/packed.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

size_t count(const Graph& g, const std::string& op) {
  size_t n = 0;
  g.for_each([&](Node& node) { n += node.op_name() == op; });
  return n;
}

struct Compiled {
  std::shared_ptr<CompilationUnit> unit = std::make_shared<CompilationUnit>();
  std::unique_ptr<Graph> graph;
  explicit Compiled(const std::string& text) {
    unit->define_text(text, nullptr);
    graph = unit->find("f")->inlined().clone();
  }
  Datum run(std::vector<Datum> arguments) const {
    ProgramOptions options;
    options.script = true;
    options.plan_memory = false;
    return Program(*graph, options).run(std::move(arguments))[0];
  }
};

TEST(Optimize, LoopsOfKnownTripsAreUnrolled) {
  const Compiled c("def f(x):\n  for i in range(3):\n    for k in range(2):\n      x = x * 2 + (i + k)\n  return x\n");
  const Tensor x = randn({3});
  const Tensor before = c.run({Datum(x)}).to_tensor();
  EXPECT_EQ(count(*c.graph, "ir::loop"), 2u);
  EXPECT_EQ(unroll_loops(*c.graph), 2u);
  EXPECT_EQ(count(*c.graph, "ir::loop"), 0u);
  EXPECT_EQ(count(*c.graph, "mul.Tensor") + count(*c.graph, "mul.Scalar"), 6u);
  EXPECT_TRUE(equal(c.run({Datum(x)}).to_tensor(), before));
}

TEST(Optimize, LoopsOfUnknownTripsAreUnrolledInPart) {
  const std::string text =
      "def f(n: int, k: int) -> Tuple[int, int]:\n  s, t = 0, 1\n  for i in range(n):\n    if t % 3 == 0:\n      s += t * k\n    else:\n      s = s - t\n"
      "    t += 1\n  return s, t\n";
  const Compiled before(text), after(text);
  EXPECT_EQ(count(*after.graph, "ir::loop"), 1u);
  EXPECT_EQ(unroll_loops_in_part(*after.graph), 1u);
  after.graph->verify();
  EXPECT_EQ(count(*after.graph, "ir::loop"), 2u);
  EXPECT_EQ(count(*after.graph, "aten::remainder.int"), 5 * count(*before.graph, "aten::remainder.int"));
  for (const int64_t n : {-5, -1, 0, 1, 3, 4, 5, 7, 8, 9, 31, 100}) {
    const auto results = [&](const Compiled& c) {
      const Datum tuple = c.run({Datum(n), Datum(int64_t{2})});
      return std::pair(tuple.toTupleRef().elements()[0].toInt(), tuple.toTupleRef().elements()[1].toInt());
    };
    EXPECT_EQ(results(after), results(before)) << n;
  }
}

TEST(Optimize, LoopsThatMayEndEarlyOrCountAndLongBodiesAreNotUnrolledInPart) {
  const Compiled leaves("def f(n: int) -> int:\n  s = 0\n  for i in range(n):\n    if s > 10:\n      break\n    s += 2\n  return s\n");
  EXPECT_EQ(unroll_loops_in_part(*leaves.graph), 0u);
  const Compiled counts("def f(n: int) -> int:\n  s = 0\n  for i in range(n):\n    s += i\n  return s\n");
  EXPECT_EQ(unroll_loops_in_part(*counts.graph), 0u);
  const Compiled nested("def f(n: int) -> int:\n  s = 0\n  for i in range(n):\n    for k in range(i):\n      s += 3\n  return s\n");
  PartialUnrollOptions options;
  options.max_nodes = 1;
  EXPECT_EQ(unroll_loops_in_part(*nested.graph, options), 0u);
  EXPECT_EQ(unroll_loops_in_part(*nested.graph), 1u);  // the inner one
  EXPECT_EQ(nested.run({Datum(int64_t{6})}).toInt(), 45);
}

TEST(Optimize, LimitsCountTheTripsOfTheText) {
  auto unit = std::make_shared<CompilationUnit>();
  unit->define_text("def f(n: int) -> int:\n  s = 0\n  for i in range(n):\n    s += 3\n  return s\n", nullptr);
  Function& f = *unit->find("f");
  EXPECT_EQ(f.run({Datum(int64_t{100})}).toInt(), 300);
  RunLimits limits;
  limits.max_trips = 50;
  const LimitScope scope(limits);
  EXPECT_EQ(f.run({Datum(int64_t{50})}).toInt(), 150);
  EXPECT_THROW(f.run({Datum(int64_t{52})}), Error);
}

TEST(Optimize, LongLoopsAndThoseThatMayEndEarlyStay) {
  const Compiled many("def f(x):\n  for i in range(1000):\n    x = x + 1\n  return x\n");
  EXPECT_EQ(unroll_loops(*many.graph), 0u);
  const Compiled leaves("def f(x):\n  for i in range(3):\n    if bool(x.sum() > 4):\n      break\n    x = x + 1\n  return x\n");
  EXPECT_EQ(unroll_loops(*leaves.graph), 0u);
  const Compiled none("def f(x):\n  for i in range(0):\n    x = x + 1\n  return x\n");
  EXPECT_EQ(unroll_loops(*none.graph), 1u);
  EXPECT_EQ(none.run({Datum(ones({1}))}).to_tensor().item().to<double>(), 1);
}

TEST(Optimize, TuplesOfInlinedCallsAreNotMade) {
  const Compiled c("def pair(x):\n  return x + 1, x * 2\ndef f(x):\n  a, b = pair(x)\n  return a - b\n");
  const Tensor x = randn({3});
  const Tensor before = c.run({Datum(x)}).to_tensor();
  EXPECT_EQ(count(*c.graph, "ir::tuple"), 1u);
  EXPECT_GT(optimize(*c.graph), 0u);
  EXPECT_EQ(count(*c.graph, "ir::tuple"), 0u);
  EXPECT_TRUE(equal(c.run({Datum(x)}).to_tensor(), before));
}

TEST(Optimize, ElementsOfListsThatNothingWritesAreKnown) {
  const Compiled c("def f(x):\n  xs = [x, x + 1]\n  return xs[1] + len(xs)\n");
  const double before = c.run({Datum(ones({1}))}).to_tensor().item().to<double>();
  EXPECT_GT(optimize(*c.graph), 0u);
  EXPECT_EQ(count(*c.graph, "ir::list"), 0u);
  EXPECT_EQ(c.run({Datum(ones({1}))}).to_tensor().item().to<double>(), before);
  const Compiled written("def f(x):\n  xs = [x, x + 1]\n  xs.append(x)\n  xs[1] = x * 5\n  return xs[1] + len(xs)\n");
  optimize(*written.graph);
  EXPECT_EQ(count(*written.graph, "ir::list"), 1u);
  EXPECT_EQ(written.run({Datum(ones({1}))}).to_tensor().item().to<double>(), 8);
}

TEST(Optimize, GraphsHoldWhatTheyCallInTheModeThatInlines) {
  const std::string text = "def g(x):\n  return x + 1\ndef f(x):\n  return g(x) * 2\n";
  const auto calls = [&] {
    size_t n = 0;
    Compiled(text).unit->find("f")->graph->for_each([&](Node& node) { n += node.kind() == NodeKind::Call; });
    return n;
  };
  EXPECT_EQ(calls(), 1u);
  getInlineEverythingMode() = true;
  EXPECT_EQ(calls(), 0u);
  getInlineEverythingMode() = false;
}

TEST(Optimize, NumbersThatChangeNothingGo) {
  const Compiled c("def f(n: int, x: float) -> float:\n  return (n + 0) * 1 * x * 1.0\n");
  EXPECT_GE(peephole(*c.graph), 3u);
  EXPECT_EQ(c.run({Datum(3), Datum(0.5)}).to_double(), 1.5);
}

TEST(Optimize, EqualComputationsAreMadeOnce) {
  const Compiled c("def f(x):\n  a = torch.sin(x) + 1\n  b = torch.sin(x) + 1\n  return a * b\n");
  const Tensor x = randn({3});
  const Tensor before = c.run({Datum(x)}).to_tensor();
  optimize(*c.graph);
  EXPECT_EQ(count(*c.graph, "sin"), 1u);
  EXPECT_TRUE(equal(c.run({Datum(x)}).to_tensor(), before));
}

TEST(Optimize, ObjectsThatAreToldApartStayTwo) {
  const Compiled c("def f():\n  return [1, 1] is [1, 1], [1] is not [1]\n");
  optimize(*c.graph);
  const Datum result = c.run({});
  EXPECT_FALSE(result.toTupleRef().elements()[0].toBool());
  EXPECT_TRUE(result.toTupleRef().elements()[1].toBool());
}

TEST(Optimize, WritesKeepEqualComputationsApart) {
  const auto result = [](const std::string& text, const Tensor& x) {
    const Compiled c(text);
    const Tensor plain = c.run({Datum(x.clone())}).to_tensor();
    optimize(*c.graph);
    EXPECT_TRUE(equal(c.run({Datum(x.clone())}).to_tensor(), plain)) << text;
    return count(*c.graph, "sin");
  };
  const Tensor x = randn({3});
  // The input is written between, through a view.
  EXPECT_EQ(result("def f(x):\n  a = torch.sin(x)\n  v = x[0]\n  v.add_(1)\n  b = torch.sin(x)\n  return a + b\n", x), 2u);
  // One result is written.
  EXPECT_EQ(result("def f(x):\n  a = torch.sin(x)\n  b = torch.sin(x)\n  a.add_(1)\n  return a + b\n", x), 2u);
  // Tensors that lists give back are those that were put there.
  EXPECT_EQ(result("def f(x):\n  xs: List[Tensor] = []\n  xs.append(x)\n  a = torch.sin(x)\n  xs[0].add_(1)\n  b = torch.sin(x)\n  return a + b\n", x), 2u);
  // The mode of gradients changes between.
  const std::string modes = "def f(x):\n  with torch.no_grad():\n    a = torch.sin(x)\n  b = torch.sin(x)\n  return a + b\n";
  EXPECT_EQ(result(modes, x), 2u);
  const Compiled c(modes);
  optimize(*c.graph);
  EXPECT_TRUE(c.run({Datum(x.clone().requires_grad_(true))}).to_tensor().requires_grad());
}

TEST(Optimize, LengthsOfListsThatGrowAreReadAgain) {
  const Compiled c("def f(xs: List[int]) -> int:\n  a = len(xs)\n  xs.append(1)\n  return a * 100 + len(xs)\n");
  optimize(*c.graph);
  EXPECT_EQ(c.run({Datum(List<int64_t>({1, 2}))}).to_int(), 203);
}

TEST(Optimize, ListsThatAreGivenOutStayTwo) {
  const Compiled c("def f() -> Tuple[List[int], List[int]]:\n  a: List[int] = [1]\n  b: List[int] = [1]\n  return a, b\n");
  optimize(*c.graph);
  const Datum out = c.run({});
  EXPECT_FALSE(out.toTupleRef().elements()[0].is(out.toTupleRef().elements()[1]));
}

TEST(Optimize, ResultsThatNothingUsesAreNotComputed) {
  const Compiled c("def f(x):\n  a = torch.sin(x)\n  xs = [a, a]\n  ys: List[int] = []\n  ys.append(1)\n  n = x.size(0)\n  return x\n");
  optimize(*c.graph);
  EXPECT_EQ(count(*c.graph, "sin"), 0u);
  EXPECT_EQ(count(*c.graph, "aten::size.int"), 0u);
  EXPECT_EQ(count(*c.graph, "aten::append.t"), 1u);  // a write stays
  EXPECT_EQ(c.run({Datum(ones({1}))}).to_tensor().item().to<double>(), 1);
}

TEST(Optimize, ConstantsAreFoldedAndBranchesDecided) {
  const Compiled c("def f(x):\n  n = 3 * 4\n  if n > 10 and 'ab' + 'c' == 'abc':\n    return x + n\n  return x\n");
  EXPECT_GT(optimize(*c.graph), 0u);
  EXPECT_EQ(count(*c.graph, "ir::if"), 0u);
  EXPECT_EQ(c.run({Datum(ones({1}))}).to_tensor().item().to<double>(), 13);
}

TEST(Optimize, ShapesPropagateThroughFunctions) {
  const Compiled c("def f(x, w):\n  y = torch.relu(torch.mm(x, w))\n  return y.t()\n");
  c.graph->block().parameter(0)->set_type(parse_type("float32[s0, 4]"));
  c.graph->block().parameter(1)->set_type(parse_type("float32[4, 3]"));
  EXPECT_GT(propagate_shapes(*c.graph), 0u);
  EXPECT_EQ(c.graph->block().results()[0]->type(), parse_type("float32[3, s0]{strides=[1, 3]}"));
}

TEST(Optimize, ListsOfNumbersThatOperatorsReadAreConstants) {
  const Compiled c("def f(x):\n  return torch.flip(x, [0, 1]).sum([0]) + len([1, 2])\n");
  const Tensor x = randn({2, 3});
  const Tensor before = c.run({Datum(x)}).to_tensor();
  EXPECT_EQ(count(*c.graph, "ir::list"), 3u);
  optimize(*c.graph);
  EXPECT_EQ(count(*c.graph, "ir::list"), 0u);
  EXPECT_TRUE(equal(c.run({Datum(x)}).to_tensor(), before));
  // One that the program may change is made anew each time.
  const Compiled kept("def f(x):\n  xs = [0, 1]\n  y = x.sum(xs)\n  xs.append(2)\n  return y, xs\n");
  optimize(*kept.graph);
  EXPECT_EQ(count(*kept.graph, "ir::list"), 1u);
}

// A frozen module with what `body` computes from x, the weight w and the bias b.
Module frozen(const std::string& body, const Tensor& w, const Tensor& b) {
  Module m("Net");
  m.register_parameter("w", w, false);
  m.register_parameter("b", b, false);
  m.register_attribute("training", TypeKind::Bool, Datum(false));
  m.define("def forward(self, x):\n  return " + body + "\n");
  return freeze(m);
}

TEST(Optimize, PackedWeightsGiveTheSame) {
  const NoGradGuard no_gradients;
  const Tensor image = randn({2, 32, 20, 20}), rows = randn({3, 25, 64});
  const Tensor kernels = randn({48, 32, 3, 3}), matrix = randn({80, 64}), shift = randn({48}), shift_of_rows = randn({80});
  struct Case {
    std::string body;
    Tensor weight, bias, input;
  };
  for (const Case& c :
       {Case{"torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)", kernels, shift, image},
        Case{"torch.conv2d(x, self.w, None, [1], [0])", kernels, shift, image}, Case{"torch.conv2d(x, self.w, self.b, [2, 2], [1, 1])", kernels, shift, image},
        Case{"torch._C._nn.linear(x, self.w, self.b)", matrix, shift_of_rows, rows}, Case{"torch._C._nn.linear(x, self.w)", matrix, shift_of_rows, rows}}) {
    Module plain = frozen(c.body, c.weight, c.bias), packed = frozen(c.body, c.weight, c.bias);
    EXPECT_EQ(pack_weights(packed._ivalue()), 1u) << c.body;
    for (int run = 0; run < 2; run++)
      EXPECT_TRUE(allclose(packed.forward({Datum(c.input)}).to_tensor(), plain.forward({Datum(c.input)}).to_tensor(), 1e-4, 1e-4)) << c.body;
    // Other inputs take other paths: few rows, channels last, another dtype's error.
    const Tensor few = c.input.slice(-2, 0, 4);
    EXPECT_TRUE(allclose(packed.forward({Datum(few)}).to_tensor(), plain.forward({Datum(few)}).to_tensor(), 1e-4, 1e-4)) << c.body;
    EXPECT_THROW(packed.forward({Datum(c.input.to(kDouble))}), Error);
    // With gradients the operator itself runs.
    const AutoGradMode gradients(true);
    EXPECT_TRUE(packed.forward({Datum(c.input.clone().requires_grad_(true))}).to_tensor().requires_grad());
  }
}

TEST(Optimize, WeightsArePackedOnceAndOnlyWhereKernelsReadThem) {
  const ops::PackedConv conv(randn({32, 16, 3, 3}), std::nullopt, {1, 1}, {1, 1}, {1, 1}, 1);
  const ops::PackedConv many(randn({64, 16, 3, 3}), std::nullopt, {1, 1}, {1, 1}, {1, 1}, 1);
  EXPECT_FALSE(many(randn({1, 16, 4, 4})).defined());  // few pixels: the weight is read as it is
  EXPECT_FALSE(many.is_packed());
  EXPECT_TRUE(conv(randn({1, 16, 20, 20})).defined());
  EXPECT_TRUE(conv.is_packed());
  EXPECT_FALSE(conv(randn({1, 16, 20, 20}).to(kDouble)).defined());
  // The order of some depends on the sizes of the input: that for the first ones is kept.
  const ops::PackedConv strided(randn({32, 16, 3, 3}), std::nullopt, {2, 2}, {1, 1}, {1, 1}, 1);
  const bool has_order = strided(randn({1, 16, 20, 20})).defined();
  EXPECT_EQ(has_order, kernels::onednn() != nullptr);
  EXPECT_FALSE(strided(randn({1, 16, 24, 20})).defined());
  EXPECT_EQ(strided(randn({1, 16, 20, 20})).defined(), has_order);
  const ops::PackedLinear linear(randn({70, 64}), std::nullopt);
  EXPECT_FALSE(linear(randn({1, 64})).defined());
  EXPECT_TRUE(linear(randn({200, 64})).defined());
}

// Programs whose numbers take the place of those before them, in branches and loops.
TEST(Optimize, NumbersInLoopsAreWhatPythonComputes) {
  const auto run = [](const std::string& text, std::vector<Datum> arguments) {
    const Compiled c(text);
    return c.unit->find("f")->run(std::move(arguments)).to_int();
  };
  EXPECT_EQ(run("def f(n: int, unused: List[int]) -> int:\n  if n > 3:\n    return 1\n  return 2\n", {Datum(4), Datum(List<int64_t>())}), 1);
  EXPECT_EQ(run("def f(n: int) -> int:\n  a, b = 0, 1\n  for i in range(n):\n    a, b = b, a + b\n  return a\n", {Datum(10)}), 55);
  EXPECT_EQ(run("def f(n: int) -> int:\n  s = 0\n  for i in range(n):\n    if i % 3 == 0:\n      s += i\n    else:\n      s -= 1\n  return s\n", {Datum(10)}),
            12);
  EXPECT_EQ(run("def f(n: int) -> int:\n  s = 0\n  for i in range(n):\n    if i % 2 == 0:\n      s += i\n  return s\n", {Datum(10)}), 20);
  // The old value is read behind the new one, within a branch, and behind it.
  EXPECT_EQ(run("def f(n: int) -> int:\n  a, b = 1, 2\n  for i in range(n):\n    if i % 2 == 0:\n      c = a + 1\n      b = b + a\n      a = c\n    else:\n    "
                "  a, b = b, "
                "a\n  return a * 1000 + b\n",
                {Datum(5)}),
            6009);
  EXPECT_EQ(run("def f(n: int) -> int:\n  a, t = 1, 0\n  for i in range(n):\n    old = a\n    a = a * 2\n    t += old * 10 + a\n  return t\n", {Datum(3)}),
            12 + 24 + 48);
  EXPECT_EQ(run("def f(n: int) -> int:\n  s = 0\n  i = 0\n  while i < n:\n    k = 0\n    while k < i:\n      s += k\n      k += 1\n      if s > 20:\n        "
                "break\n    i += 1\n  "
                "return s * 100 + i\n",
                {Datum(6)}),
            2006);
  EXPECT_EQ(run("def f(n: int) -> int:\n  s = -7\n  for i in range(n):\n    s = (s // 3) % 5 + s % -4\n  return s\n", {Datum(1)}), 2 + -3);
  EXPECT_EQ(run("def f(n: int) -> int:\n  big = 1 << 40\n  return (big // 3) % 7 + (-big) // 3 % 7 + big % n\n", {Datum(1000003)}), 329258);
}

}  // namespace
}  // namespace cresset::graph::script
