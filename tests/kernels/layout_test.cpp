#include "cresset/kernels/layout/layout.h"

#include <gtest/gtest.h>

#include "strided_array.h"

namespace cresset::kernels {
namespace {

using namespace testing;

// FNV-1a over the bytes of a 1-d result, as the golden tables below were made with PyTorch 2.13.
template <class F> uint64_t hash_of_sequence(ScalarType t, int64_t n, F fill) {
  const int64_t one = 1;
  std::vector<unsigned char> bytes(static_cast<size_t>(n) * element_size(t));
  fill(Strided(bytes.data(), t, n, one));
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char b : bytes) h = (h ^ b) * 0x100000001b3ull;
  return h;
}

TEST(Layout, ArangeIsPyTorchsBitForBit) {
  struct Row {
    ScalarType t;
    double start, step;
    int64_t n;
    uint64_t hash;
  };
  const Row rows[] = {
      {kFloat, 0, 1, 100, 0x91df8ecabc4e6e10ull},          {kFloat, 0.1, 0.37, 333, 0x26cfe3a2d150993dull},
      {kFloat, -7.25, 0.013, 1000, 0xa6a2cae3fd92e09bull}, {kFloat, 5.5, -0.71, 47, 0x722780874c317b67ull},
      {kFloat, 3, 0.1, 15, 0xfe6a035f9d0a16f7ull},         {kDouble, 0, 1, 100, 0xd916a87b6198b410ull},
      {kDouble, 0.1, 0.37, 333, 0x0c2173a266296603ull},    {kDouble, -7.25, 0.013, 1000, 0xf20ef6d61874c66dull},
      {kDouble, 5.5, -0.71, 47, 0x4727aa489fe24be3ull},    {kDouble, 3, 0.1, 15, 0x0648c1b0894896e0ull},
      {kHalf, 0, 1, 100, 0x6efd9b1ac160f38bull},           {kHalf, 0.1, 0.37, 333, 0x2d8deaecd99e1006ull},
      {kHalf, -7.25, 0.013, 1000, 0xff3897504792602aull},  {kHalf, 5.5, -0.71, 47, 0x5f068ffd3b69c821ull},
      {kHalf, 3, 0.1, 15, 0xddf10e8131f8cb80ull},          {kBFloat16, 0, 1, 100, 0x3874120ee6807ac0ull},
      {kBFloat16, 0.1, 0.37, 333, 0x844f15ba24b92172ull},  {kBFloat16, -7.25, 0.013, 1000, 0x29db078a49bb9ef7ull},
      {kBFloat16, 5.5, -0.71, 47, 0x4bd90fe106cad433ull},  {kBFloat16, 3, 0.1, 15, 0x5dc9dadef957e1b7ull},
      {kInt64, 3, 3, 35, 0x2ed19340c38772e9ull},           {kInt32, 3, 3, 35, 0xd669cb9760ac77b9ull},
      {kInt16, 3, 3, 35, 0xb43dd8c0dbad4c21ull},           {kInt8, 3, 3, 35, 0x9d2f127163c47b6full},
      {kUInt8, 3, 3, 35, 0x9d2f127163c47b6full},
  };
  for (const Row& r : rows) {
    const bool whole = r.start == std::floor(r.start) && r.step == std::floor(r.step);
    const Scalar start = whole ? Scalar(static_cast<int64_t>(r.start)) : Scalar(r.start);
    const Scalar step = whole ? Scalar(static_cast<int64_t>(r.step)) : Scalar(r.step);
    EXPECT_EQ(hash_of_sequence(r.t, r.n, [&](const Strided& out) { arange(out, start, step); }), r.hash) << dtype_name(r.t) << ' ' << r.start << ' ' << r.step;
  }
}

TEST(Layout, LinspaceAndLogspaceArePyTorchsBitForBit) {
  enum Kind { lin, log };
  struct Row {
    Kind kind;
    ScalarType t;
    double start, end;
    int64_t n;
    uint64_t hash;
  };
  const Row rows[] = {
      {lin, kFloat, 0, 1, 11, 0x80c986d68a535647ull},          {lin, kFloat, -1.3, 2.7, 100, 0xf59009effbe2a7deull},
      {lin, kFloat, 2.9, -0.4, 257, 0x24642c9323a6267dull},    {lin, kFloat, 0.7, 0.9, 2, 0x710f4a068998dd12ull},
      {lin, kFloat, 1.5, 9, 1, 0x4a98c77f9ba36558ull},         {lin, kDouble, 0, 1, 11, 0x864aa7498f87bb69ull},
      {lin, kDouble, -1.3, 2.7, 100, 0x03ca38a5df78be29ull},   {lin, kDouble, 2.9, -0.4, 257, 0x02665e34ffb55a31ull},
      {lin, kDouble, 0.7, 0.9, 2, 0x306b1aa0bbe98a1eull},      {lin, kDouble, 1.5, 9, 1, 0xaa95e93229a27c80ull},
      {lin, kHalf, 0, 1, 11, 0x3f7efbf4b33acd5full},           {lin, kHalf, -1.3, 2.7, 100, 0x8dfc8707b6a393cbull},
      {lin, kHalf, 2.9, -0.4, 257, 0xcabdd9199c8a7106ull},     {lin, kHalf, 0.7, 0.9, 2, 0xdc034b8439b03a92ull},
      {lin, kHalf, 1.5, 9, 1, 0x08328a07b4eb7353ull},          {lin, kBFloat16, 0, 1, 11, 0x12050e3accb5d355ull},
      {lin, kBFloat16, -1.3, 2.7, 100, 0xe93355bbb548fb78ull}, {lin, kBFloat16, 2.9, -0.4, 257, 0x94dcc13eb9048b24ull},
      {lin, kBFloat16, 0.7, 0.9, 2, 0xc357f00279241504ull},    {lin, kBFloat16, 1.5, 9, 1, 0x0abf0907b715d060ull},
      {lin, kInt64, 0, 100, 7, 0xa48bef37556f2fd3ull},         {lin, kInt64, 90, 3, 41, 0xf1f86df7951eb9d8ull},
      {lin, kInt64, 5, 5, 3, 0xb09c7b6775e795c0ull},           {lin, kInt32, 0, 100, 7, 0xe4116491319c1c13ull},
      {lin, kInt32, 90, 3, 41, 0x098cf65a0c1aed98ull},         {lin, kInt32, 5, 5, 3, 0x0516a5bbdea90cf0ull},
      {lin, kInt16, 0, 100, 7, 0xedae817330d7ff83ull},         {lin, kInt16, 90, 3, 41, 0xc38a02e43be0baf8ull},
      {lin, kInt16, 5, 5, 3, 0xa8c9662532e2d128ull},           {lin, kInt8, 0, 100, 7, 0x633f6702ef465047ull},
      {lin, kInt8, 90, 3, 41, 0x9f1dd55108761c08ull},          {lin, kInt8, 5, 5, 3, 0xae0ea41853959daeull},
      {lin, kUInt8, 0, 100, 7, 0x633f6702ef465047ull},         {lin, kUInt8, 90, 3, 41, 0x9f1dd55108761c08ull},
      {lin, kUInt8, 5, 5, 3, 0xae0ea41853959daeull},           {log, kFloat, 0, 1, 11, 0xfa3a1b0afaf4bfb5ull},
      {log, kFloat, -1.3, 2.7, 100, 0xbebda4327d3bb1bcull},    {log, kFloat, 2.9, -0.4, 257, 0x4b6f39d5bbedf1bfull},
      {log, kFloat, 0.7, 0.9, 2, 0xf49c9ec1df3f994dull},       {log, kFloat, 1.5, 9, 1, 0xe7d49c1d42e6d4b9ull},
      {log, kDouble, 0, 1, 11, 0xcfe2ccf426e10930ull},         {log, kDouble, -1.3, 2.7, 100, 0x8618d5d1654f1c26ull},
      {log, kDouble, 2.9, -0.4, 257, 0xda29dc49d7f34070ull},   {log, kDouble, 0.7, 0.9, 2, 0x268b9f4c0b8a2c15ull},
      {log, kDouble, 1.5, 9, 1, 0xcfa3a63e1c2b6cebull},        {log, kHalf, 0, 1, 11, 0xffa1a284a8194645ull},
      {log, kHalf, -1.3, 2.7, 100, 0x50e5418e8c811bb0ull},     {log, kHalf, 2.9, -0.4, 257, 0x50a8202d7997092cull},
      {log, kHalf, 0.7, 0.9, 2, 0x13efc25f8fae4d0aull},        {log, kHalf, 1.5, 9, 1, 0x0a6d3907b6d017c8ull},
      {log, kBFloat16, 0, 1, 11, 0x30e0ed520a485a1full},       {log, kBFloat16, -1.3, 2.7, 100, 0x66876a58e411246dull},
      {log, kBFloat16, 2.9, -0.4, 257, 0xf0ccf5944a603d38ull}, {log, kBFloat16, 0.7, 0.9, 2, 0x20646b9eb7a0f730ull},
      {log, kBFloat16, 1.5, 9, 1, 0x0a931b07b6f0b40bull},      {log, kInt64, 0, 2, 9, 0x8c1e608076c175bbull},
      {log, kInt64, 2, 0, 14, 0x736e8f26b958375full},          {log, kInt32, 0, 2, 9, 0xdb51d581b9f5a13bull},
      {log, kInt32, 2, 0, 14, 0xf6d97f0fbbc9b57full},          {log, kInt16, 0, 2, 9, 0x9ee3e48454f840abull},
      {log, kInt16, 2, 0, 14, 0x930738326b2694afull},          {log, kInt8, 0, 2, 9, 0xfca1de81c44a8a97ull},
      {log, kInt8, 2, 0, 14, 0x96c185572e40f4b3ull},           {log, kUInt8, 0, 2, 9, 0xfca1de81c44a8a97ull},
      {log, kUInt8, 2, 0, 14, 0x96c185572e40f4b3ull},
  };
  for (const Row& r : rows)
    EXPECT_EQ(hash_of_sequence(r.t, r.n, [&](const Strided& out) { r.kind == lin ? linspace(out, r.start, r.end) : logspace(out, r.start, r.end, 10); }),
              r.hash)
        << (r.kind == lin ? "linspace " : "logspace ") << dtype_name(r.t) << ' ' << r.start << ' ' << r.end << ' ' << r.n;
  const Scalar start(complex<double>(0.3, -1)), end(complex<double>(1.7, 2));
  EXPECT_EQ(hash_of_sequence(kComplexFloat, 23, [&](const Strided& out) { linspace(out, start, end); }), 0x1336085b44731e0aull);
  EXPECT_EQ(hash_of_sequence(kComplexDouble, 23, [&](const Strided& out) { linspace(out, start, end); }), 0x10056e196d7f7f03ull);
}

TEST(Layout, ComplexLogspaceIsAPower) {
  Array<complex<double>> out({5});
  logspace(out.view(), complex<double>(0.3, 0), complex<double>(1.7, 2), 10);
  EXPECT_NEAR(out({1}).real(), 1.8193749240891142, 1e-14);
  EXPECT_NEAR(out({1}).imag(), 4.0795217900244785, 1e-14);
  EXPECT_NEAR(out({4}).real(), -5.363379178563742, 1e-12);
}

TEST(Layout, SequencesRefuseBool) {
  Array<bool> out({3});
  EXPECT_THROW(arange(out.view(), 0, 1), NotImplementedError);
  EXPECT_THROW(linspace(out.view(), 0, 1), NotImplementedError);
}

TEST(Layout, CatJoinsAlongEveryDim) {
  std::mt19937 rng(1);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (size_t dim = 0; dim < 3; dim++) {
        std::vector<Array<T>> parts;
        SmallVector<Strided, 4> views;
        const Array<T> skipped({0});
        Shape shape{3, 4, 5};
        int64_t total = 0;
        for (int64_t n : {2, 0, 1, 6}) {
          shape[dim] = n;
          parts.emplace_back(shape, layout);
          parts.back().randomize(rng);
          total += n;
        }
        for (auto& p : parts) views.push_back(p.view());
        views.push_back(skipped.view());
        shape[dim] = total;
        Array<T> out(shape, layout);
        cat(out.view(), views, static_cast<int64_t>(dim));
        int64_t start = 0;
        for (auto& p : parts) {
          p.for_each([&](Shape at) {
            const T v = p(at);
            at[dim] += start;
            ASSERT_TRUE(same_bits(out(at), v));
          });
          start += p.sizes[dim];
        }
      }
  });
}

