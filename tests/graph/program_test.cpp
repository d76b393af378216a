// Programs: graphs that run as the same calls would.

#include "cresset/graph/runtime/program.h"

#include <gtest/gtest.h>

#include <thread>

#include "cresset/autograd/autograd.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

std::vector<Datum> run(const char* text, std::vector<Datum> inputs, const ProgramOptions& options = {}) {
  return Program(parse_module(text), options).run(std::move(inputs));
}
bool same(const Tensor& a, const Tensor& b) { return a.scalar_type() == b.scalar_type() && equal(a, b); }

TEST(Program, ComputesAsEagerModeDoes) {
  const Tensor x = randn({4, 8}), w = randn({3, 8}), b = randn({3});
  const auto out = run(R"(graph @f(%x: Tensor, %w: Tensor, %b: Tensor) {
  %y: Tensor = linear(%x, %w, %b)
  %r: Tensor = relu(%y)
  %s: Tensor = add.Scalar(%r, 1.5, 2)
  %v: Tensor, %i: Tensor = max.dim(%s, 1, true)
  %m: Tensor = mean.dim(%s, [0], false, none)
  %z: Tensor = mul.Tensor(%m, %v)
  return %z, %i
})",
                       {x, w, b});
  const Tensor s = linear(x, w, b).relu().add(Scalar(1.5), Scalar(2));
  const auto [v, i] = s.max(1, true);
  EXPECT_TRUE(same(out[0].to_tensor(), s.mean({0}) * v));
  EXPECT_TRUE(same(out[1].to_tensor(), i));
}

TEST(Program, ListsSplitAndJoin) {
  const Tensor x = randn({6, 2});
  const auto out = run(R"(graph @f(%x: Tensor, %n: int) {
  %parts: List[Tensor] = split.Tensor(%x, %n, 0)
  %a: Tensor, %b: Tensor, %c: Tensor = ir::unpack(%parts)
  %list: List[Tensor] = ir::list(%c, %a, %c)
  %j: Tensor = cat(%list, 0)
  %rows: int = ir::size(%j, 0)
  %twice: int = ir::mul(%rows, 2)
  %shape: List[int] = ir::list(%twice, 1)
  %v: Tensor = view(%j, %shape)
  return %v
})",
                       {x, int64_t{2}});
  const Tensor a = x.narrow(0, 0, 2), c = x.narrow(0, 4, 2);
  EXPECT_TRUE(same(out[0].to_tensor(), cat({c, a, c}, 0).view({12, 1})));
}

TEST(Program, OperatorsOfAnySignatureRunBoxed) {
  const Tensor x = randn({5});
  const Program p(*parse_graph("graph @f(%x: Tensor) { %h: Tensor = histc(%x, 4, -2, 2) %n: Tensor = relu(%h) return %n }"));
  EXPECT_EQ(p.num_typed(), 1u);
  EXPECT_TRUE(same(p.run({x})[0].to_tensor(), histc(x, 4, -2, 2)));
}

// A number where a tensor's register was expected to hold a list, and the like: the boxed call converts.
TEST(Program, ArgumentsOfOtherTypesAreConverted) {
  const Tensor x = randn({5});
  const auto out = run("graph @f(%x: Tensor, %n: number, %dims: Any) { %y: Tensor = mul.Scalar(%x, %n) %s: Tensor = amax(%y, %dims, false) return %s }",
                       {x, int64_t{3}, int64_t{0}});
  EXPECT_TRUE(same(out[0].to_tensor(), (x * 3).amax({0})));
}

TEST(Program, BranchesRunOneWay) {
  constexpr const char* kText = R"(graph @f(%c: bool, %x: Tensor) {
  %d: Tensor = mul.Scalar(%x, 2)
  %r: Tensor = ir::if(%c) {
    %y: Tensor = add.Tensor(%d, %x, 1)
    return %y
  } {
    return %d
  }
  return %r
})";
  const Tensor x = randn({3});
  EXPECT_TRUE(same(run(kText, {true, x})[0].to_tensor(), x * 2 + x));
  EXPECT_TRUE(same(run(kText, {false, x})[0].to_tensor(), x * 2));
  EXPECT_TRUE(same(run(kText, {ones({1}), x})[0].to_tensor(), x * 2 + x));
}

TEST(Program, LoopsCarryValues) {
  // Fibonacci: carried values trade places.
  constexpr const char* kText = R"(graph @f(%n: int) {
  %a: int, %b: int = ir::loop(%n, true, 0, 1) (%i: int, %x: int, %y: int) {
    %s: number = ir::add(%x, %y)
    return true, %y, %s
  }
  return %a
})";
  EXPECT_EQ(run(kText, {int64_t{10}})[0].to_int(), 55);
  EXPECT_EQ(run(kText, {int64_t{0}})[0].to_int(), 0);
  constexpr const char* kWhile = R"(graph @f(%x: Tensor, %limit: int) {
  %t: Tensor = ir::loop(9223372036854775807, true, %x) (%i: int, %v: Tensor) {
    %d: Tensor = add.Tensor(%v, %x, 1)
    %go: bool = ir::lt(%i, %limit)
    return %go, %d
  }
  return %t
})";
  const Tensor x = ones({2});
  EXPECT_TRUE(same(run(kWhile, {x, int64_t{3}})[0].to_tensor(), x * 5));
  ProgramOptions few;
  few.limits.max_trips = 10;
  EXPECT_EQ(error_of([&] { run(kWhile, {x, int64_t{100}}, few); }), "graph f, node %t = ir::loop: ir::loop: expected at most 10 trips of all loops");
}

