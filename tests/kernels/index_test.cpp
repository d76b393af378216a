#include "cresset/kernels/index.h"

#include <gtest/gtest.h>

#include "strided_array.h"

namespace cresset::kernels {
namespace {

using namespace testing;

Array<int64_t> random_index(std::mt19937& rng, Shape shape, int64_t size, Layout layout = Layout::contiguous) {
  Array<int64_t> a(std::move(shape), layout);
  return a.randomize(rng, 0, static_cast<int>(size));
}

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) { return e.message(); }
  return "no error";
}

TEST(Index, GatherTakesAlongEachDimInEveryLayoutAndDtype) {
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

TEST(Index, GatherAcceptsInt32AndZeroDims) {
  Array<float> self({3}, {1, 2, 3}), out({2});
  Array<int32_t> index({2}, {2, 0});
  gather(out.view(), self.view(), 0, index.view());
  EXPECT_EQ(out.values(), (std::vector<float>{3, 1}));
  Array<float> one(Shape{}, {7}), to((Shape{}));
  Array<int64_t> zero((Shape{}));
  gather(to.view(), one.view(), 0, zero.view());
  EXPECT_EQ(to.values(), std::vector<float>{7});
}

TEST(Index, ScatterWritesAndTheLastSourceWins) {
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

TEST(Index, ScatterAddAddsEveryDtypeInEveryLayout) {
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

TEST(Index, ScatterAddWithABroadcastIndexAddsRows) {
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
TEST(Index, ScatterReduceMatchesGoldenValues) {
  const Array<int64_t> index({5}, {0, 0, 0, 1, 1});
  struct Row { ScatterReduce reduce; bool include; std::vector<double> ints, floats; };
  const Row rows[] = {
      {ScatterReduce::sum, true, {-1, 9, 5}, {-1, 9, 5}},         {ScatterReduce::sum, false, {-4, 5, 5}, {-4, 5, 5}},
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

TEST(Index, ScatterReduceKeepsNaNAndRefusesWhatHasNoMeaning) {
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

TEST(Index, LongLowPrecisionSumsDoNotStall) {
  Array<BFloat16> self({1}), src({5000});
  src.for_each([&](const Shape& at) { src(at) = BFloat16(1.0f); });
  const Array<int64_t> index({5000});
  scatter_add(self.view(), 0, index.view(), src.view());
  EXPECT_EQ(static_cast<float>(self({0})), static_cast<float>(BFloat16(5000.0f)));
}

TEST(Index, OutOfRangeIndicesNameTheCulpritAndLeaveTheTargetUntouched) {
  Array<float> self({3}, {1, 2, 3}), src({2}, {8, 9}), out({2});
  const Array<float> before = self;
  const Array<int64_t> bad({2}, {0, 7}), negative({2}, {0, -1});
  const std::string seven = "index 7 is out of bounds for dimension 0 with size 3";
  EXPECT_EQ(message_of<Error>([&] { gather(out.view(), self.view(), 0, bad.view()); }), "gather: " + seven);
  EXPECT_EQ(message_of<Error>([&] { gather(out.view(), self.view(), 0, negative.view()); }),
            "gather: index -1 is out of bounds for dimension 0 with size 3");
  EXPECT_EQ(message_of<Error>([&] { scatter(self.view(), 0, bad.view(), src.view()); }), "scatter: " + seven);
  EXPECT_EQ(message_of<Error>([&] { scatter_value(self.view(), 0, bad.view(), 1); }), "scatter: " + seven);
  EXPECT_EQ(message_of<Error>([&] { scatter_add(self.view(), 0, bad.view(), src.view()); }), "scatter_add: " + seven);
  EXPECT_EQ(message_of<Error>([&] { scatter_reduce(self.view(), 0, bad.view(), src.view(), ScatterReduce::amin, false); }),
            "scatter_reduce: " + seven);
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
  EXPECT_EQ(message_of<IndexError>([&] { embedding_backward(weight.view(), rows.view(), bad.view(), -1, false); }),
            "embedding_backward: " + seven);
  EXPECT_TRUE(self.same_bytes(before));
  const Array<float> wrong({2}, {0, 1});
  EXPECT_THROW(gather(out.view(), self.view(), 0, wrong.view()), IndexError);
}

TEST(Index, EmptyIndicesAreFineEvenIntoEmptyArrays) {
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
TEST(Index, AdvancedIndexingMatchesALoop) {
  std::mt19937 rng(5);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (unsigned mask = 1; mask < 8; mask++) {
        Array<T> self({4, 5, 6}, layout);
        self.randomize(rng);
        std::vector<Array<int64_t>> owned;
        for (int64_t d = 0; d < 3; d++) {
          Array<int64_t> ix({2, 3}, layout);
          ix.randomize(rng, static_cast<int>(-self.sizes[d]), static_cast<int>(self.sizes[d]));
          owned.push_back(ix);
        }
        SmallVector<Strided, 4> indices;
        for (size_t d = 0; d < 3; d++) indices.push_back(mask >> d & 1 ? owned[d].view() : Strided{});
        const DimVector shape = index_shape(self.sizes, indices);
        Array<T> out(Shape(shape.begin(), shape.end()), layout);
        kernels::index(out.view(), self.view(), indices);
        const bool adjacent = mask != 5;
        const size_t position = !adjacent || mask & 1 ? 0 : mask & 2 ? 1 : 2;
        const auto source = [&](const Shape& at) {
          const Shape common{at[position], at[position + 1]};
          Shape from, rest = at;
          rest.erase(rest.begin() + static_cast<int64_t>(position), rest.begin() + static_cast<int64_t>(position) + 2);
          size_t next = 0;
          for (size_t d = 0; d < 3; d++) {
            if (!(mask >> d & 1)) { from.push_back(rest[next++]); continue; }
            const int64_t v = owned[d](common);
            from.push_back(v < 0 ? v + self.sizes[d] : v);
          }
          return from;
        };
        out.for_each([&](const Shape& at) { ASSERT_TRUE(same_bits(out(at), self(source(at)))) << mask; });
        // Writing back: later values win, sums are complete.
        Array<T> values(out.sizes, layout);
        values.randomize(rng);
        Array<T> put_into = self, expected = self, add_into = self, expected_sum = self;
        values.for_each([&](const Shape& at) {
          expected(source(at)) = values(at);
          T& sum = expected_sum(source(at));
          if constexpr (std::is_same_v<T, bool>) sum = sum || values(at);
          else sum = static_cast<T>(sum + values(at));
        });
        index_put(put_into.view(), indices, values.view(), false);
        ASSERT_TRUE(put_into.same_bytes(expected)) << mask;
        index_put(add_into.view(), indices, values.view(), true);
        ASSERT_TRUE(add_into.same_bytes(expected_sum)) << mask;
      }
  });
}

TEST(Index, BroadcastIndicesAndValues) {
  Array<float> self({3, 4});
  self.for_each([&](const Shape& at) { self(at) = static_cast<float>(10 * at[0] + at[1]); });
  Array<int64_t> rows({2}, {2, 0}), columns({3}, {1, 1, 3});
  const int64_t shape[] = {2, 3}, by_row[] = {1, 0}, by_column[] = {0, 1}, none[] = {0, 0};
  const Strided indices[] = {Strided(rows.data(), kLong, shape, by_row), Strided(columns.data(), kLong, shape, by_column)};
  Array<float> out({2, 3});
  kernels::index(out.view(), self.view(), indices);
  EXPECT_EQ(out.values(), (std::vector<float>{21, 21, 23, 1, 1, 3}));
  const float one = 1;
  index_put(self.view(), indices, Strided(&one, kFloat, shape, none), true);
  EXPECT_EQ(self.values(), (std::vector<float>{0, 3, 2, 4, 10, 11, 12, 13, 20, 23, 22, 24}));
}

TEST(Index, MismatchedShapesAreRefused) {
  Array<float> self({3, 4}), out({2});
  const Array<int64_t> a({2}), b({3});
  const Strided two[] = {a.view(), b.view()}, three[] = {a.view(), a.view(), a.view()};
  EXPECT_THROW(kernels::index(out.view(), self.view(), two), IndexError);
  EXPECT_THROW(kernels::index(out.view(), self.view(), three), IndexError);
  EXPECT_THROW(kernels::index(out.view(), self.view(), a.view()), Error);
}

TEST(Index, SliceKernelsFollowTheirLoops) {
  std::mt19937 rng(6);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (int64_t dim = 0; dim < 3; dim++) {
        Array<T> self({4, 5, 6}, layout);
        self.randomize(rng);
        const auto index = random_index(rng, {7}, self.sizes[dim], layout);
        Shape shape = self.sizes;
        shape[dim] = 7;
        Array<T> out(shape, layout), source(shape, layout);
        source.randomize(rng);
        const auto target = [&](Shape at) { at[dim] = index({at[dim]}); return at; };
        index_select(out.view(), self.view(), dim, index.view());
        Array<T> copied = self, expected_copy = self, added = self, expected_sum = self, filled = self, expected_fill = self;
        out.for_each([&](const Shape& at) {
          ASSERT_TRUE(same_bits(out(at), self(target(at))));
          expected_copy(target(at)) = source(at);
          expected_fill(target(at)) = Scalar(3).as<T>();
          T& sum = expected_sum(target(at));
          if constexpr (std::is_same_v<T, bool>) sum = sum || source(at);
          else sum = static_cast<T>(sum + source(at) + source(at));
        });
        index_copy(copied.view(), dim, index.view(), source.view());
        ASSERT_TRUE(copied.same_bytes(expected_copy));
        index_add(added.view(), dim, index.view(), source.view(), 2);
        ASSERT_TRUE(added.same_bytes(expected_sum)) << dtype_name(dtype_of<T>);
        index_fill(filled.view(), dim, index.view(), 3);
        ASSERT_TRUE(filled.same_bytes(expected_fill));
      }
  });
}

TEST(Index, IndexFillWraps) {
  Array<int32_t> a({4});
  const Array<int64_t> index({2}, {-1, 0});
  index_fill(a.view(), 0, index.view(), 5);
  EXPECT_EQ(a.values(), (std::vector<int32_t>{5, 0, 0, 5}));
}

TEST(Index, EmbeddingForwardAndBackward) {
  std::mt19937 rng(7);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) return;
    else {
      for (Layout layout : kLayouts) {
        Array<T> weight({9, 5}, layout), out({3, 4, 5}, layout), grad({3, 4, 5}, layout);
        weight.randomize(rng);
        grad.randomize(rng);
        const auto index = random_index(rng, {3, 4}, 9, layout);
        embedding(out.view(), weight.view(), index.view());
        out.for_each([&](const Shape& at) { ASSERT_TRUE(same_bits(out(at), weight({index({at[0], at[1]}), at[2]}))); });
        Array<T> grad_weight({9, 5}, layout), expected({9, 5}, layout);
        const int64_t padding = index({0, 0});
        grad.for_each([&](const Shape& at) {
          const int64_t row = index({at[0], at[1]});
          T& e = expected({row, at[2]});
          if (row != padding) e = static_cast<T>(e + grad(at));
        });
        grad_weight.randomize(rng);
        embedding_backward(grad_weight.view(), grad.view(), index.view(), padding, false);
        ASSERT_TRUE(same_values(grad_weight, expected));
      }
    }
  });
}

TEST(Index, EmbeddingBackwardDividesByFrequency) {
  const Array<int64_t> index({4}, {2, 0, 2, 2});
  const Array<float> grad({4, 1}, {1, 5, 2, 6});
  Array<float> grad_weight({3, 1});
  embedding_backward(grad_weight.view(), grad.view(), index.view(), -1, true);
  EXPECT_EQ(grad_weight.values(), (std::vector<float>{5, 0, 3}));
}

TEST(Index, NonzeroListsCoordinatesInRowMajorOrder) {
  std::mt19937 rng(8);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (const Shape& shape : {Shape{3, 5, 7}, Shape{1000}, Shape{70, 3}, Shape{2, 300}, Shape{0, 4}}) {
        Array<T> x(shape, layout);
        x.randomize(rng, 0, 3);
        std::vector<int64_t> expected;
        x.for_each([&](const Shape& at) {
          if (!same_bits(x(at), T{})) expected.insert(expected.end(), at.begin(), at.end());
        });
        const int64_t n = count_nonzero(x.view());
        ASSERT_EQ(n * static_cast<int64_t>(shape.size()), static_cast<int64_t>(expected.size()));
        std::vector<int64_t> out(expected.size() + 1, -7);
        nonzero(out.data(), x.view());
        ASSERT_EQ(out.back(), -7);
        out.pop_back();
        ASSERT_EQ(out, expected);
      }
  });
}

