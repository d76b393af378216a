#include "cresset/kernels/sort/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cresset/kernels/common/sort_key.h"
#include "strided_array.h"

namespace cresset::kernels {
namespace {

using namespace testing;

template <class F> void for_real_dtypes(F f) {
  for_all_dtypes([&](auto tag) {
    if constexpr (!is_complex<decltype(tag)>::value) f(tag);
  });
}

// PyTorch's order: NaN greatest, -0 equal to 0.
template <class T> bool before(T a, T b) {
  if constexpr (std::is_integral_v<T>) return a < b;
  else return b != b ? a == a : a < b;
}

template <class T> std::vector<int64_t> stable_order(const std::vector<T>& row, bool descending) {
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const T x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    return descending ? before<T>(y, x) : before<T>(x, y);
  });
  return order;
}

// Values of every kind: many equal ones, all bits random, infinities, NaN of both signs, zeros of both signs.
template <class T> void fill_awkward(Array<T>& a, std::mt19937& rng) {
  const int mode = static_cast<int>(rng() % 3);
  a.for_each([&](const Shape& at) {
    uint64_t bits = (static_cast<uint64_t>(rng()) << 32) | rng();
    if constexpr (std::is_same_v<T, bool>) {
      a(at) = bits & 1;
    } else {
      if (mode == 0) a(at) = static_cast<T>(static_cast<float>(bits % 5));
      else std::memcpy(static_cast<void*>(&a(at)), &bits, sizeof(T));
      if constexpr (!std::is_integral_v<T>) {
        if (mode == 2 && bits % 7 == 0) a(at) = T(-0.0f);
        if (mode == 2 && bits % 7 == 1) a(at) = T(0.0f);
        if (mode == 2 && bits % 7 == 2) a(at) = T(bits % 2 ? INFINITY : -INFINITY);
        if (mode == 2 && bits % 7 == 3) a(at) = T(bits % 2 ? NAN : -NAN);
      }
    }
  });
}

template <class T> std::vector<T> row_of(const Array<T>& a, Shape at, size_t dim) {
  std::vector<T> row;
  for (at[dim] = 0; at[dim] < a.sizes[dim]; at[dim]++) row.push_back(a(at));
  return row;
}

TEST(Sort, IsStableInPyTorchsOrderForEveryDtypeLayoutAndDim) {
  std::mt19937 rng(1);
  for_real_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (size_t dim = 0; dim < 3; dim++)
        for (int64_t n : {1, 2, 17, 230, 700})
          for (bool descending : {false, true}) {
            Shape shape{3, 2, 5};
            shape[dim] = n;
            Array<T> self(shape, layout), values(shape, layout);
            Array<int64_t> indices(shape, layout);
            fill_awkward(self, rng);
            sort(values.view(), indices.view(), self.view(), static_cast<int64_t>(dim), descending);
            Shape outer = shape;
            outer[dim] = 1;
            Array<bool>(outer).for_each([&](Shape at) {
              const auto row = row_of(self, at, dim);
              const auto expected = stable_order<T>(row, descending);
              for (int64_t i = 0; i < n; i++) {
                at[dim] = i;
                ASSERT_EQ(indices(at), expected[static_cast<size_t>(i)]) << dtype_name(dtype_of<T>) << ' ' << n;
                const T wanted = row[static_cast<size_t>(expected[static_cast<size_t>(i)])];
                ASSERT_TRUE(same_bits(values(at), wanted));
              }
            });
          }
  });
}

// The range of 64-bit keys leaves no room for the index beside them, and many agree in their high bits.
TEST(Sort, WideKeysThatDifferInTheLastBitsOnly) {
  std::mt19937_64 rng(2);
  constexpr int64_t kN = 5000;
  Array<int64_t> self({kN}), values({kN}), indices({kN});
  for (int64_t i = 0; i < kN; i++) self({i}) = (rng() % 4 == 0 ? INT64_MIN : rng() % 3 == 0 ? INT64_MAX - 100 : 0) + static_cast<int64_t>(rng() % 50);
  for (bool descending : {false, true}) {
    sort(values.view(), indices.view(), self.view(), 0, descending);
    EXPECT_EQ(indices.values(), stable_order<int64_t>(self.values(), descending));
    for (int64_t i = 0; i < kN; i++) ASSERT_EQ(values({i}), self({indices({i})}));
  }
}

