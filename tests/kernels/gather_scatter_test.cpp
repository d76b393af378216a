#include "cresset/kernels/index/index.h"

#include <gtest/gtest.h>

#include "index_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

TEST(GatherScatter, GatherTakesAlongEachDimInEveryLayoutAndDtype) {
  std::mt19937 rng(1);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (int64_t dim = 0; dim < 3; dim++) {
        Array<T> self({4, 5, 6}, layout), out({3, 4, 5}, layout);
        self.randomize(rng);
        const auto index = random_index(rng, {3, 4, 5}, self.sizes[dim], layout);
        gather(out.view(), self.view(), dim, index.view());
        out.for_each([&](const Shape& at) {
          Shape from = at;
          from[dim] = index(at);
          ASSERT_TRUE(same_bits(out(at), self(from)));
        });
      }
  });
}

TEST(GatherScatter, GatherAcceptsInt32AndZeroDims) {
  Array<float> self({3}, {1, 2, 3}), out({2});
  Array<int32_t> index({2}, {2, 0});
  gather(out.view(), self.view(), 0, index.view());
  EXPECT_EQ(out.values(), (std::vector<float>{3, 1}));
  Array<float> one(Shape{}, {7}), to((Shape{}));
  Array<int64_t> zero((Shape{}));
  gather(to.view(), one.view(), 0, zero.view());
  EXPECT_EQ(to.values(), std::vector<float>{7});
}

TEST(GatherScatter, ScatterWritesAndTheLastSourceWins) {
  std::mt19937 rng(2);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (int64_t dim = 0; dim < 3; dim++) {
        Array<T> self({4, 5, 6}, layout), src({4, 5, 6}, layout);
        self.randomize(rng);
        src.randomize(rng);
        const auto index = random_index(rng, {4, 4, 5}, self.sizes[dim], layout);
        Array<T> expected = self;
        index.for_each([&](const Shape& at) {
          Shape to = at;
          to[dim] = index(at);
          expected(to) = src(at);
        });
        Array<T> filled = self, expected_fill = self;
        scatter(self.view(), dim, index.view(), src.view());
        ASSERT_TRUE(self.same_bytes(expected));
        scatter_value(filled.view(), dim, index.view(), 1);
        index.for_each([&](const Shape& at) {
          Shape to = at;
          to[dim] = index(at);
          expected_fill(to) = Scalar(1).as<T>();
        });
        ASSERT_TRUE(filled.same_bytes(expected_fill));
      }
  });
}

TEST(GatherScatter, ScatterAddAddsEveryDtypeInEveryLayout) {
  std::mt19937 rng(3);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (int64_t dim = 0; dim < 3; dim++) {
        Array<T> self({4, 5, 6}, layout), src({4, 5, 6}, layout);
        self.randomize(rng);
        src.randomize(rng);
        const auto index = random_index(rng, {4, 4, 5}, self.sizes[dim], layout);
        Array<T> expected = self;  // small integers: exact in every dtype
        index.for_each([&](const Shape& at) {
          Shape to = at;
          to[dim] = index(at);
          if constexpr (std::is_same_v<T, bool>) expected(to) = expected(to) || src(at);
          else expected(to) = static_cast<T>(expected(to) + src(at));
        });
        scatter_add(self.view(), dim, index.view(), src.view());
        ASSERT_TRUE(self.same_bytes(expected)) << dtype_name(dtype_of<T>);
      }
  });
}

TEST(GatherScatter, ScatterAddWithABroadcastIndexAddsRows) {
  std::mt19937 rng(4);
  Array<float> self({3, 7}), src({5, 7});
  src.randomize(rng);
  Array<int64_t> rows({5}, {2, 0, 2, 2, 1});
  const int64_t strides[] = {1, 0};
  scatter_add(self.view(), 0, Strided(rows.data(), kLong, src.sizes, strides), src.view());
  Array<float> expected({3, 7});
  src.for_each([&](const Shape& at) { expected({rows({at[0]}), at[1]}) += src(at); });
  EXPECT_TRUE(self.same_bytes(expected));
}

// Golden numbers from PyTorch 2.13.
TEST(GatherScatter, ScatterReduceMatchesGoldenValues) {
  const Array<int64_t> index({5}, {0, 0, 0, 1, 1});
  struct Row {
    ScatterReduce reduce;
    bool include;
    std::vector<double> ints, floats;
  };
  const Row rows[] = {
      {ScatterReduce::sum, true, {-1, 9, 5}, {-1, 9, 5}},          {ScatterReduce::sum, false, {-4, 5, 5}, {-4, 5, 5}},
      {ScatterReduce::prod, true, {-42, -144, 5}, {-42, -144, 5}}, {ScatterReduce::prod, false, {-14, -36, 5}, {-14, -36, 5}},
      {ScatterReduce::mean, true, {-1, 3, 5}, {-0.25, 3, 5}},      {ScatterReduce::mean, false, {-2, 2, 5}, {-4.0f / 3, 2.5, 5}},
      {ScatterReduce::amax, true, {3, 9, 5}, {3, 9, 5}},           {ScatterReduce::amax, false, {2, 9, 5}, {2, 9, 5}},
      {ScatterReduce::amin, true, {-7, -4, 5}, {-7, -4, 5}},       {ScatterReduce::amin, false, {-7, -4, 5}, {-7, -4, 5}},
  };
  const auto check = [&](auto tag, const Row& row, const std::vector<double>& want) {
    using T = decltype(tag);
    Array<T> self({3}, {3, 4, 5}), expected({3}, want);
    const Array<T> src({5}, {-7, 2, 1, 9, -4});
    scatter_reduce(self.view(), 0, index.view(), src.view(), row.reduce, row.include);
    EXPECT_TRUE(same_values(self, expected)) << dtype_name(dtype_of<T>) << ' ' << static_cast<int>(row.reduce) << row.include;
  };
  for (const Row& row : rows) {
    check(int8_t{}, row, row.reduce == ScatterReduce::prod && row.include ? std::vector<double>{-42, 112, 5} : row.ints);
    check(int32_t{}, row, row.ints);
    check(int64_t{}, row, row.ints);
    check(float{}, row, row.floats);
    check(double{}, row, row.reduce == ScatterReduce::mean && !row.include ? std::vector<double>{-4.0 / 3, 2.5, 5} : row.floats);
    check(Half{}, row, row.floats);
    check(BFloat16{}, row, row.floats);
  }
}

