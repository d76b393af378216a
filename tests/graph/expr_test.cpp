// Expressions of integers, floats and truth values: against plain computation, their texts, ranges, and fitting.

#include "cresset/graph/symbolic/expr.h"

#include <gtest/gtest.h>

#include <random>

#include "cresset/graph/symbolic/fit.h"
#include "cresset/graph/symbolic/ranges.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

const Expr kA = Sym::symbol("a"), kB = Sym::symbol("b");
Expr of(Op op, const Expr& x) { return Expr::apply(op, {x}); }
Expr of(Op op, const Expr& x, const Expr& y) { return Expr::apply(op, {x, y}); }

// A random expression and its value by plain computation, none where a step has none.
struct Drawn {
  Expr expr;
  std::optional<Number> value;
};
Drawn draw(std::mt19937& random, const Bindings& at, int depth) {
  if (depth == 0 || random() % 6 == 0) {
    if (random() % 3 == 0) {
      const int64_t c = static_cast<int64_t>(random() % 9) - 2;
      return {c, Number(c)};
    }
    const char* name = random() % 2 ? "a" : "b";
    return {Expr::symbol(name, Kind::Int), Number(at.at(name))};
  }
  constexpr Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::FloorDiv, Op::Mod, Op::Max, Op::Min, Op::TrueDiv, Op::Neg, Op::Abs, Op::BitAnd, Op::Floor, Op::Ceil};
  const Op op = ops[random() % std::size(ops)];
  const Drawn x = draw(random, at, depth - 1);
  if (op == Op::Neg || op == Op::Abs || op == Op::Floor || op == Op::Ceil) return {of(op, x.expr), x.value ? compute(op, {*x.value}) : std::nullopt};
  const Drawn y = draw(random, at, depth - 1);
  if (op == Op::BitAnd && (x.expr.kind() != Kind::Int || y.expr.kind() != Kind::Int)) return x;
  return {of(op, x.expr, y.expr), x.value && y.value ? compute(op, {*x.value, *y.value}) : std::nullopt};
}

TEST(Expr, AgreesWithPlainComputation) {
  std::mt19937 random(7);
  int compared = 0;
  for (int i = 0; i < 20000; i++) {
    const Bindings at{{"a", 1 + static_cast<int64_t>(random() % 40)}, {"b", 1 + static_cast<int64_t>(random() % 40)}};
    std::optional<Drawn> d;
    try {
      d = draw(random, at, 4);
    } catch (const ValueError&) { continue; }  // a division by the number 0
    const auto value = d->expr.evaluate(at);
    if (!d->value || !value) continue;
    EXPECT_NEAR(to_double(*value), to_double(*d->value), 1e-9 * (1 + std::abs(to_double(*d->value)))) << d->expr.text();
    compared++;
  }
  EXPECT_GT(compared, 10000);
}

TEST(Expr, RangesHoldEveryValue) {
  std::mt19937 random(8);
  const Ranges ranges{{"a", {2, 9}}, {"b", {3, 7}}};
  for (int i = 0; i < 3000; i++) {
    std::optional<Drawn> d;
    try {
      d = draw(random, {{"a", 2}, {"b", 3}}, 3);
    } catch (const ValueError&) { continue; }
    if (d->expr.kind() != Kind::Int) continue;
    const Range r = bounds(d->expr.integer(), ranges);
    const auto positive = decided(of(Op::Gt, d->expr, 0), ranges);
    for (int64_t a = 2; a <= 9; a++)
      for (int64_t b = 3; b <= 7; b++)
        if (const auto v = d->expr.evaluate({{"a", a}, {"b", b}})) {
          const int64_t n = std::get<int64_t>(*v);
          EXPECT_TRUE((r.lower == -kInfinity || r.lower <= n) && (r.upper == kInfinity || n <= r.upper)) << d->expr.text();
          EXPECT_TRUE(!positive || *positive == (n > 0)) << d->expr.text();
        }
  }
}

TEST(Expr, TextIsThatOfPyTorch) {
  EXPECT_EQ(of(Op::FloorDiv, kA, 2).text(), "(a//2)");
  EXPECT_EQ(of(Op::Mod, kA, 3).text(), "Mod(a, 3)");
  EXPECT_EQ(of(Op::Add, of(Op::Mul, kA, 2), 1).text(), "2*a + 1");
  EXPECT_EQ(of(Op::Sub, 3, kA).text(), "3 - a");
  EXPECT_EQ(of(Op::Mul, kA, kA).text(), "a**2");
  EXPECT_EQ(of(Op::TrueDiv, kA, 2).text(), "IntTrueDiv(a, 2)");
  EXPECT_EQ(of(Op::Eq, kA, kB).text(), "Eq(a, b)");
  EXPECT_EQ(of(Op::Not, of(Op::Gt, kA, 2)).text(), "a <= 2");
  EXPECT_EQ(of(Op::Mul, kA, Expr::number(1.5)).text(), "ToFloat(a)*1.5");
}

TEST(Expr, QuotientsThatComeOutAreCarriedOut) {
  EXPECT_EQ(of(Op::FloorDiv, of(Op::Mul, kA, kB), kB), kA);
  EXPECT_EQ(of(Op::Mod, of(Op::Mul, kA, kB), kB), Expr(0));
  EXPECT_EQ(of(Op::Floor, of(Op::TrueDiv, kA, 2)), of(Op::FloorDiv, kA, 2));
}

TEST(Expr, EqualityIsDecidedByDivisibility) {
  EXPECT_EQ(decided(of(Op::Eq, of(Op::Mul, kA, 2), 5), {}), false);
  EXPECT_EQ(decided(of(Op::Eq, of(Op::Mul, kA, 2), 4), {}), std::nullopt);
}

// A fit finds these again, from values at points alone.
TEST(Fit, FindsTheExpression) {
  std::mt19937 random(9);
  std::vector<Bindings> points;
  for (const int64_t base : {1260, 4, 2, 1261, 1271, 1292, 1327, 1376, 1439})
    points.push_back({{"a", base}, {"b", base + static_cast<int64_t>(random() % 50)}});
  auto values = [&](const Expr& e) {
    Observed out;
    for (const Bindings& p : points) out.push_back(std::get<int64_t>(*e.evaluate(p)));
    return out;
  };
  const std::vector<Candidate> candidates{{kA.integer(), values(kA)}, {kB.integer(), values(kB)}};
  const Expr wanted[] = {kA,
                         of(Op::Add, of(Op::Mul, kA, 3), 7),
                         of(Op::Add, kA, kB),
                         of(Op::Mul, kA, kB),
                         of(Op::Sub, of(Op::Mul, kB, 2), kA),
                         of(Op::Add, of(Op::FloorDiv, of(Op::Sub, kA, 1), 2), 1),
                         of(Op::FloorDiv, of(Op::Add, kA, 4), 3),
                         of(Op::Min, kA, 100),
                         of(Op::Max, of(Op::Sub, kA, 3), 0)};
  for (const Expr& e : wanted) {
    const auto found = fit(values(e), candidates);
    ASSERT_TRUE(found) << e.text();
    for (int64_t a = 3; a < 300; a++)
      EXPECT_EQ(found->evaluate({{"a", a}, {"b", a * 2}}), std::get<int64_t>(*e.evaluate({{"a", a}, {"b", a * 2}}))) << e.text();
  }
}

}  // namespace
}  // namespace cresset::graph