// Golden from PyTorch 2.13 (stable=True).
TEST(Sort, NaNAndZerosAsInPyTorch) {
  const double nan = NAN, inf = INFINITY;
  const Array<float> x({8}, {nan, 1, -0.0, 0.0, nan, inf, -inf, 1});
  Array<int64_t> indices({8});
  argsort(indices.view(), x.view(), 0, false);
  EXPECT_EQ(indices.values(), (std::vector<int64_t>{6, 2, 3, 1, 7, 5, 0, 4}));
  argsort(indices.view(), x.view(), 0, true);
  EXPECT_EQ(indices.values(), (std::vector<int64_t>{0, 4, 5, 1, 7, 2, 3, 6}));
  Array<float> value({1});
  Array<int64_t> index({1});
  kthvalue(value.view(), index.view(), x.view(), 3, 0);
  EXPECT_EQ(value({0}), 0);
  EXPECT_EQ(index({0}), 2);
  median(value.view(), index.view(), x.view(), 0, false);
  EXPECT_TRUE(std::isnan(value({0})));
  EXPECT_EQ(index({0}), 0);
  median(value.view(), index.view(), x.view(), 0, true);
  EXPECT_EQ(value({0}), 0);
  EXPECT_EQ(index({0}), 3);
  mode(value.view(), index.view(), x.view(), 0);
  EXPECT_EQ(index({0}), 3);
}

TEST(Sort, ModeIsTheLeastOfTheMostFrequent) {
  const Array<int64_t> x({6}, {3, 1, 1, 2, 2, 5});
  Array<int64_t> value({1}), index({1});
  mode(value.view(), index.view(), x.view(), 0);
  EXPECT_EQ(value({0}), 1);
  EXPECT_EQ(index({0}), 2);
}

// Neither comes before the other.
template <class T> bool same_rank(T a, T b) { return a == b || (a != a && b != b); }

// Which of equal values they name is PyTorch's choice (tests/python/ops/promotion_test.py), not the first in the row.
TEST(Sort, TopkAndKthvalueAgreeWithSorting) {
  std::mt19937 rng(3);
  for_real_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (int64_t n : {1, 5, 40, 300, 1000})
        for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{20}, n / 5, n / 2, n})
          for (bool largest : {true, false}) {
            if (k > n) continue;
            Array<T> self({3, n}, layout), values({3, k}, layout), one({3, 1}, layout);
            Array<int64_t> indices({3, k}, layout), index({3, 1}, layout);
            fill_awkward(self, rng);
            topk(values.view(), indices.view(), self.view(), k, 1, largest, true);
            for (int64_t r = 0; r < 3; r++) {
              const auto row = row_of(self, {r, 0}, 1);
              const auto expected = stable_order<T>(row, largest);
              for (int64_t i = 0; i < k; i++) {
                const T wanted = row[static_cast<size_t>(expected[static_cast<size_t>(i)])];
                ASSERT_TRUE(same_rank(values({r, i}), wanted)) << dtype_name(dtype_of<T>) << ' ' << n << ' ' << k;
                ASSERT_TRUE(same_bits(values({r, i}), row[static_cast<size_t>(indices({r, i}))]));
              }
              auto places = row_of(indices, {r, 0}, 1);
              std::sort(places.begin(), places.end());
              ASSERT_TRUE(std::adjacent_find(places.begin(), places.end()) == places.end());
            }
            topk(values.view(), indices.view(), self.view(), k, 1, largest, false);
            for (int64_t r = 0; r < 3; r++) {
              const auto row = row_of(self, {r, 0}, 1);
              const auto expected = stable_order<T>(row, largest);
              const auto got = row_of(indices, {r, 0}, 1);
              const auto chosen = [&](const std::vector<int64_t>& from, int64_t count) {
                std::vector<bool> which(row.size());
                for (int64_t i = 0; i < count; i++) which[static_cast<size_t>(from[static_cast<size_t>(i)])] = true;
                std::vector<T> values_of;
                for (const int64_t i : expected)
                  if (which[static_cast<size_t>(i)]) values_of.push_back(row[static_cast<size_t>(i)]);
                return values_of;
              };
              const auto have = chosen(got, k), want = chosen(expected, k);
              ASSERT_EQ(have.size(), want.size());
              for (size_t i = 0; i < have.size(); i++) ASSERT_TRUE(same_rank(have[i], want[i]));
            }
            if (k == 0 || largest) continue;
            kthvalue(one.view(), index.view(), self.view(), k, 1);
            for (int64_t r = 0; r < 3; r++) {
              const auto row = row_of(self, {r, 0}, 1);
              const int64_t expected = stable_order<T>(row, false)[static_cast<size_t>(k - 1)];
              ASSERT_TRUE(same_rank(one({r, 0}), row[static_cast<size_t>(expected)]));
              ASSERT_TRUE(same_bits(one({r, 0}), row[static_cast<size_t>(index({r, 0}))]));
            }
          }
  });
}

