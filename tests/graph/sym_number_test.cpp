// Symbolic numbers of C++ programs, and the guards that they leave.

#include "cresset/graph/symbolic/numbers.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace cresset::graph {
namespace {

intrusive_ptr<ShapeEnv> environment() { return make_intrusive<ShapeEnv>(ShapeEnv::Options()); }
SymInt size(const intrusive_ptr<ShapeEnv>& env, int64_t hint, const std::string& source) {
  return {Expr(env->create_symbol(hint, source, false, true, {0, kInfinity})), env};
}

TEST(SymNumber, ExpressionsAreSimplified) {
  const auto env = environment();
  const SymInt a = size(env, 6, "a"), b = size(env, 4, "b");
  EXPECT_EQ((a * 2 + a - b).text(), "3*s0 - s1");
  EXPECT_EQ(floordiv(a * 6, 2).text(), "3*s0");
  EXPECT_EQ((a * 4 % 2).text(), "0");
  EXPECT_EQ(std::get<int64_t>(*(a * b + 1).hint()), 25);
  EXPECT_FALSE(SymInt(7).is_symbolic());
  EXPECT_EQ((SymInt(7) + 2).guard_int(), 9);
  EXPECT_TRUE(env->guards.empty());
}
TEST(SymNumber, ConditionsAreGuardsOfTheExample) {
  const auto env = environment();
  const SymInt a = size(env, 6, "a"), b = size(env, 4, "b");
  EXPECT_TRUE((a > b).guard_bool());
  EXPECT_FALSE((a == 7).guard_bool());
  EXPECT_TRUE((a + 1 > b).guard_bool());  // follows from the first
  ASSERT_EQ(env->guards.size(), 2U);
  EXPECT_EQ(env->guards[0].expr.text(), (a > b).text());
  EXPECT_EQ((a >= 0).statically(), true);
  EXPECT_EQ((b > 3).statically(), std::nullopt);
  EXPECT_EQ(b.guard_int(), 4);
  EXPECT_EQ((b + 1).guard_int(), 5);
  EXPECT_EQ((a > b || b > a).guard_bool(), true);
  const SymInt other = size(environment(), 6, "a");
  EXPECT_EQ(error_of([&] { (void)(a + other); }), "symbolic numbers: s0 and s0 are of two environments");
}
TEST(SymNumber, FloatsAndTruthValues) {
  const auto env = environment();
  const SymInt a = size(env, 6, "a");
  const SymFloat half = a / 2;
  EXPECT_EQ(std::get<double>(*half.hint()), 3.0);
  EXPECT_EQ(std::get<double>(*sqrt(a.to_float() * 6.0).hint()), 6.0);
  EXPECT_TRUE((half < 3.5 && !(half < 2.0)).guard_bool());
  EXPECT_EQ(half.guard_float(), 3.0);
  EXPECT_EQ((SymFloat(1.5) + 2.0).guard_float(), 3.5);
  EXPECT_EQ(SymInt(7).to_float().guard_float(), 7.0);
  EXPECT_EQ((SymInt(7) / 2).guard_float(), 3.5);
}
TEST(SymNumber, WhatOnlyTheDataTellsIsNoAnswerUntilItIsStated) {
  const auto env = environment();
  const SymInt n(env->create_unbacked(Kind::Int), env);
  EXPECT_EQ(n.hint(), std::nullopt);
  EXPECT_NE(error_of([&] { (n > 3).guard_bool(); }).find("only the data tells u0"), std::string::npos);
  (n >= 4).check("too few");
  EXPECT_TRUE((n > 3).guard_bool());
  ASSERT_EQ(env->deferred.size(), 1U);
  EXPECT_EQ(error_of([] { SymBool(false).check("no such size"); }), "no such size");
}
TEST(SymNumber, SizesOfFakeTensorsAreFound) {
  const auto env = environment();
  const SymInt a = size(env, 6, "a"), b = size(env, 4, "b");
  const int64_t met = std::get<int64_t>(env->value(a.expr())) * std::get<int64_t>(env->value(b.expr()));
  EXPECT_EQ(SymInt::of(met, env).text(), (a * b).text());
  EXPECT_EQ(SymInt::of(3, env).guard_int(), 3);
}

}  // namespace
}  // namespace cresset::graph
