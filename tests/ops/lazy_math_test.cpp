// Conjugates and negatives that share memory with what they were taken of and are computed when an operator needs their values.

#include "cresset/cresset.h"
#include "cresset/transform/gradcheck.h"
#include "gtest/gtest.h"
#include "tests/error_of.h"

namespace cresset {
namespace {

using C = complex<double>;
using autograd::variable_list;

Tensor sample() { return cresset::view_as_complex(cresset::arange(12, kDouble).view({2, 3, 2})); }
C at(const Tensor& t, int64_t i, int64_t j) { return t.index({i, j}).item<C>(); }

TEST(LazyMath, ConjIsAViewOfTheSameMemory) {
  Tensor x = sample();
  const Tensor y = x.conj();
  EXPECT_TRUE(y.is_conj());
  EXPECT_FALSE(x.is_conj());
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
  EXPECT_EQ(at(y, 1, 2), C(10, -11));
  x.index_put_({1, 2}, C(5, 7));
  EXPECT_EQ(at(y, 1, 2), C(5, -7));
  EXPECT_FALSE(y.conj().is_conj());
  const Tensor real = cresset::ones({2});
  EXPECT_TRUE(real.conj().is_same(real));
}

TEST(LazyMath, ViewsKeepItAndCopiesComputeIt) {
  const Tensor y = sample().conj();
  for (const Tensor& view : {y.t(), y[0], y.view({6}), y.detach(), y.contiguous(), y.unsqueeze(0), y.narrow(1, 1, 2), y.diagonal()})
    EXPECT_TRUE(view.is_conj()) << view.sizes();
  for (const Tensor& copy : {y.clone(), y.resolve_conj(), y + 0, y.to(kComplexFloat), cresset::cat({y, y}), y.t().contiguous(), y.conj_physical()})
    EXPECT_FALSE(copy.is_conj()) << copy.sizes();
  EXPECT_EQ(at(y.clone(), 0, 1), C(2, -3));
  EXPECT_EQ(at(y.conj_physical(), 0, 1), C(2, 3));
  EXPECT_EQ(at(y.t().contiguous(), 1, 0), C(2, -3));
  EXPECT_EQ(cresset::empty_like(y).is_conj(), false);
}

TEST(LazyMath, OperatorsSeeTheValues) {
  const Tensor x = sample(), y = x.conj(), computed = x.conj_physical();
  EXPECT_TRUE(cresset::equal(y * x, computed * x));
  EXPECT_TRUE(cresset::equal(cresset::mm(y, x.t()), cresset::mm(computed, x.t())));
  EXPECT_TRUE(cresset::equal(y.sum(0), computed.sum(0)));
  EXPECT_TRUE(cresset::equal(cresset::stack({y, x}), cresset::stack({computed, x})));
  EXPECT_TRUE(cresset::equal(y.index({cresset::tensor({1, 0})}), computed.index({cresset::tensor({1, 0})})));
  EXPECT_TRUE(cresset::equal(y.exp().abs(), computed.exp().abs()));
  EXPECT_EQ(testing::PrintToString(y), testing::PrintToString(computed));
}

TEST(LazyMath, WritesGoThroughToTheMemory) {
  Tensor x = sample(), y = x.conj();
  const auto version = x._version();
  Tensor& same = y.add_(C(0, 1));
  EXPECT_EQ(&same, &y);
  EXPECT_GT(x._version(), version);
  EXPECT_EQ(at(x, 0, 0), C(0, 0));
  EXPECT_EQ(at(y, 0, 0), C(0, 0));
  EXPECT_EQ(at(x, 0, 1), C(2, 2));
  y[1].fill_(C(1, 2));
  EXPECT_EQ(at(x, 1, 1), C(1, -2));
  y.copy_(cresset::full({2, 3}, C(3, 4), kComplexDouble));
  EXPECT_EQ(at(x, 1, 2), C(3, -4));
  cresset::add_out(y, y, y);
  EXPECT_EQ(at(x, 1, 2), C(6, -8));
  Tensor empty = cresset::empty({0}, kComplexDouble).conj();
  cresset::add_out(empty, x, x);
  EXPECT_EQ(at(empty, 1, 2), C(12, -16));
  EXPECT_TRUE(empty.is_conj());
}

TEST(LazyMath, PartsOfConjugates) {
  const Tensor x = sample(), y = x.conj();
  EXPECT_FALSE(cresset::real(y).is_neg());
  EXPECT_TRUE(cresset::imag(y).is_neg());
  EXPECT_EQ(cresset::imag(y).index({1, 2}).item<double>(), -11);
  EXPECT_EQ(cresset::imag(y).data_ptr(), cresset::imag(x).data_ptr());
  EXPECT_EQ((cresset::imag(y) + 0).is_neg(), false);
  EXPECT_TRUE(cresset::equal(cresset::imag(y).resolve_neg(), -cresset::imag(x)));
  cresset::imag(y).index_put_({0, 0}, 9.0);
  EXPECT_EQ(at(x, 0, 0), C(0, -9));
  EXPECT_FALSE(cresset::_neg_view(cresset::_neg_view(x)).is_neg());
}

TEST(LazyMath, WhatCannotBeSeenLazily) {
  const Tensor y = sample().conj();
  EXPECT_EQ(error_of([&] { cresset::view_as_real(y); }), "view_as_real: not supported for a tensor that is a lazy conjugate; call resolve_conj() first");
  EXPECT_EQ(error_of([&] { y.view(kDouble); }), "view: a lazy conjugate or negative cannot be viewed as float64; call resolve_conj() or resolve_neg() first");
  EXPECT_EQ(error_of([&] { cresset::_neg_view(cresset::ones({2}, kBool)); }), "_neg_view: not supported for bool tensors");
}

TEST(LazyMath, GradientsPass) {
  const Tensor x = cresset::randn({3}, kComplexDouble).requires_grad_(true), w = cresset::randn({3}, kComplexDouble).requires_grad_(true);
  const auto check = [&](std::function<variable_list(const variable_list&)> f) {
    EXPECT_TRUE(autograd::gradcheck(f, {x, w}));
    EXPECT_TRUE(autograd::gradgradcheck(f, {x, w}));
  };
  check([](const variable_list& a) { return variable_list{a[0].conj() * a[1]}; });
  check([](const variable_list& a) { return variable_list{cresset::imag(a[0].conj()) * cresset::real(a[1].conj())}; });
  // Changed in place through the conjugate, and through its parts.
  check([](const variable_list& a) {
    Tensor base = a[0] * 1;
    base.conj().mul_(a[1]);
    return variable_list{base};
  });
  check([](const variable_list& a) {
    Tensor base = a[0] * 1;
    cresset::imag(base.conj()).mul_(cresset::real(a[1]));
    return variable_list{base * a[1]};
  });
  check([](const variable_list& a) {
    Tensor base = a[0] * 1, view = cresset::view_as_real(base), conj = base.conj();
    base.mul_(a[1]);
    return variable_list{view * 2, conj};
  });
  check([](const variable_list& a) {
    Tensor base = cresset::view_as_real(a[0]) * 1, view = cresset::view_as_complex(base);
    view.slice(0, 1, 3).mul_(a[1].slice(0, 0, 2));
    return variable_list{base};
  });
}

}  // namespace
}  // namespace cresset