TEST(Sort, RefusesWhatItCannotDo) {
  Array<float> x({3}), out({5});
  Array<int64_t> index({5});
  EXPECT_THROW(topk(out.view(), index.view(), x.view(), 5, 0, true, true), Error);
  EXPECT_THROW(kthvalue(out.view(), index.view(), x.view(), 0, 0), Error);
  Array<complex<float>> c({3});
  EXPECT_THROW(sort(c.view(), index.view(), c.view(), 0, false), NotImplementedError);
  const Array<float> empty({0});
  EXPECT_THROW(median(out.view(), index.view(), empty.view(), 0, false), IndexError);
}

TEST(Sort, ZeroDimAndEmpty) {
  const Array<float> x(Shape{}, {4});
  Array<float> values((Shape{}));
  Array<int64_t> indices((Shape{}));
  sort(values.view(), indices.view(), x.view(), 0, true);
  EXPECT_EQ(values.values(), std::vector<float>{4});
  Array<float> none({0, 3});
  Array<int64_t> places({0, 3});
  sort(none.view(), places.view(), none.view(), 1, false);
  sort(none.view(), places.view(), none.view(), 0, false);
}

TEST(Sort, UniqueFindsSortedValuesTheirPlacesAndCounts) {
  std::mt19937 rng(4);
  for_real_dtypes([&](auto tag) {
    using T = decltype(tag);
    Array<T> x({20, 30}, Layout::transposed), values({600});
    x.randomize(rng, 0, 7);
    std::vector<int64_t> inverse(600), counts(600);
    const int64_t n = unique(values.data(), inverse.data(), counts.data(), x.view());
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
      if (i > 0) { ASSERT_TRUE(before<T>(values({i - 1}), values({i}))); }
      total += counts[static_cast<size_t>(i)];
    }
    ASSERT_EQ(total, 600);
    const auto flat = x.values();
    std::vector<int64_t> seen(static_cast<size_t>(n));
    for (size_t i = 0; i < 600; i++) {
      ASSERT_TRUE(same_bits<T>(values({inverse[i]}), flat[i]));
      seen[static_cast<size_t>(inverse[i])]++;
    }
    for (int64_t i = 0; i < n; i++) ASSERT_EQ(seen[static_cast<size_t>(i)], counts[static_cast<size_t>(i)]);
  });
}

