#include "cresset/kernels/index/index.h"

#include <gtest/gtest.h>

#include "index_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

TEST(Mask, NonzeroListsCoordinatesInRowMajorOrder) {
  std::mt19937 rng(8);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (const Shape& shape : {Shape{3, 5, 7}, Shape{1000}, Shape{70, 3}, Shape{2, 300}, Shape{0, 4}}) {
        Array<T> x(shape, layout);
        x.randomize(rng, 0, 3);
        std::vector<std::vector<int64_t>> places(shape.size());
        x.for_each([&](const Shape& at) {
          for (size_t d = 0; d < shape.size(); d++)
            if (!same_bits(x(at), T{})) places[d].push_back(at[d]);
        });
        std::vector<int64_t> expected;
        for (const auto& along : places) expected.insert(expected.end(), along.begin(), along.end());
        const int64_t n = count_nonzero(x.view());
        ASSERT_EQ(n * static_cast<int64_t>(shape.size()), static_cast<int64_t>(expected.size()));
        std::vector<int64_t> out(expected.size() + 1, -7);
        nonzero(out.data(), n, x.view());
        ASSERT_EQ(out.back(), -7);
        out.pop_back();
        ASSERT_EQ(out, expected);
      }
  });
}

TEST(Mask, NegativeZeroIsZeroAndNaNIsNot) {
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

TEST(Mask, MaskedKernelsFollowTheirLoops) {
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

TEST(Mask, MaskedScatterNeedsEnoughSource) {
  Array<float> x({3}, {1, 2, 3});
  const Array<float> before = x;
  const Array<bool> mask({3}, {1, 1, 0});
  const float one = 1;
  EXPECT_THROW(masked_scatter(x.view(), mask.view(), &one, 1), Error);
  EXPECT_TRUE(x.same_bytes(before));
}

TEST(Mask, TakeAndPutUseFlatWrappingPositions) {
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

}  // namespace
}  // namespace cresset::kernels
