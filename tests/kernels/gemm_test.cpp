#include "cresset/kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"

namespace cresset::kernels {
namespace {

template <class T> struct Wide { using type = T; };
template <> struct Wide<float> { using type = double; };
template <> struct Wide<Half> { using type = double; };
template <> struct Wide<BFloat16> { using type = double; };
template <> struct Wide<double> { using type = long double; };
template <> struct Wide<complex<float>> { using type = complex<double>; };
template <> struct Wide<int8_t> { using type = uint64_t; };
template <> struct Wide<uint8_t> { using type = uint64_t; };
template <> struct Wide<int16_t> { using type = uint64_t; };
template <> struct Wide<uint16_t> { using type = uint64_t; };
template <> struct Wide<int32_t> { using type = uint64_t; };
template <> struct Wide<uint32_t> { using type = uint64_t; };
template <> struct Wide<int64_t> { using type = uint64_t; };

template <class W, class T> W widen(T x) {
  if constexpr (is_complex<T>::value) return W(x);
  else if constexpr (std::is_integral_v<T>) return static_cast<W>(x);
  else return static_cast<W>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(x));
}
template <class W> double magnitude(W x) {
  if constexpr (is_complex<W>::value) return std::hypot(static_cast<double>(x.real()), static_cast<double>(x.imag()));
  else return std::abs(static_cast<double>(x));
}

template <class T> std::vector<T> random_values(int64_t count, unsigned seed) {
  std::mt19937_64 gen(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<T> v(count);
  for (auto& x : v) {
    if constexpr (is_complex<T>::value) {
      x = T(static_cast<typename T::value_type>(real(gen)), static_cast<typename T::value_type>(real(gen)));
    } else if constexpr (std::is_integral_v<T>) {
      x = static_cast<T>(gen());
    } else {
      x = static_cast<T>(static_cast<float>(real(gen)));
    }
  }
  return v;
}

struct Case {
  bool trans_a, trans_b;
  int64_t m, n, k;
  Scalar alpha = 1, beta = 0;
  int64_t pad = 0;  // extra elements per row
  bool bias = false, relu = false;
  int64_t batch = 1;
};

// Runs the product and compares it with a triple loop in a wider type; the padding between rows must stay as it was.
template <class T> void check(const Case& t) {
  using W = typename Wide<T>::type;
  const int64_t lda = (t.trans_a ? t.m : t.k) + t.pad, ldb = (t.trans_b ? t.k : t.n) + t.pad, ldc = t.n + t.pad;
  const int64_t size_a = (t.trans_a ? t.k : t.m) * lda, size_b = (t.trans_b ? t.n : t.k) * ldb, size_c = t.m * ldc;
  const auto a = random_values<T>(size_a * t.batch, 1), b = random_values<T>(size_b * t.batch, 2), bias = random_values<T>(t.n, 4);
  const auto before = random_values<T>(size_c * t.batch, 3);
  auto c = before;
  const GemmEpilogue epilogue{t.bias ? bias.data() : nullptr, t.relu};
  gemm_batched(dtype_of<T>, t.trans_a, t.trans_b, t.m, t.n, t.k, t.alpha, a.data(), lda, size_a, b.data(), ldb, size_b, t.beta, c.data(), ldc, size_c, t.batch,
               &epilogue);
  const W alpha = widen<W>(t.alpha.as<T>()), beta = widen<W>(t.beta.as<T>());
  double eps = 0;
  if constexpr (is_complex<T>::value) eps = std::numeric_limits<typename T::value_type>::epsilon();
  else if constexpr (!std::is_integral_v<T>) eps = static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon()));
  const double sum_eps = std::min(eps, 1.2e-7);
  for (int64_t q = 0; q < t.batch; q++)
    for (int64_t i = 0; i < t.m; i++)
      for (int64_t j = 0; j < ldc; j++) {
        const T got = c[q * size_c + i * ldc + j], old = before[q * size_c + i * ldc + j];
        if (j >= t.n) {
          ASSERT_EQ(std::memcmp(&got, &old, sizeof(T)), 0) << "padding at " << i << ", " << j;
          continue;
        }
        W sum{};
        double scale = 0;
        for (int64_t p = 0; p < t.k; p++) {
          const W x = widen<W>(a[q * size_a + (t.trans_a ? p * lda + i : i * lda + p)]);
          const W y = widen<W>(b[q * size_b + (t.trans_b ? j * ldb + p : p * ldb + j)]);
          sum += x * y;
          scale += magnitude(x) * magnitude(y);
        }
        W want = alpha * sum;
        if (!t.beta.equal(0)) want += beta * widen<W>(old);
        if (t.bias) want += widen<W>(bias[j]);
        if constexpr (!is_complex<T>::value && !std::is_integral_v<T>)
          if (t.relu && want < 0) want = 0;
        if constexpr (std::is_integral_v<T>) {
          ASSERT_EQ(got, static_cast<T>(want)) << dtype_name(dtype_of<T>) << " at " << i << ", " << j << " of " << t.m << "x" << t.n << "x" << t.k;
        } else {
          const double tolerance = sum_eps * (4 + std::sqrt(t.k)) * (magnitude(alpha) * scale + magnitude(beta) + 2) + eps * magnitude(want);
          ASSERT_LE(magnitude(widen<W>(got) - want), tolerance)
              << dtype_name(dtype_of<T>) << " at " << i << ", " << j << " of " << t.m << "x" << t.n << "x" << t.k << " trans " << t.trans_a << t.trans_b;
        }
      }
}

