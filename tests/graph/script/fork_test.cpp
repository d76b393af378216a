// Calls that run beside each other, and limits of what a run may do.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cresset/autograd/grad_mode.h"
#include "cresset/base/util/interop.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/unit.h"
#include "cresset/ops/functions.h"
#include "cresset/profile/recorder.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

struct Compiled {
  std::shared_ptr<CompilationUnit> unit = std::make_shared<CompilationUnit>();
  explicit Compiled(const std::string& text) { unit->define_text(text, nullptr); }
  Datum operator()(const char* name, std::vector<Datum> arguments) const { return unit->find(name)->run(std::move(arguments)); }
  // A function of C++ that texts compiled afterwards can call.
  void native(const std::string& name, std::function<Datum(std::vector<Datum>&)> body) {
    Schema s;
    SchemaArgument x;
    x.name = "x";
    x.type = TypeKind::Tensor;
    s.arguments.push_back(std::move(x));
    s.returns = {TypeKind::Tensor};
    unit->create_function(name, std::move(s))->native = std::move(body);
  }
};

// Functions of a unit, by name.
class Known final : public Resolver {
 public:
  explicit Known(CompilationUnit& unit) : unit_(unit) {}
  SugarPtr value(const std::string& name, const Range&) override {
    Function* f = unit_.find(name);
    return f && f->native ? sugar(f) : nullptr;
  }
  std::optional<Type> type(const std::string&, const Range&) override { return std::nullopt; }

 private:
  CompilationUnit& unit_;
};

TEST(Fork, CallsRunBesideTheOneThatForks) {
  if (get_num_interop_threads() < 2) GTEST_SKIP() << "one thread alone runs tasks here";
  Compiled c("");
  std::atomic<int> arrived{0};
  std::atomic<bool> together{false};
  // Each waits until the other has come, which needs two threads.
  c.native("meet", [&](std::vector<Datum>& arguments) {
    arrived++;
    for (int i = 0; i < 5000 && arrived < 2; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (arrived >= 2) together = true;
    return arguments[0];
  });
  c.unit->define_text("def f(x):\n  a = torch.jit.fork(meet, x)\n  b = meet(x)\n  return torch.jit.wait(a) + b\n", std::make_shared<Known>(*c.unit));
  EXPECT_EQ(c("f", {Datum(ones({1}))}).to_tensor().item().to<double>(), 2);
  EXPECT_TRUE(together);
}

TEST(Fork, CallsThatForkCallsDoNotWaitForAFullPool) {
  std::string text = "def f0(x):\n  return x + 1\n";
  // Two calls each time, so that there are far more calls than threads, all but the last of which wait.
  for (int depth = 1; depth <= 7; depth++) {
    const std::string below = "f" + std::to_string(depth - 1);
    text += "def f" + std::to_string(depth) + "(x):\n  a = torch.jit.fork(" + below + ", x)\n  b = torch.jit.fork(" + below +
            ", x)\n  return torch.jit.wait(a) + torch.jit.wait(b)\n";
  }
  const Compiled c(text);
  EXPECT_EQ(c("f7", {Datum(zeros({1}))}).to_tensor().item().to<double>(), 128);
}

// Meant for the thread sanitizer: no run may see a program that another thread is making, or has dropped.
TEST(Fork, ThreadsCompileAndRunTheSameFunctions) {
  const std::string text =
      "def g(x, n: int):\n  for i in range(n):\n    x = x + i\n  return x\ndef f(x):\n  a = torch.jit.fork(g, x, 3)\n  return torch.jit.wait(a) + g(x, 4)\n";
  for (int round = 0; round < 5; round++) {
    const Compiled c(text);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&] {
        for (int k = 0; k < 10; k++) EXPECT_EQ(c("f", {Datum(ones({1}))}).to_tensor().item().to<double>(), 11);
        c.unit->find("f")->inlined();
        EXPECT_EQ(Compiled(text)("g", {Datum(ones({1})), Datum(2)}).to_tensor().item().to<double>(), 2);
      });
    for (std::thread& t : threads) t.join();
  }
}