TEST(Index, NegativeZeroIsZeroAndNaNIsNot) {
  const Array<float> f({3}, {-0.0, std::nan(""), 1});
  EXPECT_EQ(count_nonzero(f.view()), 2);
  const Array<Half> h({3}, {-0.0, std::nan(""), 1});
  EXPECT_EQ(count_nonzero(h.view()), 2);
  const Array<BFloat16> b({3}, {-0.0, std::nan(""), 1});
  EXPECT_EQ(count_nonzero(b.view()), 2);
  Array<complex<double>> c({2});
  c({1}) = complex<double>(0, 1);
  EXPECT_EQ(count_nonzero(c.view()), 1);
}

TEST(Index, MaskedKernelsFollowTheirLoops) {
  std::mt19937 rng(9);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (const Shape& shape : {Shape{3, 5, 7}, Shape{1000}, Shape{13, 65}, Shape{0}})
        for (int density : {1, 2, 9}) {
          Array<T> x(shape, layout);
          x.randomize(rng);
          Array<bool> mask(shape, layout == Layout::gapped ? Layout::transposed : Layout::contiguous);
          mask.for_each([&](const Shape& at) { mask(at) = rng() % static_cast<unsigned>(density) == 0; });
          std::vector<T> expected;
          Array<T> filled = x, expected_fill = x, placed = x, expected_place = x;
          Array<T> source({x.numel() + 1});
          source.randomize(rng);
          x.for_each([&](const Shape& at) {
            if (!mask(at)) return;
            expected_place(at) = source({static_cast<int64_t>(expected.size())});
            expected.push_back(x(at));
            expected_fill(at) = Scalar(2).as<T>();
          });
          ASSERT_EQ(count_nonzero(mask.view()), static_cast<int64_t>(expected.size()));
          Array<T> out({static_cast<int64_t>(expected.size()) + 1});
          const Array<T> untouched = out;
          masked_select(out.data(), x.view(), mask.view());
          for (size_t i = 0; i < expected.size(); i++) ASSERT_TRUE(same_bits<T>(out({static_cast<int64_t>(i)}), expected[i]));
          const Shape last{static_cast<int64_t>(expected.size())};
          ASSERT_TRUE(same_bits(out(last), untouched(last)));
          masked_fill(filled.view(), mask.view(), 2);
          ASSERT_TRUE(filled.same_bytes(expected_fill));
          masked_scatter(placed.view(), mask.view(), source.data(), source.numel());
          ASSERT_TRUE(placed.same_bytes(expected_place));
        }
  });
}

