// Layers, functions and helpers of Python's torch.nn that LibTorch lacks. The numbers are PyTorch 2.13's.

#include "cresset/nn/more.h"

#include <gtest/gtest.h>

#include "cresset/data/more.h"

namespace {

using namespace cresset;
namespace F = nn::functional;

void expect_near(const Tensor& got, const std::vector<float>& expected) {
  ASSERT_EQ(static_cast<size_t>(got.numel()), expected.size());
  EXPECT_TRUE(allclose(got.detach().flatten(), tensor(expected), 1e-5, 1e-5)) << got;
}

TEST(More, Layers) {
  const Tensor x = arange(8, kFloat).view({1, 4, 2}) - 3;
  expect_near(nn::RMSNorm(std::vector<int64_t>{2})(x)[0][0], {-1.1766968f, -0.78446454f});
  expect_near(nn::ChannelShuffle(2)(x.unsqueeze(-1)), {-3, -2, 1, 2, -1, 0, 3, 4});
  expect_near(nn::CircularPad1d(1)(x)[0][0], {-2, -3, -2, -3});
  expect_near(nn::Hardsigmoid()(x)[0][3], {1, 1});
  expect_near(nn::Hardswish()(x)[0][1], {-1.f / 3, 0});
  expect_near(nn::UpsamplingNearest2d(F::InterpolateFuncOptions().scale_factor(std::vector<double>{1, 2}))(x.unsqueeze(0))[0][0][0], {-3, -3, -2, -2});
  manual_seed(1);
  nn::Dropout1d dropout(0.5);
  const Tensor dropped = dropout(ones({1, 6, 3}));
  for (int64_t c = 0; c < 6; c++) EXPECT_TRUE(dropped[0][c].eq(dropped[0][c][0]).all().item<bool>()) << c;
  dropout->eval();
  EXPECT_TRUE(equal(dropout(x), x));
  nn::GaussianNLLLoss loss;
  EXPECT_NEAR(loss(tensor({1.f, 2.f}), tensor({0.f, 4.f}), tensor({0.5f, 2.f})).item<float>(), 1.0f, 1e-6);
  EXPECT_THROW(loss(tensor({1.f}), tensor({0.f}), tensor({-1.f})), ValueError);
}

TEST(More, Functions) {
  manual_seed(1);
  const Tensor x = randn({5, 2, 3}), weight = randn({2, 3, 4}), bias = randn({4});
  const Tensor out = F::conv_tbc(x, weight, bias, 1);
  EXPECT_EQ(out.sizes(), IntArrayRef({6, 2, 4}));
  EXPECT_TRUE(allclose(out[2], x[1].matmul(weight[0]) + x[2].matmul(weight[1]) + bias, 1e-4, 1e-5));
  const Tensor target = tensor({1, 3});
  EXPECT_TRUE(equal(F::linear_cross_entropy(x[0], weight[0].t(), target, bias), F::cross_entropy(F::linear(x[0], weight[0].t(), bias), target)));
  Tensor y = tensor({-8.f, 2.f});
  F::rrelu_(y, 0.25, 0.25);
  EXPECT_TRUE(equal(y, tensor({-2.f, 2.f})));
}

TEST(More, HelpersOverParameters) {
  Tensor p = tensor({3.f, 4.f}).requires_grad_();
  p.mutable_grad() = tensor({3.f, 4.f});
  const Tensor total = nn::utils::get_total_norm({p.grad()});
  EXPECT_EQ(total.item<float>(), 5.0f);
  nn::utils::clip_grads_with_norm_({p}, 1.0, total);
  EXPECT_TRUE(allclose(p.grad(), tensor({0.6f, 0.8f})));
  const Tensor narrow = nn::init::trunc_normal_(empty({200}), 0, 1, -0.5, 0.5);
  EXPECT_LE(narrow.abs().max().item<float>(), 0.5f);
  EXPECT_LE(nn::init::trunc_normal_(empty({200}), 0, 1, 1.5, 2).sub(1.75).abs().max().item<float>(), 0.25f);
}

TEST(More, FusedLayersDoWhatBothDid) {
  nn::Conv2d conv(nn::Conv2dOptions(2, 3, 3));
  nn::BatchNorm2d bn(3);
  bn(conv(randn({4, 2, 5, 5})));
  conv->eval();
  bn->eval();
  const Tensor x = randn({2, 2, 6, 6});
  EXPECT_TRUE(allclose(nn::utils::fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), 1e-4, 1e-5));
  conv->train();
  EXPECT_THROW(nn::utils::fuse_conv_bn_eval(conv, bn), Error);
}

struct Numbers : data::datasets::Dataset<Numbers, int> {
  explicit Numbers(int first, size_t count) : first(first), count(count) {}
  int get(size_t index) override { return first + static_cast<int>(index); }
  std::optional<size_t> size() const override { return count; }
  int first;
  size_t count;
};

TEST(More, PartsAndSumsOfDatasets) {
  const auto low = std::make_shared<Numbers>(0, 3), high = std::make_shared<Numbers>(10, 2);
  data::datasets::ConcatDataset<Numbers> both({low, high});
  EXPECT_EQ(both.size(), 5u);
  EXPECT_EQ(both.get(3), 10);
  EXPECT_THROW(both.get(5), IndexError);
  manual_seed(0);
  const Tensor order = randperm(3);
  manual_seed(0);
  auto parts = data::datasets::random_split(low, {2, 1});
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(i < 2 ? parts[0].get(i) : parts[1].get(0), static_cast<int>(order[static_cast<int64_t>(i)].item<int64_t>()));
  EXPECT_THROW(data::datasets::random_split(low, {1, 1}), ValueError);
}

TEST(More, SamplersDrawAsInPython) {
  manual_seed(0);
  const Tensor order = randperm(3);
  manual_seed(0);
  data::samplers::SubsetRandomSampler some({7, 8, 9});
  std::vector<size_t> expected;
  for (int64_t i = 0; i < 3; i++) expected.push_back(7 + static_cast<size_t>(order[i].item<int64_t>()));
  EXPECT_EQ(some.next(5), expected);
  EXPECT_FALSE(some.next(5));
  data::samplers::WeightedRandomSampler weighted({0, 1, 0}, 4);
  EXPECT_EQ(weighted.next(3), (std::vector<size_t>{1, 1, 1}));
  EXPECT_EQ(weighted.next(3), (std::vector<size_t>{1}));
}

}  // namespace
