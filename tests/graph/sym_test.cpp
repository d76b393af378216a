// Sizes as expressions.

#include "cresset/graph/ir/sym.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace cresset::graph {
namespace {

const Sym kA = Sym::symbol("a"), kB = Sym::symbol("b");

TEST(Sym, EqualExpressionsCompareEqualHoweverTheyAreWritten) {
  EXPECT_EQ((kA + kB) * (kA - kB), kA * kA - kB * kB);
  EXPECT_EQ(Sym(2) * kA + kA, Sym(3) * kA);
  EXPECT_EQ(kA - kA, Sym(0));
  EXPECT_NE(kA, kB);
  EXPECT_EQ((kA - kA + 4).constant(), 4);
}
TEST(Sym, SymbolsThatCancelAreGone) {
  EXPECT_EQ((kA + kB - kB).symbols(), std::vector<std::string>{"a"});
  EXPECT_EQ(((kA + kB) * (kA - kB) + kB * kB).symbols(), std::vector<std::string>{"a"});
  EXPECT_EQ(((kA + kB) * (kB - kA)).symbols(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE((kA * 0).symbols().empty());
  EXPECT_EQ((kA * Sym::floordiv(kB, 2) - Sym::floordiv(kB, 2) * kA + kB).text(), "b");
}
TEST(Sym, ResultsBeyond64BitsAreErrors) {
  EXPECT_EQ(error_of([] { (void)(Sym(INT64_MAX) + 1); }), "size expression: 9223372036854775807 + 1 is beyond 64 bits");
  EXPECT_EQ(error_of([] { (void)(Sym(INT64_MAX) * 2); }), "size expression: 9223372036854775807 * 2 is beyond 64 bits");
  EXPECT_EQ(error_of([] { (void)(kA * INT64_MAX * 2); }), "size expression: 9223372036854775807 * 2 is beyond 64 bits");
  EXPECT_EQ(error_of([] { (void)(Sym(2) * (kA * INT64_MAX)); }), "size expression: 2 * 9223372036854775807 is beyond 64 bits");
}
TEST(Sym, DivisionsThatComeOutAreCarriedOut) {
  EXPECT_EQ(Sym::floordiv(Sym(6) * kA + 4, 2), Sym(3) * kA + 2);
  EXPECT_EQ(Sym::mod(Sym(4) * kA, 2), Sym(0));
  EXPECT_EQ(Sym::floordiv(kA, kA), Sym(1));
  EXPECT_EQ(Sym::floordiv(-7, 2), Sym(-4));
  EXPECT_EQ(Sym::mod(-7, 2), Sym(1));
  EXPECT_EQ(Sym::floordiv(kA, 2).text(), "floordiv(a, 2)");
}
TEST(Sym, TextReadsBack) {
  for (const char* text : {"0", "-3", "a", "2*a + 1", "-a + b", "a*a*b - 4", "b*floordiv(a + 1, 2)", "max(a, b) - min(a, b)", "mod(a, 3)", "?"}) {
    EXPECT_EQ(Sym::parse(text).text(), text);
  }
  EXPECT_EQ(Sym::parse("(a + 1)*(a - 1)"), kA * kA - 1);
}
TEST(Sym, EvaluatesAndSubstitutes) {
  const Sym s = Sym::floordiv(kA * kB + 1, 2);
  EXPECT_EQ(s.evaluate({{"a", 3}, {"b", 5}}), 8);
  EXPECT_EQ(s.evaluate({{"a", 3}}), std::nullopt);
  EXPECT_EQ(s.substitute("a", 3).substitute("b", kA).text(), "floordiv(3*a + 1, 2)");
  EXPECT_EQ(s.symbols(), (std::vector<std::string>{"a", "b"}));
}
TEST(Sym, UnknownSpreads) {
  EXPECT_FALSE((kA * Sym::unknown() + 1).is_known());
  EXPECT_FALSE(Sym::unknown().constant());
}
TEST(Sym, MistakesAreNamed) {
  EXPECT_EQ(error_of([] { Sym::parse("2*(a"); }), "size expression: expected ) at column 5 of '2*(a'");
  EXPECT_EQ(error_of([] { Sym::parse("a b"); }), "size expression: expected an operator or the end at column 3 of 'a b'");
  EXPECT_EQ(error_of([] { Sym::parse("sin(a, b)"); }), "size expression: expected floordiv, mod, max or min at column 1 of 'sin(a, b)'");
  EXPECT_EQ(error_of([] { Sym::floordiv(kA, 0); }), "size expression: a is divided by 0");
  EXPECT_EQ(error_of([] { (kA * INT64_MAX).evaluate({{"a", 2}}); }), "size expression: 9223372036854775807 * 2 is beyond 64 bits");
  EXPECT_EQ(error_of([] { Sym::parse(std::string(100000, '(')); }).substr(0, 59), "size expression: expected less deeply nested parentheses at");
}

}  // namespace
}  // namespace cresset::graph
