// Forward mode: tangents through operators, views, changes in place, levels within levels and backward over forward.

#include "cresset/autograd/forward/forward_mode.h"

#include <cmath>

#include "autograd/support.h"

namespace cresset {
namespace {

using autograd::DualLevel;
using autograd::make_dual;
using autograd::tangent_of;
using autograd::unpack_dual;

template <class F> Numbers along(F&& f, const Tensor& x, const Tensor& t) {
  const DualLevel level;
  return numbers(tangent_of(f(make_dual(x, t, level.number())), level.number()));
}
template <class F> void expect_derivative(F&& f, const Tensor& x, const Tensor& t) {
  const double eps = 1e-6;
  const Numbers plus = numbers(f(x + t * eps)), minus = numbers(f(x - t * eps)), got = along(f, x, t);
  ASSERT_EQ(got.size(), plus.size());
  for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], (plus[i] - minus[i]) / (2 * eps), 1e-7 * (1 + std::abs(got[i])));
}

TEST(ForwardMode, EveryKindOfRuleAgreesWithDifferences) {
  const Tensor x = vec({0.3, 1.7, -0.4, 2.2}), t = vec({1.0, -0.5, 0.25, 2.0}), y = vec({1.1, 0.2, 0.7, -0.9});
  expect_derivative([](const Tensor& v) { return v.sin(); }, x, t);                               // pointwise
  expect_derivative([&](const Tensor& v) { return v * v.exp() / (y * y + v * v); }, x, t);        // several inputs
  expect_derivative([&](const Tensor& v) { return v.unsqueeze(1) + 3 * y.unsqueeze(0); }, x, t);  // broadcast
  expect_derivative([&](const Tensor& v) { return v.unsqueeze(1).pow(y.abs().unsqueeze(0)); }, x.abs(), t);
  expect_derivative([](const Tensor& v) { return v.view({2, 2}).mm(v.view({2, 2}).t()); }, x, t);  // a product with itself
  expect_derivative([](const Tensor& v) { return cresset::softmax(v, 0); }, x, t);                 // by transposition
  expect_derivative([](const Tensor& v) { return v.var() * v.norm() + v.prod(); }, x, t);
  expect_derivative([](const Tensor& v) { return cresset::cat({v, v.flip({0})}).cumsum(0).index_select(0, vec({5, 0, 0}).to(kLong)); }, x, t);
  expect_derivative([&](const Tensor& v) { return cresset::where(v > 0, v * v, y); }, x, t);
}

TEST(ForwardMode, ComplexFunctionsThatAreNotHolomorphicAreRealLinearInTheTangent) {
  const auto complex_of = [](std::vector<double> pairs) { return cresset::view_as_complex(vec(std::move(pairs)).view({2, 2})); };
  const Tensor z = complex_of({0.3, 0.8, -1.2, 0.1}), t = complex_of({1.0, -2.0, 0.5, 0.25});
  const Numbers got = along([](const Tensor& v) { return v.abs(); }, z, t);
  const Numbers expected = numbers(cresset::view_as_real((z.conj() * t).resolve_conj()).select(-1, 0) / z.abs());
  for (size_t i = 0; i < 2; i++) EXPECT_NEAR(got[i], expected[i], 1e-14);
  const auto imaginary = [](const Tensor& v) { return cresset::view_as_real(v.conj().resolve_conj()).select(-1, 1); };
  EXPECT_EQ(along(imaginary, z, t), (Numbers{2.0, -0.25}));
}

TEST(ForwardMode, ChangesInPlaceReachViewsAndBases) {
  const DualLevel level;
  const uint64_t n = level.number();
  const Tensor dual = make_dual(vec({1, 2}), vec({10, 20}), n);
  Tensor base = cresset::zeros({2, 2}, TensorOptions(kDouble));
  Tensor row = base.select(0, 1);
  row.copy_(dual);
  EXPECT_EQ(numbers(tangent_of(base, n)), (Numbers{0, 0, 10, 20}));
  base.mul_(3);
  EXPECT_EQ(numbers(tangent_of(row, n)), (Numbers{30, 60}));
  row.zero_();
  EXPECT_EQ(numbers(tangent_of(base, n)), (Numbers{0, 0, 0, 0}));
  Tensor own = make_dual(vec({1, 2}), vec({10, 20}), n).clone();
  own.mul_(own);
  EXPECT_EQ(numbers(tangent_of(own, n)), (Numbers{20, 80}));
  own.unsqueeze_(0).t_();
  EXPECT_EQ(tangent_of(own, n).sizes(), (IntArrayRef{2, 1}));
  own.fill_(4);
  EXPECT_EQ(numbers(tangent_of(own, n)), (Numbers{0, 0}));
}

TEST(ForwardMode, ResultsDoNotShareTheTangentsOfArguments) {
  const DualLevel level;
  const Tensor t = vec({10, 20});
  const Tensor x = make_dual(vec({1, 2}), t, level.number());
  Tensor y = x + 1;
  y.mul_(2);
  EXPECT_EQ(numbers(t), (Numbers{10, 20}));
  EXPECT_EQ(numbers(tangent_of(y, level.number())), (Numbers{20, 40}));
}