TEST(Layout, FlipRollAndRepeatFollowTheirFormulas) {
  std::mt19937 rng(2);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts) {
      Array<T> self({3, 4, 5}, layout), out({3, 4, 5}, layout), tiled({2, 6, 4, 15}, layout);
      self.randomize(rng);
      const int64_t dims[] = {0, 2}, shifts[] = {-1, 7}, repeats[] = {2, 2, 1, 3};
      flip(out.view(), self.view(), dims);
      out.for_each([&](const Shape& at) { ASSERT_TRUE(same_bits(out(at), self({2 - at[0], at[1], 4 - at[2]}))); });
      roll(out.view(), self.view(), shifts, dims);
      self.for_each([&](const Shape& at) { ASSERT_TRUE(same_bits(self(at), out({(at[0] + 2) % 3, at[1], (at[2] + 7) % 5}))); });
      repeat(tiled.view(), self.view(), repeats);
      tiled.for_each([&](const Shape& at) { ASSERT_TRUE(same_bits(tiled(at), self({at[1] % 3, at[2], at[3] % 5}))); });
    }
  });
}

TEST(Layout, RollAddsUpShiftsOfOneDim) {
  const Array<int32_t> self({5}, {0, 1, 2, 3, 4});
  Array<int32_t> out({5});
  const int64_t shifts[] = {1, 1}, dims[] = {0, 0};
  roll(out.view(), self.view(), shifts, dims);
  EXPECT_EQ(out.values(), (std::vector<int32_t>{3, 4, 0, 1, 2}));
}

