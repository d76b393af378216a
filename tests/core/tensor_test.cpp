// Tensors without operators: storage, versions, geometry, views, options.

#include <gtest/gtest.h>

#include "cresset/tensor.h"
#include "tests/error_of.h"

namespace cresset {
namespace {

TEST(StorageTest, IsSharedByViewsAndNotByClones) {
  const Tensor x = cresset::arange(12, TensorOptions(kFloat)).reshape({3, 4});
  const Tensor row = x.select(0, 1), turned = x.t(), copy = x.clone();
  EXPECT_TRUE(row.is_alias_of(x));
  EXPECT_TRUE(turned.storage().is_alias_of(x.storage()));
  EXPECT_FALSE(copy.is_alias_of(x));
  EXPECT_EQ(row.data_ptr<float>(), x.data_ptr<float>() + 4);
  EXPECT_EQ(row.storage_offset(), 4);
  row.data_ptr<float>()[0] = -1;
  EXPECT_EQ(x.data_ptr<float>()[4], -1);
  EXPECT_EQ(x.storage().nbytes(), 48u);
}

TEST(StorageTest, LivesAsLongAsAView) {
  Tensor view;
  {
    const Tensor x = cresset::ones({4});
    view = x.slice(0, 1, 3);
    EXPECT_GE(x.storage().use_count(), 2u);
  }
  EXPECT_EQ(view.sum().item<float>(), 2.f);
}

TEST(StorageTest, ForeignMemoryIsGivenBackOnce) {
  float data[4] = {1, 2, 3, 4};
  int given_back = 0;
  {
    Tensor view;
    {
      const Tensor t = from_blob(data, {2, 2}, [&](void* p) { given_back += p == data; });
      view = t.select(0, 1);
      EXPECT_EQ(t.data_ptr<float>(), data);
    }
    EXPECT_EQ(given_back, 0);
    EXPECT_NE(error_of([&] { view.resize_({100}); }).find("not resizable"), std::string::npos);
  }
  EXPECT_EQ(given_back, 1);
}

TEST(StorageTest, GrowsAndKeepsItsBytes) {
  Tensor t = cresset::arange(4, TensorOptions(kInt));
  t.resize_({8});
  EXPECT_EQ(t.size(0), 8);
  for (int i = 0; i < 4; i++) EXPECT_EQ(t.data_ptr<int32_t>()[i], i);
  t.resize_({2});
  EXPECT_EQ(t.storage().nbytes(), 32u);
}

TEST(VersionTest, StartsAtZeroHoweverTheTensorWasMade) {
  const Tensor x = cresset::ones({2, 3});
  const std::pair<const char*, Tensor> made[] = {{"empty", cresset::empty({2})},
                                                 {"zeros", cresset::zeros({2})},
                                                 {"ones", x},
                                                 {"full", cresset::full({2}, 3)},
                                                 {"arange", cresset::arange(3)},
                                                 {"linspace", cresset::linspace(0, 1, 3)},
                                                 {"eye", cresset::eye(3)},
                                                 {"tensor", cresset::tensor({1.0, 2.0})},
                                                 {"zeros_like", cresset::zeros_like(x)},
                                                 {"ones_like", cresset::ones_like(x)},
                                                 {"full_like", cresset::full_like(x, 2)},
                                                 {"empty_like", cresset::empty_like(x)},
                                                 {"new_zeros", x.new_zeros({2})},
                                                 {"new_full", x.new_full({2}, 1)},
                                                 {"clone", x.clone()},
                                                 {"contiguous", x.t().contiguous()},
                                                 {"to", x.to(kDouble)},
                                                 {"rand", cresset::rand({2})},
                                                 {"randn", cresset::randn({2})},
                                                 {"randint", cresset::randint(0, 3, {2})},
                                                 {"randperm", cresset::randperm(3)},
                                                 {"rand_like", cresset::rand_like(x)},
                                                 {"randn_like", cresset::randn_like(x)},
                                                 {"bernoulli", cresset::bernoulli(x)},
                                                 {"cat", cresset::cat({x, x})},
                                                 {"stack", cresset::stack({x, x})},
                                                 {"tril", x.tril()},
                                                 {"where", cresset::where(x > 0, x, x)},
                                                 {"masked_fill", x.masked_fill(x > 0, 1)},
                                                 {"add", x + x},
                                                 {"reshape", x.t().reshape({6})},
                                                 {"flip", x.flip(0)},
                                                 {"roll", x.roll(1)},
                                                 {"repeat", x.repeat({2, 2})},
                                                 {"index_select", x.index_select(0, cresset::zeros({1}, kLong))},
                                                 {"gather", x.gather(0, cresset::zeros({1, 3}, kLong))},
                                                 {"scatter", x.scatter(0, cresset::zeros({1, 3}, kLong), 1)},
                                                 {"cumsum", x.cumsum(0)},
                                                 {"sum", x.sum()},
                                                 {"mm", x.mm(x.t())},
                                                 {"sort", std::get<0>(x.sort())},
                                                 {"dropout", cresset::dropout(x, 0.5, true)},
                                                 {"addmm", cresset::addmm(x, x.mm(x.t()), x)},
                                                 {"index_add", x.index_add(0, cresset::zeros({2}, kLong), x)}};
  for (const auto& [name, t] : made) EXPECT_EQ(t._version(), 0) << name;
}

TEST(VersionTest, CountsChangesThroughEveryView) {
  Tensor x = cresset::zeros({4});
  Tensor v = x.slice(0, 0, 2), w = v.slice(0, 0, 1);
  x.add_(1);
  EXPECT_EQ(w._version(), 1);
  w.mul_(2);
  EXPECT_EQ(x._version(), 2);
  v.zero_();
  EXPECT_EQ(w._version(), 3);
  cresset::add_out(x, x, x);
  EXPECT_EQ(v._version(), 4);
  x.copy_(cresset::ones({4}));
  EXPECT_EQ(v._version(), 5);
}

TEST(VersionTest, DetachSharesItAndDataDoesNot) {
  Tensor x = cresset::zeros({2});
  Tensor detached = x.detach(), data = x.data();
  x.add_(1);
  EXPECT_EQ(detached._version(), 1);
  EXPECT_EQ(data._version(), 0);
  data.add_(1);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(x.data_ptr<float>()[0], 2);
}

TEST(VersionTest, InferenceTensorsHaveNone) {
  InferenceMode guard;
  Tensor x = cresset::zeros({2});
  EXPECT_TRUE(x.is_inference());
  x.add_(1);
  EXPECT_EQ(x._version(), 0);
}

struct Layout3 {
  DimVector sizes, strides;
  bool contiguous, channels_last, dense;
};

TEST(Geometry, ContiguityFlags) {
  const Layout3 cases[] = {
      {{2, 3, 4, 5}, {60, 20, 5, 1}, true, false, true},     {{2, 3, 4, 5}, {60, 1, 15, 3}, false, true, true},  // channels last
      {{2, 1, 4, 5}, {20, 20, 5, 1}, true, true, true},                                                          // one channel: both
      {{2, 3, 1, 1}, {3, 1, 1, 1}, true, true, true},                                                            // one pixel: both
      {{2, 3, 4, 5}, {120, 40, 10, 2}, false, false, false},                                                     // holes
      {{2, 3, 4, 5}, {0, 20, 5, 1}, false, false, false},                                                        // expanded
      {{0, 3, 4, 5}, {7, 7, 7, 7}, true, false, true},    // empty: anything is contiguous, but for channels last the strides count
      {{1, 3, 4, 5}, {99, 20, 5, 1}, true, false, true},  // the stride of a dimension of size 1 says nothing
      {{2, 3, 4, 5}, {1, 2, 6, 24}, false, false, true},  // some other order
  };
  for (const Layout3& c : cases) {
    const Tensor t = cresset::empty({1000}).as_strided(c.sizes, c.strides);
    const std::string what = str(IntArrayRef(c.sizes), " ", IntArrayRef(c.strides));
    EXPECT_EQ(t.is_contiguous(), c.contiguous) << what;
    EXPECT_EQ(t.is_contiguous(MemoryFormat::ChannelsLast), c.channels_last) << what;
    EXPECT_EQ(t.impl()->is_non_overlapping_and_dense(), c.dense) << what;
  }
}

TEST(Geometry, ManyDimensionsLiveOnTheHeap) {
  Tensor t = cresset::arange(64, TensorOptions(kLong)).reshape({2, 2, 2, 2, 2, 2});
  const Tensor copy = t, turned = t.permute({5, 4, 3, 2, 1, 0});
  EXPECT_EQ(t.strides(), IntArrayRef({32, 16, 8, 4, 2, 1}));
  EXPECT_EQ(turned.strides(), IntArrayRef({1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(turned.contiguous().data_ptr<int64_t>()[1], 32);
  t.resize_({2, 3});
  EXPECT_EQ(t.sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(copy.sizes(), IntArrayRef({2, 3}));  // one tensor, two handles
  t.resize_({1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(t.dim(), 7);
}

TEST(Geometry, SizesThatOverflowAreRefused) {
  EXPECT_NE(error_of([] { cresset::empty({int64_t{1} << 40, int64_t{1} << 40}); }).find("64 bits"), std::string::npos);
  EXPECT_NE(error_of([] { cresset::empty({int64_t{1} << 61}, kDouble); }).find("64 bits"), std::string::npos);
  EXPECT_NE(error_of([] { cresset::empty({2, -1}); }).find("negative dimension"), std::string::npos);
  EXPECT_NE(error_of([] { cresset::empty_strided({3}, {-1}); }).find("negative strides"), std::string::npos);
  EXPECT_EQ(cresset::empty({0, int64_t{1} << 40}, kMeta).numel(), 0);
  // No elements, and strides that are too large all the same.
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_NE(error_of([] { cresset::empty({0, kHuge, kHuge}); }).find("strides"), std::string::npos);
  EXPECT_NE(error_of([] { cresset::empty({0, kHuge, kHuge, 3}, kMeta); }).find("strides"), std::string::npos);
  EXPECT_NE(error_of([] { cresset::empty({0, 3, kHuge, 1}, TensorOptions().memory_format(MemoryFormat::ChannelsLast)); }).find("strides"), std::string::npos);
  EXPECT_EQ(cresset::empty({0, kHuge}).strides(), IntArrayRef({kHuge, 1}));
}

TEST(Geometry, ViewsWithMoreElementsThanNumbersAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const Tensor one = cresset::ones({1}), four = cresset::ones({4});
  const auto refused = [](auto f) { return error_of(f).find("64 bits") != std::string::npos; };
  // Sizes whose product is 4, or 0, once it has wrapped around.
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{kHuge + 1, 4}, {int64_t{1} << 33, int64_t{1} << 33}}) {
    EXPECT_TRUE(refused([&] { one.expand(sizes); }));
    EXPECT_TRUE(refused([&] { four.as_strided(sizes, {0, 0}); }));
    EXPECT_TRUE(refused([&] { four.view(sizes); }));
    EXPECT_TRUE(refused([&] { cresset::empty({0}).view(sizes); }));
    Tensor changed = four.clone();
    EXPECT_TRUE(refused([&] { changed.as_strided_(sizes, {0, 0}); }));
    EXPECT_TRUE(changed.equal(four));
  }
  EXPECT_TRUE(refused([&] { four.repeat({kHuge + 1}); }));
  const Tensor wide = one.expand({kHuge});
  EXPECT_TRUE(refused([&] { cresset::cat({wide, wide, wide, wide}); }));
  EXPECT_TRUE(refused([&] { wide.unfold(0, 5, 1); }));
}

TEST(TensorTest, UndefinedIsALegalValue) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_NE(error_of([&] { none.sizes(); }).find("undefined tensor"), std::string::npos);
  EXPECT_EQ(str(none), "an undefined tensor");
}

TEST(TensorTest, MethodsOfAnUndefinedTensorSayThatItIs) {
  const auto says_so = [](auto&& call) { return error_of(call).find("undefined tensor") != std::string::npos; };
  Tensor none;
  EXPECT_TRUE(says_so([&] { none.fill_(3); }));
  EXPECT_TRUE(says_so([&] { none.zero_(); }));
  EXPECT_TRUE(says_so([&] { none.detach(); }));
  EXPECT_TRUE(says_so([&] { none.remove_hook(0); }));
  EXPECT_TRUE(says_so([] { Tensor() = Scalar(5); }));
}

TEST(TensorTest, DataPointersAreTyped) {
  const Tensor x = cresset::ones({2, 2});
  EXPECT_EQ(error_of([&] { x.data_ptr<double>(); }), "data_ptr: expected a tensor of dtype float64, got float32");
  EXPECT_NE(error_of([&] { (x.accessor<float, 1>()); }).find("expected 1 dimensions"), std::string::npos);
  const Tensor turned = x.t();
  auto a = turned.accessor<float, 2>();
  a[0][1] = 5;
  EXPECT_EQ(x.data_ptr<float>()[2], 5);
}

TEST(TensorTest, DimensionsWrapAndAreChecked) {
  const Tensor x = cresset::empty({2, 3});
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_EQ(x.stride(-2), 3);
  EXPECT_EQ(error_of<IndexError>([&] { x.size(2); }), "dimension out of range, got 2, expected a value in [-2, 1]");
}

TEST(TensorTest, OptionsMerge) {
  const TensorOptions a = TensorOptions(kDouble).device(kMeta), b = TensorOptions().dtype(kInt).requires_grad(true);
  const TensorOptions c = a.merge_in(b);
  EXPECT_EQ(c.dtype(), kInt);
  EXPECT_TRUE(c.device().is_meta());
  EXPECT_TRUE(c.requires_grad());
  EXPECT_FALSE(a.has_requires_grad());
  EXPECT_EQ(TensorOptions().dtype(), kFloat);
}

TEST(ViewTest, KnowsItsBase) {
  const Tensor x = cresset::ones({4});
  const Tensor v = x.slice(0, 0, 2), w = v.select(0, 1);
  EXPECT_TRUE(w.is_view());
  EXPECT_TRUE(w._base().is_same(x));
  EXPECT_FALSE(x.is_view());
}

}  // namespace
}  // namespace cresset