TEST(Fork, AProgramMayBeForgottenWhileThreadsLookAtIt) {
  const Compiled c("def g(x):\n  return x + 1\n");
  Function& g = *c.unit->find("g");
  std::thread other([&] {
    for (int k = 0; k < 200; k++) g.forget_program();
  });
  for (int k = 0; k < 200; k++) {
    g.executed();
    g.program();
  }
  other.join();
  EXPECT_EQ(c("g", {Datum(ones({1}))}).to_tensor().item().to<double>(), 2);
}

TEST(Fork, ErrorsReachTheOneWhoWaitsWithTheLinesOfBoth) {
  const Compiled c(R"(
def bad(x):
    if bool(x.sum() > 0):
        raise ValueError("boom")
    return x

def f(x):
    a = torch.jit.fork(bad, x)
    return torch.jit.wait(a)

def g(x):
    a = torch.jit.fork(bad, x)
    return x
)");
  const std::string text = error_of([&] { c("f", {Datum(ones({2}))}); });
  EXPECT_NE(text.find("return torch.jit.wait(a)\n           ~~~~~~~~~~~~~~~~~ <--- HERE"), std::string::npos) << text;
  EXPECT_NE(text.find("raise ValueError(\"boom\")\n        ~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE"), std::string::npos) << text;
  EXPECT_NE(text.find("ValueError: boom"), std::string::npos) << text;
  EXPECT_EQ(c("g", {Datum(ones({2}))}).to_tensor().numel(), 2);  // its result is not used
}

TEST(Fork, CallsRecordGradientsAsTheOneWhoForksDoes) {
  const Compiled c("def double(x):\n  return x * 2\ndef f(x):\n  return torch.jit.wait(torch.jit.fork(double, x))\n");
  const Tensor x = ones({1}).requires_grad_(true);
  EXPECT_TRUE(c("f", {Datum(x)}).to_tensor().requires_grad());
  const NoGradGuard none;
  for (int i = 0; i < 20; i++) EXPECT_FALSE(c("f", {Datum(x)}).to_tensor().requires_grad());
}

TEST(Fork, UnitsLiveUntilTheirCallsHaveEnded) {
  for (int i = 0; i < 50; i++) {
    const Compiled c("def slow(x):\n  for i in range(100):\n    x = x + 1\n  return x\ndef f(x):\n  a = torch.jit.fork(slow, x)\n  return x\n");
    c("f", {Datum(ones({4}))});
  }
}

TEST(Fork, ACallThatWaitsForItselfIsAnError) {
  const Compiled c(R"(
def inside(all: List[Future[int]]) -> int:
    return torch.jit.wait(all[0])

def f() -> int:
    all: List[Future[int]] = []
    all.append(torch.jit._awaitable(inside, all))
    return torch.jit._awaitable_wait(all[0])
)");
  EXPECT_NE(error_of([&] { c("f", {}); }).find("waits for itself"), std::string::npos);
}

TEST(Fork, ObserversSeeFunctionsAndForkedCalls) {
  const Compiled c("def double(x):\n  return x * 2\ndef f(x):\n  return torch.jit.wait(torch.jit.fork(double, x)) + 1\n");
  profile::start({});
  c("f", {Datum(ones({1}))});
  const profile::Trace trace = profile::stop();
  std::map<std::string, std::string> parents;
  for (const profile::ThreadLog& log : trace.threads)
    for (const profile::Event& e : log.events) parents[e.full_name()] = e.parent < 0 ? "" : log.events[static_cast<size_t>(e.parent)].full_name();
  EXPECT_EQ(parents.count("f"), 1u);
  EXPECT_EQ(parents["aten::add"], "f");
  EXPECT_EQ(parents["aten::mul"], "<forked function>");
}

// ---- limits

std::string fault_under(const RunLimits& limits, const std::string& text, std::vector<Datum> arguments = {}) {
  const Compiled c(text);
  const LimitScope scope(limits);
  return error_of([&] { c("f", std::move(arguments)); });
}
RunLimits memory(int64_t bytes) {
  RunLimits limits;
  limits.max_memory = bytes;
  return limits;
}