TEST(Program, LoopsWithinLoopsAndBranches) {
  constexpr const char* kText = R"(graph @f(%n: int) {
  %sum: number = ir::loop(%n, true, 0) (%i: int, %s: number) {
    %inner: number = ir::loop(%i, true, %s) (%k: int, %t: number) {
      %rest: number = ir::mod(%k, 2)
      %odd: bool = ir::eq(%rest, 1)
      %r: number = ir::if(%odd) {
        %m: number = ir::sub(%t, %k)
        return %m
      } {
        %p: number = ir::add(%t, %k)
        return %p
      }
      return true, %r
    }
    return true, %inner
  }
  return %sum
})";
  int64_t sum = 0;
  for (int64_t i = 0; i < 7; i++)
    for (int64_t k = 0; k < i; k++) sum += k % 2 ? -k : k;
  EXPECT_EQ(run(kText, {int64_t{7}})[0].to_int(), sum);
}

TEST(Program, GraphsCallEachOther) {
  constexpr const char* kText = R"(graph @f(%n: int) {
  %stop: bool = ir::le(%n, 1)
  %r: number = ir::if(%stop) {
    return 1
  } {
    %less: number = ir::sub(%n, 1)
    %below: number = ir::call @f(%less)
    %m: number = ir::mul(%n, %below)
    return %m
  }
  return %r
})";
  EXPECT_EQ(run(kText, {int64_t{10}})[0].to_int(), 3628800);
  ProgramOptions shallow;
  shallow.limits.max_calls = 5;
  EXPECT_NE(error_of([&] { run(kText, {int64_t{10}}, shallow); }).find("expected at most 5 calls within calls"), std::string::npos);
}

TEST(Program, GradientsAreRecorded) {
  const Tensor x = randn({3}).set_requires_grad(true);
  const Tensor y = run("graph @f(%x: Tensor) { %a: Tensor = mul.Tensor(%x, %x) %s: Tensor = sum(%a, none) return %s }", {x})[0].to_tensor();
  y.backward();
  EXPECT_TRUE(same(x.grad(), x.detach() * 2));
}

TEST(Program, OperatorsThatWriteDo) {
  const Tensor x = ones({3});
  const auto out = run("graph @f(%x: Tensor) { %y: Tensor = add_.Scalar(%x, 2, 1) %z: Tensor = mul.Tensor(%x, %y) return %z }", {x});
  EXPECT_TRUE(same(x, full({3}, 3.0)));
  EXPECT_TRUE(same(out[0].to_tensor(), full({3}, 9.0)));
}

TEST(Program, ErrorsNameTheNodeAndTheLine) {
  const Tensor x = randn({3}), y = randn({4});
  const std::string error = error_of([&] {
    run("graph @f(%x: Tensor, %y: Tensor) { %z: Tensor = add.Tensor(%x, %y, 1) at \"model.py\":12:3 in \"forward\" return %z }", {x, y});
  });
  EXPECT_EQ(error.find("graph f, node %z = add.Tensor (model.py:12, in forward): "), 0u) << error;
  EXPECT_EQ(error_of([&] { run("graph @f(%x: Tensor) { return %x }", {}); }), "graph f: expected 1 inputs, got 0");
  ParseOptions foreign;
  foreign.allow_foreign = true;
  const auto g = parse_graph("graph @f(%x: Tensor) { tensor @w: float32[2] %a: Tensor = no::such(%x) %b: Tensor = add.Tensor(%a, @w, 1) return %b }", foreign);
  EXPECT_EQ(error_of([&] { Program p(*g); }), "graph f cannot run: node %a = no::such: no such operator; the tensor @w is not bound");
}

TEST(Program, RegistersAreUsedAgainAndLetGo) {
  std::string text = "graph @f(%x: Tensor) {\n  %v0: Tensor = relu(%x)\n";
  for (int i = 1; i < 50; i++) text += "  %v" + std::to_string(i) + ": Tensor = relu(%v" + std::to_string(i - 1) + ")\n";
  const Program p(*parse_graph(text + "  return %v49\n}"));
  EXPECT_LE(p.num_registers(), 4u);
  Tensor x = ones({2});
  const auto out = p.run({x});
  EXPECT_EQ(x.use_count(), 1u);  // nothing of it is left in the registers
  EXPECT_EQ(out[0].to_tensor().use_count(), 1u);
}

TEST(Program, AProgramIsUsableAfterAnError) {
  const Program p(*parse_graph("graph @f(%x: Tensor, %y: Tensor) { %a: Tensor = relu(%x) %z: Tensor = add.Tensor(%a, %y, 1) return %z }"));
  const Tensor x = ones({3}), y = ones({4});
  EXPECT_NE(error_of([&] { p.run({x, y}); }), "no error");
  EXPECT_TRUE(same(p.run({x, x})[0].to_tensor(), full({3}, 2.0)));
  EXPECT_EQ(y.use_count(), 1u);
}

TEST(Program, ThreadsShareAProgram) {
  const Program p(
      *parse_graph("graph @f(%x: Tensor) { %a: Tensor = add.Scalar(%x, 1, 1) %l: List[Tensor] = ir::list(%a, %x) %b: Tensor = cat(%l, 0) %s: Tensor = sum(%b, "
                   "none) return %s }"));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; i++) wrong[static_cast<size_t>(t)] += p.run({full({4}, t * 1.0)})[0].to_tensor().item().toDouble() != t * 8 + 4;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace cresset::graph
