#include "cresset/kernels/index/index.h"

#include <gtest/gtest.h>

#include "index_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

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
            if (!(mask >> d & 1)) {
              from.push_back(rest[next++]);
              continue;
            }
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
        const auto target = [&](Shape at) {
          at[dim] = index({at[dim]});
          return at;
        };
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
    Array<int64_t> where({2, count});
    masked_select(selected.data(), src.view(), mask.view());
    nonzero(where.data(), count, mask.view());
    for (const auto& bytes : {added.bytes, put_into.bytes, rows_added.bytes, gathered.bytes, grad_weight.bytes, selected.bytes, where.bytes})
      r.push_back(bytes);
  });
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace cresset::kernels