TEST(Limits, InstructionsAreCounted) {
  RunLimits limits;
  limits.max_instructions = 1000;
  EXPECT_NE(fault_under(limits, "def f() -> int:\n  n = 0\n  while True:\n    n += 1\n  return n\n").find("at most 1000 instructions"), std::string::npos);
  EXPECT_EQ(fault_under(limits, "def f() -> int:\n  n = 0\n  for i in range(100):\n    n += i\n  return n\n"), "no error");
}

TEST(Limits, ForkedCallsAreCountedWithTheRun) {
  RunLimits limits;
  limits.max_instructions = 2000;
  const std::string text = R"(
def part() -> int:
    n = 0
    for i in range(100):
        n += i
    return n
def f() -> int:
    all: List[Future[int]] = []
    for i in range(100):
        all.append(torch.jit.fork(part))
    return len(all)
)";
  EXPECT_NE(fault_under(limits, text).find("at most 2000 instructions"), std::string::npos);
}

TEST(Limits, MemoryOfTensorsIsCounted) {
  EXPECT_EQ(fault_under(memory(16 << 20), "def f():\n  x = torch.zeros(1 << 20)\n  for i in range(100):\n    x = x + 1\n  return x\n"), "no error");
  EXPECT_NE(fault_under(memory(10 << 20), "def f():\n  return torch.zeros(1 << 30)\n").find("limit of this run"), std::string::npos);
  // Many small ones that a list keeps.
  const std::string text = "def f():\n  xs: List[Tensor] = []\n  for i in range(1 << 20):\n    xs.append(torch.zeros(100))\n  return len(xs)\n";
  EXPECT_NE(fault_under(memory(10 << 20), text).find("limit of this run"), std::string::npos);
}

TEST(Limits, MemoryOfListsAndStringsIsCounted) {
  const auto reaches = [](const std::string& body) { return fault_under(memory(1 << 20), "def f():\n" + body).find("limit of this run") != std::string::npos; };
  EXPECT_TRUE(reaches("  s = 'a'\n  while True:\n    s = s + s\n  return s\n"));
  EXPECT_TRUE(reaches("  return 'a' * (1 << 30)\n"));
  EXPECT_TRUE(reaches("  return [0] * (1 << 30)\n"));
  EXPECT_TRUE(reaches("  return 'a'.ljust(1 << 30)\n"));
  EXPECT_TRUE(reaches("  return ('a' * 1000).replace('a', 'b' * 10000)\n"));
  EXPECT_TRUE(reaches("  return ('a' * 10000).join(['b'] * 1000)\n"));
  EXPECT_TRUE(reaches("  xs: List[int] = []\n  while True:\n    xs.append(1)\n  return xs\n"));
  EXPECT_TRUE(reaches("  xs: Dict[int, int] = {}\n  i = 0\n  while True:\n    xs[i] = i\n    i += 1\n  return xs\n"));
  EXPECT_TRUE(reaches("  xs = [1]\n  while True:\n    xs.extend(xs)\n  return xs\n"));
  // Those that are gone do not count.
  EXPECT_FALSE(reaches("  n = 0\n  for i in range(1000):\n    xs = [i] * 10000\n    n += len(xs)\n  return n\n"));
  EXPECT_FALSE(reaches("  n = 0\n  for i in range(1000):\n    s = 'a' * 100000\n    n += len(s)\n  return n\n"));
}

TEST(Limits, CallsWithinCallsAreCounted) {
  RunLimits limits;
  limits.max_calls = 1;
  const Compiled c("def g(x: int) -> int:\n  return x\ndef f(x: int) -> int:\n  return torch.jit.wait(torch.jit.fork(g, x))\n");
  EXPECT_EQ(c("f", {Datum(3)}).to_int(), 3);
  limits.max_instructions = 1000;  // forked calls run within the one that forks
  const LimitScope scope(limits);
  EXPECT_NE(error_of([&] { c("f", {Datum(3)}); }).find("at most 1 calls"), std::string::npos);
}

}  // namespace
}  // namespace cresset::graph::script
