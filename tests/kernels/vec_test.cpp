#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "cresset/kernels/vec/functional.h"
#include "cresset/kernels/vec/quantized.h"

namespace cresset::vec {
namespace {

template <class T> std::vector<T> lanes_of(const Vectorized<T>& v) {
  std::vector<T> out(static_cast<size_t>(v.size()));
  v.store(out.data());
  return out;
}
template <class T> std::vector<T> counting(int n, T from = T(0)) {
  std::vector<T> out;
  for (int i = 0; i < n; i++) out.push_back(static_cast<T>(from + static_cast<T>(i)));
  return out;
}

TEST(Vec, HoldsThirtyTwoBytes) {
  EXPECT_EQ(Vectorized<float>::size(), 8);
  EXPECT_EQ(Vectorized<double>::size(), 4);
  EXPECT_EQ(Vectorized<BFloat16>::size(), 16);
  EXPECT_EQ(Vectorized<complex<float>>::size(), 4);
}

TEST(Vec, LoadsAndStoresAtAnyAddressAndInPart) {
  std::vector<unsigned char> bytes(2 * kBytes), out(2 * kBytes);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  Vectorized<float>::loadu(bytes.data() + 3).store(out.data() + 1);
  EXPECT_TRUE(std::equal(out.begin() + 1, out.begin() + 1 + kBytes, bytes.begin() + 3));
  const float x[] = {1, 2, 3};
  const auto part = lanes_of(Vectorized<float>::loadu(x, 3));
  EXPECT_EQ(part[2], 3);
  EXPECT_EQ(part[3], 0);
  float two[3] = {0, 0, 7};
  Vectorized<float>(5).store(two, 2);
  EXPECT_EQ(two[1], 5);
  EXPECT_EQ(two[2], 7);
}

TEST(Vec, ComputesByElement) {
  using V = Vectorized<int32_t>;
  const V a = V::arange(1), b = V::arange(0, 2);
  for (int i = 0; i < V::size(); i++) {
    EXPECT_EQ((a + b)[i], 1 + 3 * i);
    EXPECT_EQ((a * b - a)[i], (1 + i) * 2 * i - 1 - i);
    EXPECT_EQ((b / a)[i], 2 * i / (1 + i));
    EXPECT_EQ((a | b)[i], (1 + i) | (2 * i));
    EXPECT_EQ((-a)[i], -1 - i);
    EXPECT_EQ((a << V(2))[i], (1 + i) * 4);
    EXPECT_EQ((a >> V(40))[i], 0);
    EXPECT_EQ((-a >> V(40))[i], -1);
  }
  V c = a;
  c += b;
  c *= V(2);
  EXPECT_EQ(c[1], 8);
}

TEST(Vec, FunctionsAreThoseOfOperators) {
  using V = Vectorized<float>;
  const V x(0.7f);
  EXPECT_FLOAT_EQ(x.exp()[0], std::exp(0.7f));
  EXPECT_FLOAT_EQ(x.tanh()[1], std::tanh(0.7f));
  EXPECT_FLOAT_EQ(x.erf()[2], std::erf(0.7f));
  EXPECT_FLOAT_EQ(x.lgamma()[3], std::lgamma(0.7f));
  EXPECT_FLOAT_EQ(x.pow(V(3))[0], std::pow(0.7f, 3.0f));
  EXPECT_FLOAT_EQ(x.rsqrt()[0], 1 / std::sqrt(0.7f));
  EXPECT_FLOAT_EQ(V(1e20f).sin()[0], std::sin(1e20f));  // far from where the polynomials are
  EXPECT_EQ(V(2.5f).round()[0], 2);
  EXPECT_EQ(V(-2.5f).trunc()[0], -2);
  const Vectorized<complex<double>> z(complex<double>(3, 4));
  EXPECT_EQ(z.abs()[0], complex<double>(5));
  EXPECT_EQ(z.conj()[0], complex<double>(3, -4));
  EXPECT_NEAR(z.log()[1].real(), std::log(5), 1e-12);
}

TEST(Vec, ComparisonsAreMasksThatBlend) {
  using V = Vectorized<float>;
  const V a = V::arange(0), b(3.0f);
  const V less = V::blendv(b, a, a < b);
  for (int i = 0; i < V::size(); i++) {
    EXPECT_EQ(less[i], i < 3 ? i : 3);
    EXPECT_EQ(a.lt(b)[i], i < 3 ? 1 : 0);
  }
  EXPECT_EQ((V::blend<0b101>(b, a))[2], 2);
  EXPECT_EQ((V::blend<0b101>(b, a))[1], 3);
  EXPECT_EQ(V::set(a, b, 2)[1], 3);
  EXPECT_EQ(V::set(a, b, 2)[2], 2);
  EXPECT_EQ(a.zero_mask(), 1);
}

TEST(Vec, NanIsKeptByMinimumMaximumAndClamp) {
  using V = Vectorized<double>;
  const V nan(std::nan("")), one(1.0);
  EXPECT_TRUE(std::isnan(maximum(nan, one)[0]) && std::isnan(maximum(one, nan)[0]));
  EXPECT_TRUE(std::isnan(minimum(one, nan)[0]) && std::isnan(clamp(nan, one, one)[0]));
  EXPECT_EQ(clamp(V(5.0), V(0.0), one)[0], 1);
  EXPECT_TRUE(nan.has_inf_nan() && !one.has_inf_nan());
}

TEST(Vec, ReducedElementsAreComputedInFloat) {
  using V = Vectorized<BFloat16>;
  const V sum = V(BFloat16(1.0f)) + V(BFloat16(0.5f));
  EXPECT_EQ(static_cast<float>(sum[5]), 1.5f);
  const auto [low, high] = convert_bfloat16_float(V::arange(BFloat16(0.0f)));
  EXPECT_EQ(low[1], 1);
  EXPECT_EQ(high[0], Vectorized<float>::size());
  EXPECT_EQ(static_cast<float>(convert_float_bfloat16(low, high)[3]), 3);
}

TEST(Vec, MixesLanesOfPairs) {
  using V = Vectorized<int64_t>;
  const auto [first, second] = interleave2(V::arange(0), V::arange(10));
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(first[1], 10);
  const auto [a, b] = deinterleave2(first, second);
  EXPECT_EQ(lanes_of(a), counting<int64_t>(V::size()));
  EXPECT_EQ(lanes_of(b), counting<int64_t>(V::size(), 10));
  EXPECT_EQ(flip(a)[0], V::size() - 1);
  const double table[] = {5, 6, 7, 8};
  EXPECT_EQ(gather<8>(table, V(2))[0], 7);
}

TEST(Vec, ConvertsElements) {
  const auto doubles = convert<double>(Vectorized<float>::arange(0.5f));
  EXPECT_EQ(doubles[1], 1.5);
  const auto bytes = convert<int8_t>(Vectorized<float>(-3.7f));
  EXPECT_EQ(bytes[0], -3);
  EXPECT_EQ(bytes[Vectorized<float>::size()], 0);  // behind the last converted lane
  const auto wide = convert<int64_t, 2, int32_t, 1>(VectorizedN<int32_t, 1>(Vectorized<int32_t>::arange(0)));
  EXPECT_EQ(wide[1][0], Vectorized<int64_t>::size());
  EXPECT_EQ(cast<int32_t>(Vectorized<float>(1.0f))[0], 0x3f800000);
}

TEST(Vec, MasksChooseWhatIsLoadedAndBlended) {
  using V = Vectorized<float>;
  std::vector<int> truths(static_cast<size_t>(V::size()));
  truths[1] = 1;
  const auto mask = VecMask<float, 1>::from(truths.data());
  EXPECT_TRUE(mask.is_masked(1) && !mask.is_masked(0) && !mask.all_zero() && !mask.all_masked());
  EXPECT_TRUE((~mask | mask).all_masked());
  const auto x = counting<float>(V::size(), 1);
  const auto loaded = mask.loadu<float, 1>(x.data());
  EXPECT_EQ(loaded[1], 2);
  EXPECT_EQ(loaded[0], 0);
  EXPECT_EQ(V::blendv(V(0.f), V(9.f), mask)[1], 9);
  EXPECT_TRUE((mask.cast<double, 2>().is_masked(1)));
}

TEST(Vec, MapsAndReducesArraysOfAnyLength) {
  using V = Vectorized<float>;
  for (const int n : {1, 7, 8, 9, 100}) {
    const auto x = counting<float>(n, 1);
    std::vector<float> y(x.size() + 1, -1);
    map<float>([](V a) { return a * V(2); }, y.data(), x.data(), n);
    EXPECT_EQ(y[static_cast<size_t>(n - 1)], 2 * n);
    EXPECT_EQ(y.back(), -1);
    map3<float>([](V a, V b, V c) { return a + b * c; }, y.data(), x.data(), x.data(), x.data(), n);
    EXPECT_EQ(y[0], 2);
    EXPECT_EQ(reduce_all<float>([](V& a, V& b) { return a + b; }, x.data(), n), n * (n + 1) / 2);
    EXPECT_EQ(reduce_all<float>([](V& a, V& b) { return maximum(a, b); }, x.data(), n), n);
    EXPECT_EQ((map2_reduce_all<float>([](V a, V b) { return a - b; }, [](V a, V b) { return a + b; }, x.data(), x.data(), n)), 0);
    const std::vector<BFloat16> low(static_cast<size_t>(n), BFloat16(0.5f));
    EXPECT_EQ(reduce_all<BFloat16>([](V& a, V& b) { return a + b; }, low.data(), n), 0.5f * static_cast<float>(n));
  }
  EXPECT_EQ(vec_reduce_all<float>([](V& a, V& b) { return a + b; }, V(1)), V::size());
}

TEST(Vec, QuantisesAndBack) {
  using Q = Vectorized<quint8>;
  Q::float_vec_return_type x;
  for (auto& part : x) part = Vectorized<float>(2.6f);
  const Q q = Q::quantize(x, 0.5f, 10, 2.0f);
  EXPECT_EQ(q[0], 15);
  EXPECT_EQ(q.dequantize(Vectorized<float>(0.5f), Vectorized<float>(10))[0][0], 2.5f);
  for (auto& part : x) part = Vectorized<float>(1e9f);
  EXPECT_EQ(Q::quantize(x, 0.5f, 10, 2.0f)[3], 255);
  EXPECT_EQ(q.relu(Q(quint8(20)))[0], 20);
}

TEST(Vec, Prints) {
  std::ostringstream out;
  out << Vectorized<double>(1.5);
  EXPECT_EQ(out.str().substr(0, 9), "vec[1.5, ");
}

}  // namespace
}  // namespace cresset::vec