TEST(Index, MaskedScatterNeedsEnoughSource) {
  Array<float> x({3}, {1, 2, 3});
  const Array<float> before = x;
  const Array<bool> mask({3}, {1, 1, 0});
  const float one = 1;
  EXPECT_THROW(masked_scatter(x.view(), mask.view(), &one, 1), Error);
  EXPECT_TRUE(x.same_bytes(before));
}

TEST(Index, TakeAndPutUseFlatWrappingPositions) {
  std::mt19937 rng(10);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts) {
      Array<T> self({4, 5}, layout), out({3, 4}, layout), source({3, 4}, layout);
      self.randomize(rng);
      source.randomize(rng);
      Array<int64_t> index({3, 4}, layout);
      index.randomize(rng, -20, 20);
      const auto place = [&](const Shape& at) {
        const int64_t v = index(at) < 0 ? index(at) + 20 : index(at);
        return Shape{v / 5, v % 5};
      };
      take(out.view(), self.view(), index.view());
      Array<T> written = self, expected = self, summed = self, expected_sum = self;
      out.for_each([&](const Shape& at) {
        ASSERT_TRUE(same_bits(out(at), self(place(at))));
        expected(place(at)) = source(at);
        T& sum = expected_sum(place(at));
        if constexpr (std::is_same_v<T, bool>) sum = sum || source(at);
        else sum = static_cast<T>(sum + source(at));
      });
      put(written.view(), index.view(), source.view(), false);
      ASSERT_TRUE(written.same_bytes(expected));
      put(summed.view(), index.view(), source.view(), true);
      ASSERT_TRUE(summed.same_bytes(expected_sum));
    }
  });
}