TEST(ForwardMode, LevelsNestWithoutConfusion) {
  // d/dx (x * d/dy (x + y)) = 1: the inner derivative must not see the outer tangent.
  const Tensor one = vec({1});
  const DualLevel outer;
  const Tensor x = make_dual(vec({3}), one, outer.number());
  Tensor inner_derivative;
  {
    const DualLevel inner;
    const Tensor y = make_dual(vec({5}), one, inner.number());
    inner_derivative = tangent_of(x + y, inner.number());
  }
  EXPECT_EQ(numbers(tangent_of(x * inner_derivative, outer.number())), (Numbers{1}));
  // The second derivative of x^3 sin x, by two levels on one variable.
  Tensor second;
  {
    const DualLevel inner;
    const Tensor v = make_dual(x, one, inner.number());
    second = tangent_of(v * v * v * v.sin(), inner.number());
  }
  const double s = std::sin(3), c = std::cos(3);
  EXPECT_NEAR(numbers(tangent_of(second, outer.number()))[0], 6 * 3 * s + 2 * 3 * 9 * c - 27 * s, 1e-12);
}

TEST(ForwardMode, ReverseOverForwardAndForwardOverReverse) {
  const double e = std::exp(0.5);
  const Tensor x = leaf({0.5});
  const DualLevel level;
  const Tensor y = make_dual(x, vec({2}), level.number()).exp();
  // d/dx (2 e^x)
  EXPECT_NEAR(numbers(autograd::grad({tangent_of(y, level.number())}, {x}, {}, true)[0])[0], 2 * e, 1e-14);
  // The gradient of e^x is saved output times what comes in; its tangent is the second derivative along 2.
  const Tensor v = make_dual(vec({0.5}), vec({2}), level.number()).requires_grad_();
  const Tensor g = autograd::grad({v.exp()}, {v})[0];
  EXPECT_NEAR(numbers(g)[0], e, 1e-14);
  EXPECT_NEAR(numbers(tangent_of(g, level.number()))[0], 2 * e, 1e-14);
  // The same where inputs are saved, and where the value is changed in place: d/dx cos x = -sin x.
  const Tensor w = make_dual(vec({0.5}), vec({2}), level.number()).requires_grad_();
  for (const Tensor& y : {w.sin(), w.clone().sin_()})
    EXPECT_NEAR(numbers(tangent_of(autograd::grad({y}, {w})[0], level.number()))[0], -2 * std::sin(0.5), 1e-14);
}

TEST(ForwardMode, NoGradKeepsTangentsAndDetachDropsThem) {
  const DualLevel level;
  const Tensor x = make_dual(vec({1, 2}), vec({1, 1}), level.number());
  {
    const NoGradGuard no_grad;
    EXPECT_EQ(numbers(tangent_of(x * x, level.number())), (Numbers{2, 4}));
  }
  EXPECT_FALSE(autograd::has_tangent(x.detach()));
  EXPECT_FALSE((x * x).requires_grad());
  EXPECT_FALSE(autograd::has_tangent(x > 1));
  autograd::set_forward_mode_enabled(false);
  EXPECT_FALSE(autograd::has_tangent(x * x));
  autograd::set_forward_mode_enabled(true);
}

TEST(ForwardMode, TangentsEndWithTheirLevel) {
  Tensor y, graph;
  weak_intrusive_ptr<TensorImpl> gone;
  {
    const DualLevel level;
    const Tensor t = vec({1, 1});
    gone = weak_intrusive_ptr<TensorImpl>(t.getIntrusivePtr());
    y = make_dual(leaf({1, 2}), t, level.number()).exp();
    graph = y.sum();
  }
  EXPECT_TRUE(gone.expired());
  EXPECT_FALSE(autograd::has_tangent(y));
  EXPECT_FALSE(autograd::has_tangent(y * 2));
}

TEST(ForwardMode, Mistakes) {
  const Tensor x = vec({1, 2});
  EXPECT_TRUE(contains(error_of([&] { make_dual(x, x, 0); }), "no dual level 0 is open"));
  EXPECT_TRUE(contains(error_of([&] { autograd::exit_dual_level(0); }), "no dual level 0 is open"));
  const DualLevel level;
  EXPECT_TRUE(contains(error_of([&] { make_dual(x, vec({1}), level.number()); }), "expected a tangent of the primal's shape [2], got [1]"));
  EXPECT_TRUE(contains(error_of([&] { make_dual(x.to(kLong), x, level.number()); }), "floating point or complex dtype"));
  const Tensor dual = make_dual(x, x, level.number());
  EXPECT_TRUE(contains(error_of([&] { make_dual(dual, x, level.number()); }), "has a tangent at this level already"));
  Tensor out = cresset::empty({2}, TensorOptions(kDouble));
  EXPECT_TRUE(contains(error_of([&] { cresset::mul_out(out, dual, dual); }), "out=... arguments don't support automatic differentiation"));
}

}  // namespace
}  // namespace cresset
