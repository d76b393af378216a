// Numbers that C++ lacks: complex ones, halves, 8-bit floats, and the types of elements.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <sstream>
#include <unordered_map>

#include "cresset/base/numbers/complex_math.h"
#include "cresset/base/numbers/float8.h"
#include "cresset/base/scalar.h"
#include "cresset/base/sym_int.h"
#include "cresset/base/type_meta.h"
#include "cresset/base/util/numeric.h"

namespace cresset {
namespace {

using C = complex<double>;
using namespace complex_literals;

TEST(Complex, WidensImplicitlyAndNarrowsExplicitly) {
  static_assert(std::is_convertible<complex<float>, C>::value, "");
  static_assert(!std::is_convertible<C, complex<float>>::value, "");
  static_assert(C(std::complex<double>(1, 2)) == C(1, 2), "");
  const std::complex<double> z = C(3, 4);
  EXPECT_EQ(z, std::complex<double>(3, 4));
}

TEST(Complex, ComputesWithRealNumbers) {
  static_assert(C(1, 2) + 3.0 == C(4, 2) && 3.0 - C(1, 2) == C(2, -2) && 25.0 / C(3, 4) == C(3, -4), "");
  static_assert(1.0 + 2_id == C(1, 2), "");
  C z(1, 2);
  z = 5.0;
  EXPECT_EQ(z, C(5, 0));
  z += complex<float>(1, 1);
  EXPECT_EQ(z, C(6, 1));
  EXPECT_EQ(complex<float>(2, 2) * int64_t{3}, complex<float>(6, 6));
}

TEST(Complex, HasTheFunctionsOfStd) {
  const C z(0.3, -1.2);
  const std::complex<double> s(0.3, -1.2);
  EXPECT_DOUBLE_EQ(std::abs(z), std::abs(s));
  EXPECT_EQ(std::exp(z), C(std::exp(s)));
  EXPECT_EQ(std::atanh(z), C(std::atanh(s)));
  EXPECT_EQ(std::pow(z, 2.5), C(std::pow(s, 2.5)));
  EXPECT_EQ(std::conj(z), C(0.3, 1.2));
  EXPECT_NEAR(std::abs(std::log1p(z) - C(std::log(s + 1.0))), 0, 1e-15);
  EXPECT_DOUBLE_EQ(std::expm1(C(1e-9, 0)).real(), std::expm1(1e-9));
  std::unordered_map<C, int> keys{{z, 1}};
  EXPECT_EQ(keys.at(z), 1);
}

TEST(Complex, PrintsAndReadsAsStdDoes) {
  std::stringstream text;
  text << C(1, 2);
  EXPECT_EQ(text.str(), "(1,2)");
  C z;
  text.str("(3,4)");
  text >> z;
  EXPECT_EQ(z, C(3, 4));
}

TEST(Half, ComputesWithOtherNumbers) {
  const Half one = 1;
  EXPECT_EQ(one + one, 2);
  static_assert(std::is_same<decltype(one + 1.0f), float>::value && std::is_same<decltype(1.0 * one), double>::value, "");
  static_assert(std::is_same<decltype(one - 1), Half>::value, "");
  BFloat16 b = 7.625f;
  b = b - 5;
  EXPECT_EQ(b, 2.625f);
  std::ostringstream text;
  text << Half(3.5f);
  EXPECT_EQ(text.str(), "3.5");
}

TEST(Half, HasTheLimitsOfAFloatingPointType) {
  using H = std::numeric_limits<Half>;
  using B = std::numeric_limits<BFloat16>;
  static_assert(std::is_same<decltype(H::round_style), decltype(std::numeric_limits<float>::round_style)>::value, "");
  static_assert(H::is_iec559 && !B::is_iec559 && !std::numeric_limits<Float8_e5m2>::is_iec559, "");
  EXPECT_EQ(H::digits10, 3);
  EXPECT_EQ(H::max_digits10, 5);
  EXPECT_EQ(H::min_exponent10, -4);
  EXPECT_EQ(H::max_exponent10, 4);
  EXPECT_EQ(B::min_exponent10, -37);
  EXPECT_EQ(B::max_exponent10, 38);
  EXPECT_EQ(static_cast<float>(H::max()), 65504.0f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e4m3fn>::max()), 448.0f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e5m2fnuz>::epsilon()), 0.125f);
  EXPECT_NE(H::signaling_NaN(), H::signaling_NaN());
}

TEST(Half, NextAfterStepsInTheTypeItself) {
  EXPECT_EQ(std::nextafter(BFloat16(0), BFloat16(1)).x, 1);
  EXPECT_EQ(std::nextafter(BFloat16(0), -BFloat16(0)).x, 0x8000);
  EXPECT_EQ(std::nextafter(Half(1), Half(2)).x, 0x3c01);
  EXPECT_EQ(std::nextafter(Half(-1), Half(0)).x, 0xbbff);
}

TEST(Scalar, ConvertsToEveryTypeOfNumber) {
  const uint64_t most = UINT64_MAX;
  EXPECT_EQ(Scalar(most).toUInt64(), most);
  EXPECT_EQ(Scalar(7).toUInt16(), 7);
  EXPECT_EQ(Scalar(1.5).toHalf(), 1.5f);
  EXPECT_EQ(Scalar(7).toSymInt(), 7);
  EXPECT_THROW(Scalar(70000.0).toHalf(), std::runtime_error);
  EXPECT_TRUE(Scalar(most).equal(most));
  EXPECT_FALSE(Scalar(-1).equal(most));
  EXPECT_TRUE(Scalar(std::complex<double>(1, 2)).equal(complex<double>(1, 2)));
}

struct Known {
  int x = 42;
};
struct Unassignable {
  Unassignable() = default;
  Unassignable& operator=(const Unassignable&) = delete;
};

TEST(TypeMeta, IsADtypeOrAnyKnownType) {
  EXPECT_EQ(TypeMeta::Make<float>(), kFloat);
  EXPECT_EQ(TypeMeta::Make<int>().name(), "int");
  EXPECT_EQ(TypeMeta().name(), "nullptr (uninitialized)");
  EXPECT_EQ(TypeMeta::Make<Half>().itemsize(), 2u);
  EXPECT_EQ(TypeMeta::Make<int>().copy(), nullptr);
  const TypeMeta known = TypeMeta::Make<Known>();
  EXPECT_EQ(known, TypeMeta::Make<Known>());
  EXPECT_NE(known, TypeMeta::Make<Unassignable>());
  EXPECT_NE(known.name().find("Known"), std::string_view::npos);
  Known from{7}, to;
  known.copy()(&from, &to, 1);
  EXPECT_EQ(to.x, 7);
  EXPECT_THROW(known.toScalarType(), Error);
  EXPECT_THROW(TypeMeta::Make<Unassignable>().copy()(&from, &to, 1), Error);
}

TEST(Numeric, DividesTowardMinusInfinity) {
  EXPECT_EQ(div_floor_integer(-7, 2), -4);
  EXPECT_EQ(div_mod(-7, 2), 1);
  EXPECT_EQ(div_floor_floating(-7.0, 2.0), -4.0);
  EXPECT_EQ(div_mod(5.0, -3.0), -1.0);
}

TEST(Numeric, KnowsWhatOverflows) {
  EXPECT_TRUE((overflows<int8_t>(200)));
  EXPECT_FALSE((overflows<uint8_t>(-200)));
  EXPECT_TRUE((overflows<uint8_t>(-200, true)));
  EXPECT_FALSE((overflows<float>(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE((overflows<int>(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE((overflows<float>(C(1, 1))));
}

}  // namespace
}  // namespace cresset