TEST(GatherScatter, ScatterReduceKeepsNaNAndRefusesWhatHasNoMeaning) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Array<float> self({2}, {1, 1});
  const Array<float> src({3}, {2, nan, 0});
  const Array<int64_t> index({3}, {0, 0, 1});
  scatter_reduce(self.view(), 0, index.view(), src.view(), ScatterReduce::amax, true);
  EXPECT_TRUE(std::isnan(self({0})));
  EXPECT_EQ(self({1}), 1);
  Array<bool> b({2});
  EXPECT_THROW(scatter_reduce(b.view(), 0, index.view(), b.view(), ScatterReduce::mean, true), NotImplementedError);
  Array<complex<float>> c({2});
  EXPECT_THROW(scatter_reduce(c.view(), 0, index.view(), c.view(), ScatterReduce::amax, true), NotImplementedError);
}

TEST(GatherScatter, LongLowPrecisionSumsDoNotStall) {
  Array<BFloat16> self({1}), src({5000});
  src.for_each([&](const Shape& at) { src(at) = BFloat16(1.0f); });
  const Array<int64_t> index({5000});
  scatter_add(self.view(), 0, index.view(), src.view());
  EXPECT_EQ(static_cast<float>(self({0})), static_cast<float>(BFloat16(5000.0f)));
}

TEST(GatherScatter, OutOfRangeIndicesNameTheCulpritAndLeaveTheTargetUntouched) {
  Array<float> self({3}, {1, 2, 3}), src({2}, {8, 9}), out({2});
  const Array<float> before = self;
  const Array<int64_t> bad({2}, {0, 7}), negative({2}, {0, -1});
  const std::string seven = "index 7 is out of bounds for dimension 0 with size 3";
  EXPECT_EQ(message_of<Error>([&] { gather(out.view(), self.view(), 0, bad.view()); }), "gather: " + seven);
  EXPECT_EQ(message_of<Error>([&] { gather(out.view(), self.view(), 0, negative.view()); }), "gather: index -1 is out of bounds for dimension 0 with size 3");
  EXPECT_EQ(message_of<Error>([&] { scatter(self.view(), 0, bad.view(), src.view()); }), "scatter: " + seven);
  EXPECT_EQ(message_of<Error>([&] { scatter_value(self.view(), 0, bad.view(), 1); }), "scatter: " + seven);
  EXPECT_EQ(message_of<Error>([&] { scatter_add(self.view(), 0, bad.view(), src.view()); }), "scatter_add: " + seven);
  EXPECT_EQ(message_of<Error>([&] { scatter_reduce(self.view(), 0, bad.view(), src.view(), ScatterReduce::amin, false); }), "scatter_reduce: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { index(out.view(), self.view(), bad.view()); }), "index: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { index_put(self.view(), bad.view(), src.view(), true); }), "index_put: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { index_select(out.view(), self.view(), 0, bad.view()); }), "index_select: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { index_copy(self.view(), 0, bad.view(), src.view()); }), "index_copy: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { index_add(self.view(), 0, bad.view(), src.view(), 1); }), "index_add: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { index_fill(self.view(), 0, bad.view(), 1); }), "index_fill: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { put(self.view(), bad.view(), src.view(), false); }),
            "put: out of range: tried to access index 7 on a tensor of 3 elements");
  EXPECT_EQ(message_of<IndexError>([&] { take(out.view(), self.view(), bad.view()); }),
            "take: out of range: tried to access index 7 on a tensor of 3 elements");
  Array<float> weight({3, 2}), rows({2, 2});
  EXPECT_EQ(message_of<IndexError>([&] { embedding(rows.view(), weight.view(), bad.view()); }), "embedding: " + seven);
  EXPECT_EQ(message_of<IndexError>([&] { embedding_backward(weight.view(), rows.view(), bad.view(), -1, false); }), "embedding_backward: " + seven);
  EXPECT_TRUE(self.same_bytes(before));
  const Array<float> wrong({2}, {0, 1});
  EXPECT_THROW(gather(out.view(), self.view(), 0, wrong.view()), IndexError);
}

TEST(GatherScatter, EmptyIndicesAreFineEvenIntoEmptyArrays) {
  Array<float> self({0, 3}), out({0, 3});
  const Array<int64_t> index({0, 3}), flat({0});
  gather(out.view(), self.view(), 0, index.view());
  scatter(self.view(), 0, index.view(), out.view());
  index_select(out.view(), self.view(), 0, flat.view());
  const Array<int64_t> none({0});
  kernels::index(out.view(), self.view(), none.view());
  EXPECT_EQ(count_nonzero(self.view()), 0);
}

// self[a, :, b] and friends against a loop, for every way the indices can lie.

}  // namespace
}  // namespace cresset::kernels