template <class T> class GemmTest : public testing::Test {};
using AllTypes =
    testing::Types<uint8_t, int8_t, int16_t, int32_t, int64_t, Half, float, double, complex<float>, complex<double>, BFloat16, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(GemmTest, AllTypes);

TYPED_TEST(GemmTest, SmallAndOddSizes) {
  const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 13, 16, 17, 33};
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int64_t m : sizes)
        for (int64_t n : sizes)
          for (int64_t k : {1, 2, 3, 5, 16, 31}) check<TypeParam>({ta, tb, m, n, k});
}

TYPED_TEST(GemmTest, SizesAcrossBlocks) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      check<TypeParam>({ta, tb, 63, 65, 300});
      check<TypeParam>({ta, tb, 129, 70, 67});
      check<TypeParam>({ta, tb, 5, 1100, 9});
      check<TypeParam>({ta, tb, 530, 37, 20});
      check<TypeParam>({ta, tb, 20, 20, 1300});
      for (int64_t k : {64, 67, 300})
        for (int64_t m : {1, 7, 16, 17})
          for (int64_t n : {1, 2, 4, 5}) check<TypeParam>({ta, tb, m, n, k});
    }
}

TYPED_TEST(GemmTest, RowsWithPadding) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      check<TypeParam>({ta, tb, 4, 4, 4, 1, 0, 3});
      check<TypeParam>({ta, tb, 37, 29, 41, 1, 1, 5});
      check<TypeParam>({ta, tb, 1, 29, 41, 1, 1, 5});
      check<TypeParam>({ta, tb, 37, 1, 41, 1, 1, 5});
    }
}

TYPED_TEST(GemmTest, AlphaAndBeta) {
  for (const Scalar& alpha : {Scalar(1), Scalar(3), Scalar(0), Scalar(-2)})
    for (const Scalar& beta : {Scalar(0), Scalar(1), Scalar(-3)})
      for (bool ta : {false, true}) {
        check<TypeParam>({ta, false, 19, 35, 11, alpha, beta});
        check<TypeParam>({ta, true, 4, 4, 4, alpha, beta});
        check<TypeParam>({ta, true, 1, 35, 40, alpha, beta});
        check<TypeParam>({ta, false, 35, 1, 400, alpha, beta});
        check<TypeParam>({ta, true, 21, 23, 600, alpha, beta});
      }
}

TYPED_TEST(GemmTest, BiasPerColumn) {
  for (const Scalar& beta : {Scalar(0), Scalar(1)}) {
    check<TypeParam>({false, true, 19, 35, 11, 1, beta, 0, true});
    check<TypeParam>({false, true, 4, 4, 4, 1, beta, 0, true});
    check<TypeParam>({false, true, 1, 40, 50, 1, beta, 0, true});
    check<TypeParam>({false, false, 50, 1, 50, 1, beta, 0, true});
    check<TypeParam>({false, true, 40, 40, 900, 1, beta, 0, true});
  }
}