// Golden from PyTorch 2.13.
TEST(Sort, UniqueKeepsEveryNaNAndConsecutiveKeepsRuns) {
  const Array<float> x({5}, {NAN, 1, NAN, -0.0, 0.0});
  std::vector<float> values(5);
  std::vector<int64_t> inverse(5), counts(5);
  EXPECT_EQ(unique(values.data(), inverse.data(), counts.data(), x.view()), 4);
  EXPECT_TRUE(values[0] == 0 && values[1] == 1 && std::isnan(values[2]) && std::isnan(values[3]));
  EXPECT_EQ(inverse, (std::vector<int64_t>{2, 1, 3, 0, 0}));
  EXPECT_EQ(std::vector<int64_t>(counts.begin(), counts.begin() + 4), (std::vector<int64_t>{2, 1, 1, 1}));
  const Array<int64_t> y({5}, {1, 1, 2, 2, 1});
  std::vector<int64_t> runs(5);
  EXPECT_EQ(unique_consecutive(runs.data(), inverse.data(), counts.data(), y.view()), 3);
  EXPECT_EQ(inverse, (std::vector<int64_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(counts[0] * 100 + counts[1] * 10 + counts[2], 221);
}

TEST(Sort, SearchsortedMatchesALinearSearch) {
  std::mt19937 rng(5);
  for_real_dtypes([&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) return;
    for (bool batched : {false, true}) {
      Array<T> sorted(batched ? Shape{3, 20} : Shape{20}), raw = sorted, values({3, 40}, Layout::transposed);
      Array<int64_t> order(sorted.sizes), out({3, 40});
      Array<int32_t> narrow({3, 40}, Layout::gapped);
      raw.randomize(rng, 0, 9);
      values.randomize(rng, 0, 11);
      sort(sorted.view(), order.view(), raw.view(), batched ? 1 : 0, false);
      for (bool right : {false, true})
        for (bool by_sorter : {false, true}) {
          searchsorted(out.view(), by_sorter ? raw.view() : sorted.view(), values.view(), right, by_sorter ? order.view() : Strided{});
          searchsorted(narrow.view(), sorted.view(), values.view(), right);
          out.for_each([&](const Shape& at) {
            int64_t expected = 0;
            for (int64_t i = 0; i < 20; i++) {
              const T v = batched ? sorted({at[0], i}) : sorted({i});
              expected += right ? v <= values(at) : v < values(at);
            }
            ASSERT_EQ(out(at), expected);
            ASSERT_EQ(narrow(at), expected);
          });
        }
    }
  });
}

// Golden from PyTorch 2.13.
TEST(Sort, SearchsortedHistcAndBincountGoldens) {
  const Array<float> rows({4}, {1, 2, 3, NAN}), values({3}, {NAN, 2, 5});
  Array<int64_t> out({3});
  searchsorted(out.view(), rows.view(), values.view(), false);
  EXPECT_EQ(out.values(), (std::vector<int64_t>{4, 1, 4}));
  searchsorted(out.view(), rows.view(), values.view(), true);
  EXPECT_EQ(out.values(), (std::vector<int64_t>{4, 2, 4}));
  const Array<float> x({6}, {1, 2, 3, 4, 10, NAN});
  Array<float> bins({4});
  histc(bins.view(), x.view(), 1, 4);
  EXPECT_EQ(bins.values(), (std::vector<float>{1, 1, 1, 1}));
  const Array<int32_t> numbers({5}, {1, 0, 3, 1, 1}), negative({1}, {-1});
  Array<int64_t> counts({5});
  bincount(counts.view(), numbers.view());
  EXPECT_EQ(counts.values(), (std::vector<int64_t>{1, 3, 0, 1, 0}));
  const Array<double> weights({5}, {0.5, 1, 2, 4, 8});
  Array<double> sums({5});
  bincount(sums.view(), numbers.view(), weights.view());
  EXPECT_EQ(sums.values(), (std::vector<double>{1, 12.5, 0, 2, 0}));
  EXPECT_THROW(bincount(counts.view(), negative.view()), Error);
}

TEST(Sort, ResultsDoNotDependOnTheThreadCount) {
  std::mt19937 rng(6);
  Array<float> self({40, 3000});
  fill_awkward(self, rng);
  std::vector<std::vector<unsigned char>> results[2];
  with_one_and_two_threads([&](int threads) {
    for (int64_t dim : {0, 1}) {
      Array<float> values({40, 3000});
      Array<int64_t> indices({40, 3000});
      sort(values.view(), indices.view(), self.view(), dim, false);
      results[threads - 1].push_back(values.bytes);
      results[threads - 1].push_back(indices.bytes);
    }
  });
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace cresset::kernels