TEST(Index, ResultsDoNotDependOnTheThreadCount) {
  std::mt19937 rng(11);
  Array<float> self({300, 400}), src({300, 400});
  std::normal_distribution<float> normal;
  src.for_each([&](const Shape& at) { src(at) = normal(rng); });
  const auto index = random_index(rng, {300, 400}, 300), rows = random_index(rng, {300}, 300);
  Array<bool> mask({300, 400});
  mask.for_each([&](const Shape& at) { mask(at) = rng() & 1; });
  const int64_t count = count_nonzero(mask.view());
  std::vector<std::vector<unsigned char>> results[2];
  with_one_and_two_threads([&](int threads) {
    auto& r = results[threads - 1];
    Array<float> added = self, put_into = self, rows_added = self, gathered = self, grad_weight = self;
    scatter_add(added.view(), 0, index.view(), src.view());
    index_put(put_into.view(), rows.view(), src.view(), true);
    index_add(rows_added.view(), 0, rows.view(), src.view(), 0.5);
    gather(gathered.view(), src.view(), 0, index.view());
    embedding_backward(grad_weight.view(), src.view(), rows.view(), -1, true);
    Array<float> selected({count});
    Array<int64_t> where({count, 2});
    masked_select(selected.data(), src.view(), mask.view());
    nonzero(where.data(), mask.view());
    for (const auto& bytes : {added.bytes, put_into.bytes, rows_added.bytes, gathered.bytes, grad_weight.bytes, selected.bytes, where.bytes})
      r.push_back(bytes);
  });
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace cresset::kernels