TYPED_TEST(GemmTest, Batches) {
  check<TypeParam>({false, false, 5, 6, 7, 1, 0, 0, false, false, 9});
  check<TypeParam>({false, true, 33, 18, 40, 1, 1, 2, true, false, 3});
}

TYPED_TEST(GemmTest, EmptyDepthScalesC) {
  using T = TypeParam;
  std::vector<T> c(6, T(static_cast<T>(3))), bias(3, T(static_cast<T>(1)));
  gemm(dtype_of<T>, false, false, 2, 3, 0, 1, nullptr, 1, nullptr, 3, 2, c.data(), 3);
  for (const T& x : c) EXPECT_TRUE(x == T(static_cast<T>(6)));
  const GemmEpilogue epilogue{bias.data(), false};
  gemm(dtype_of<T>, false, false, 2, 3, 0, 1, nullptr, 1, nullptr, 3, 0, c.data(), 3, &epilogue);
  for (const T& x : c) EXPECT_TRUE(x == T(static_cast<T>(1)));
}

TYPED_TEST(GemmTest, EmptyResultTouchesNothing) {
  gemm(dtype_of<TypeParam>, false, false, 0, 3, 4, 1, nullptr, 4, nullptr, 3, 0, nullptr, 3);
  gemm(dtype_of<TypeParam>, false, false, 3, 0, 4, 1, nullptr, 4, nullptr, 1, 0, nullptr, 1);
}

TYPED_TEST(GemmTest, ThreadCountDoesNotChangeABit) {
  using T = TypeParam;
  const int threads = get_num_threads();
  const int64_t shapes[][4] = {{150, 330, 270, 1}, {400, 100, 300, 1}, {64, 64, 500, 7}, {1, 3000, 2000, 1}, {3000, 1, 2000, 1}, {8, 1500, 700, 1}};
  for (const auto& s : shapes)
    for (bool tb : {false, true}) {
      const auto a = random_values<T>(s[0] * s[2] * s[3], 1), b = random_values<T>(s[1] * s[2] * s[3], 2);
      std::vector<T> one(s[0] * s[1] * s[3]), two(one.size());
      const auto run = [&](std::vector<T>& c, int n) {
        set_num_threads(n);
        gemm_batched(dtype_of<T>, false, tb, s[0], s[1], s[2], 1, a.data(), s[2], s[0] * s[2], b.data(), tb ? s[2] : s[1], s[1] * s[2], 0, c.data(), s[1],
                     s[0] * s[1], s[3]);
      };
      run(one, 1);
      run(two, 2);
      set_num_threads(threads);
      EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(T)), 0) << s[0] << "x" << s[1] << "x" << s[2];
    }
}

template <class T> class GemmFloatTest : public testing::Test {};
using FloatTypes = testing::Types<Half, float, double, BFloat16>;
TYPED_TEST_SUITE(GemmFloatTest, FloatTypes);

TYPED_TEST(GemmFloatTest, ReluAfterBias) {
  check<TypeParam>({false, true, 33, 50, 20, 1, 0, 0, true, true});
  check<TypeParam>({false, true, 1, 50, 20, 1, 0, 0, true, true});
  check<TypeParam>({false, true, 4, 4, 4, 1, 0, 0, true, true});
  check<TypeParam>({false, true, 33, 50, 800, 1, 1, 0, false, true});
}

TYPED_TEST(GemmFloatTest, ReluKeepsNaN) {
  using T = TypeParam;
  for (int64_t n : {1, 4, 40}) {
    std::vector<T> a(n, T(1.0f)), b(n * n, T(1.0f)), c(n);
    b[0] = std::numeric_limits<T>::quiet_NaN();
    const GemmEpilogue epilogue{nullptr, true};
    gemm(dtype_of<T>, false, false, 1, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n, &epilogue);
    EXPECT_TRUE(std::isnan(static_cast<float>(c[0])));
  }
}