TEST(Layout, RepeatInterleaveRepeatsEachIndex) {
  const Array<float> self({2, 3}, {1, 2, 3, 4, 5, 6});
  Array<float> out({2, 4});
  const int64_t repeats[] = {2, 0, 2}, negative[] = {1, -1, 2};
  repeat_interleave(out.view(), self.view(), repeats, 1);
  EXPECT_EQ(out.values(), (std::vector<float>{1, 1, 3, 3, 4, 4, 6, 6}));
  EXPECT_THROW(repeat_interleave(out.view(), self.view(), negative, 1), Error);
}

TEST(Layout, TrianglesKeepTheirSideOfTheDiagonal) {
  std::mt19937 rng(3);
  for_all_dtypes([&](auto tag) {
    using T = decltype(tag);
    for (Layout layout : kLayouts)
      for (const Shape& shape : {Shape{2, 3, 4, 6}, Shape{5, 3}, Shape{0, 3}})
        for (int64_t k : {-9, -1, 0, 2, 9}) {
          Array<T> self(shape, layout), low(shape, layout), high(shape, layout);
          self.randomize(rng);
          tril(low.view(), self.view(), k);
          triu(high.view(), self.view(), k);
          const size_t r = shape.size() - 2;
          self.for_each([&](const Shape& at) {
            ASSERT_TRUE(same_bits(low(at), at[r + 1] <= at[r] + k ? self(at) : T{}));
            ASSERT_TRUE(same_bits(high(at), at[r + 1] >= at[r] + k ? self(at) : T{}));
          });
          tril(self.view(), self.view(), k);
          ASSERT_TRUE(same_values(self, low));
        }
  });
}

TEST(Layout, OneHot) {
  const Array<int64_t> index({2, 2}, {0, 2, 1, 0}), negative({1}, {-1}), high({1}, {3});
  Array<int64_t> out({2, 2, 3}), one({1, 3});
  one_hot(out.view(), index.view());
  EXPECT_EQ(out.values(), (std::vector<int64_t>{1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}));
  EXPECT_THROW(one_hot(one.view(), negative.view()), Error);
  EXPECT_THROW(one_hot(one.view(), high.view()), Error);
}

}  // namespace
}  // namespace cresset::kernels
