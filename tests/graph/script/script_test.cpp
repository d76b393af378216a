// TorchScript in C++: texts that compile, run, and say what is wrong with them.

#include <gtest/gtest.h>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/print.h"
#include "cresset/graph/script/unit.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

struct Compiled {
  std::shared_ptr<CompilationUnit> unit = std::make_shared<CompilationUnit>();
  explicit Compiled(const std::string& text) { unit->define_text(text, nullptr); }
  Datum operator()(const char* name, std::vector<Datum> arguments) const { return unit->find(name)->run(std::move(arguments)); }
};
std::string fault(const std::string& text) {
  return error_of([&] { Compiled{text}; });
}

TEST(Script, LoopsBreakContinueAndReturnEarly) {
  const Compiled c(R"(
def search(xs: List[int], wanted: int) -> int:
    for i, x in enumerate(xs):
        if x < 0:
            continue
        if x == wanted:
            return i
        if x > 100:
            break
    return -1
)");
  const Datum xs(List<int64_t>({-1, 5, 7, 200, 9}));
  EXPECT_EQ(c("search", {xs, Datum(7)}).to_int(), 2);
  EXPECT_EQ(c("search", {xs, Datum(9)}).to_int(), -1);  // behind the break
  EXPECT_EQ(c("search", {xs, Datum(-1)}).to_int(), -1);
}

TEST(Script, ListsAreSharedByThoseWhoHoldThem) {
  const Compiled c("def f(xs: List[int]):\n  ys = xs\n  ys.append(3)\n  return len(xs)\n");
  const List<int64_t> xs{1, 2};
  EXPECT_EQ(c("f", {Datum(xs)}).to_int(), 3);
  EXPECT_EQ(xs.size(), 3u);
}

TEST(Script, NoneIsRuledOutByTheConditionsOfBranches) {
  const Compiled c("def f(x: Optional[int], y: Optional[int]) -> int:\n  if x is not None and y is not None:\n    return x + y\n  return 0\n");
  EXPECT_EQ(c("f", {Datum(2), Datum(3)}).to_int(), 5);
  EXPECT_EQ(c("f", {Datum(2), Datum()}).to_int(), 0);
}

TEST(Script, TensorsRunAsInEagerMode) {
  const Compiled c("def f(x, n: int):\n  for i in range(n):\n    x = torch.relu(x) * 2 - i\n  return x[0], x[:, 1], x.sum()\n");
  const Tensor x = randn({3, 4});
  Tensor y = x;
  for (int i = 0; i < 3; i++) y = relu(y) * 2 - i;
  const Datum out = c("f", {Datum(x), Datum(3)});
  EXPECT_TRUE(equal(out.toTupleRef().elements()[0].to_tensor(), y[0]));
  EXPECT_TRUE(equal(out.toTupleRef().elements()[1].to_tensor(), y.select(1, 1)));
  EXPECT_TRUE(equal(out.toTupleRef().elements()[2].to_tensor(), y.sum()));
}

TEST(Script, ErrorsMarkTheWordsThatAreWrong) {
  const std::string text = fault("def f(x):\n    return x + not_there\n");
  EXPECT_NE(text.find("undefined value not_there"), std::string::npos) << text;
  EXPECT_NE(text.find("    return x + not_there\n               ~~~~~~~~~ <--- HERE"), std::string::npos) << text;
}

TEST(Script, RaisedExceptionsCarryTheirClassAndText) {
  const Compiled c("def f(x: int) -> int:\n  if x < 0:\n    raise ValueError('negative: ' + str(x))\n  return x\n");
  EXPECT_EQ(c("f", {Datum(1)}).to_int(), 1);
  try {
    c("f", {Datum(-3)});
    FAIL();
  } catch (const ScriptRaise& e) {
    EXPECT_EQ(e.original, "negative: -3");
    EXPECT_EQ(e.python_class, "builtins.ValueError");
  }
}

TEST(Script, FailingOperatorsShowTheLineOfTheProgram) {
  const Compiled c("def f(x, y):\n    z = x + 1\n    return z @ y\n");
  const std::string text = error_of([&] { c("f", {Datum(ones({2, 3})), Datum(ones({2, 3}))}); });
  EXPECT_NE(text.find("TorchScript"), std::string::npos) << text;
  EXPECT_NE(text.find("    return z @ y\n           ~~~~~ <--- HERE"), std::string::npos) << text;
}

TEST(Script, LoopsEndAtTheLimit) {
  Compiled c("def f() -> int:\n  n = 0\n  while True:\n    n += 1\n  return n\n");
  c.unit->limits.max_trips = 1000;
  EXPECT_NE(error_of([&] { c("f", {}); }).find("1000 trips"), std::string::npos);
}

TEST(Script, RecursionIsRefused) { EXPECT_NE(fault("def f(n: int) -> int:\n  return 1 if n < 2 else n * f(n - 1)\n").find("recursive"), std::string::npos); }

TEST(Script, CodeCompilesToTheSameFunction) {
  const Compiled c(R"(
def f(xs: List[int], d: Dict[str, int], t: Optional[Tensor] = None) -> Tuple[int, str]:
    total = 0
    for x in xs:
        if x % 2 == 0 and x > 2:
            continue
        total += x
        if total > 10:
            break
    while total < 5:
        total *= 2
    if t is not None:
        total += int(t.sum())
    return total, ",".join([k + str(v) for k, v in d.items()])
)");
  Referred referred;
  const std::string code = code_of(*c.unit->find("f"), referred, true);
  const Compiled again(code);
  Dict<std::string, int64_t> d;
  d.insert("a", 1);
  d.insert("b", 2);
  for (const int64_t n : {1, 4, 30}) {
    const std::vector<Datum> arguments{Datum(List<int64_t>({1, n, 4, 6})), Datum(d), Datum(ones({2}))};
    EXPECT_EQ(c("f", arguments), again("f", arguments)) << code;
  }
}

TEST(Script, ArchivesGiveBackWhatWasSaved) {
  const Compiled c("def f(x: Tensor, n: int):\n  return torch.relu(x) * n + torch.ones([3])\n");
  std::string bytes;
  save_archive(module_of_function(*c.unit->find("f")), {{"note", "hello"}}, "archive",
               [&](const void* data, size_t n) { bytes.append(static_cast<const char*>(data), n); });
  std::map<std::string, std::string> extra{{"note", ""}};
  const Datum module = load_archive(std::make_shared<io::MemorySource>(bytes.data(), bytes.size()), "test", {}, &extra);
  EXPECT_EQ(extra["note"], "hello");
  const Tensor x = randn({3});
  const Datum y = object_of(module)->cls->method("forward")->run({module, Datum(x), Datum(2)});
  EXPECT_TRUE(equal(y.to_tensor(), relu(x) * 2 + 1));
}

TEST(Script, CutArchivesAreErrors) {
  const Compiled c("def f(x: Tensor):\n  return x + 1\n");
  std::string bytes;
  save_archive(module_of_function(*c.unit->find("f")), {}, "archive", [&](const void* data, size_t n) { bytes.append(static_cast<const char*>(data), n); });
  for (size_t n = 0; n < bytes.size(); n += 7) EXPECT_THROW(load_archive(std::make_shared<io::MemorySource>(bytes.data(), n), "test"), Error) << n;
}

}  // namespace
}  // namespace cresset::graph::script