TYPED_TEST(GemmFloatTest, BetaZeroNeverReadsC) {
  using T = TypeParam;
  for (int64_t m : {1, 4, 40})
    for (int64_t n : {1, 4, 40})
      for (int64_t k : {0, 4, 600}) {
        std::vector<T> a(m * k, T(1.0f)), b(k * n, T(1.0f)), c(m * n, std::numeric_limits<T>::quiet_NaN());
        gemm(dtype_of<T>, false, false, m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n);
        for (T x : c) EXPECT_EQ(static_cast<float>(x), static_cast<float>(k));
      }
}

// 4,096 terms of 1 and 2^-8: a running sum in the storage type would stop growing.
TYPED_TEST(GemmFloatTest, LongSumsKeepSmallTerms) {
  using T = TypeParam;
  const int64_t k = 4096;
  std::vector<T> a(k, T(0.00390625f)), b(k * 2, T(1.0f)), c(2);
  gemm(dtype_of<T>, false, false, 1, 2, k, 1, a.data(), k, b.data(), 2, 0, c.data(), 2);
  EXPECT_EQ(static_cast<float>(c[0]), 16.0f);
}

TEST(Gemm, ComplexFactors) {
  check<complex<float>>({false, true, 9, 14, 21, complex<double>(0.5, -2), complex<double>(1, 1)});
  check<complex<double>>({true, false, 9, 14, 21, complex<double>(0, 1), 0});
  check<complex<float>>({false, true, 1, 14, 21, complex<double>(0.5, -2), complex<double>(1, 1)});
}

// Products of a few numbers take loops of their own, alone and in batches.
TYPED_TEST(GemmFloatTest, FewNumbersGiveTheSameBitsHoweverTheyLie) {
  using T = TypeParam;
  for (int64_t m = 1; m <= 4; m++)
    for (int64_t n = 1; n <= 4; n++)
      for (int64_t k = 1; k <= 4; k++) {
        const int64_t batch = 5;
        const auto a = random_values<T>(batch * m * k, 1), b = random_values<T>(batch * k * n, 2);
        std::vector<T> turned(b.size()), one(batch * m * n), together(one.size()), transposed(one.size());
        for (int64_t item = 0; item < batch; item++) {
          for (int64_t j = 0; j < n; j++)
            for (int64_t q = 0; q < k; q++) turned[(item * n + j) * k + q] = b[(item * k + q) * n + j];
          gemm(dtype_of<T>, false, false, m, n, k, 0.75, &a[item * m * k], k, &b[item * k * n], n, 0, &one[item * m * n], n);
        }
        gemm_batched(dtype_of<T>, false, false, m, n, k, 0.75, a.data(), k, m * k, b.data(), n, k * n, 0, together.data(), n, m * n, batch);
        gemm_batched(dtype_of<T>, false, true, m, n, k, 0.75, a.data(), k, m * k, turned.data(), k, k * n, 0, transposed.data(), n, m * n, batch);
        EXPECT_EQ(std::memcmp(one.data(), together.data(), one.size() * sizeof(T)), 0) << m << "x" << n << "x" << k;
        if constexpr (sizeof(T) >= 4) { EXPECT_EQ(std::memcmp(one.data(), transposed.data(), one.size() * sizeof(T)), 0) << m << "x" << n << "x" << k; }
      }
}

TEST(Gemm, FractionalFactors) {
  check<float>({false, false, 40, 40, 600, 0.125, 0.75});
  check<BFloat16>({false, false, 40, 40, 600, 0.125, 0.75});
}

TEST(Gemm, BoolIsRefused) {
  bool x = true;
  EXPECT_THROW(gemm(ScalarType::Bool, false, false, 1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1), NotImplementedError);
}

TEST(Gemm, ReluOfIntegersIsRefused) {
  int32_t x = 1;
  const GemmEpilogue epilogue{nullptr, true};
  EXPECT_THROW(gemm(ScalarType::Int, false, false, 1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1, &epilogue), Error);
}

}  // namespace
}  // namespace cresset::kernels
