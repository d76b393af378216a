// Layers whose first input tells their shapes. The numbers are PyTorch 2.13's after torch.manual_seed(5).

#include "cresset/nn/module/lazy.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/cresset.h"
#include "cresset/nn/more.h"
#include "error_of.h"

namespace {

using namespace cresset;

void expect_near(const Tensor& got, const std::vector<float>& expected) {
  ASSERT_EQ(static_cast<size_t>(got.numel()), expected.size());
  EXPECT_TRUE(allclose(got.detach().flatten(), tensor(expected), 1e-4, 6e-5)) << got;
}

TEST(Lazy, DrawsPythonsNumbersAtTheFirstCall) {
  nn::LazyLinear linear(2);
  nn::LazyConv1d conv(nn::LazyConv1dOptions(4, 2).groups(2));
  nn::LazyConvTranspose1d transposed(2, 2);
  manual_seed(5);
  expect_near(linear(ones({1, 3})), {0.0326f, 0.6866f});
  expect_near(conv(ones({1, 2, 3})), {0.7190f, 0.7190f, 0.4542f, 0.4542f, -1.0064f, -1.0064f, 1.0104f, 1.0104f});
  expect_near(transposed(ones({1, 3, 2})), {-0.0470f, -0.8046f, -1.2134f, -0.7774f, -0.5494f, 0.2164f});
  expect_near(rand({1}), {0.7965f});
  EXPECT_EQ(linear->options.in_features(), 3);
  EXPECT_EQ(conv->weight.sizes(), IntArrayRef({4, 1, 2}));
  EXPECT_EQ(transposed->weight.sizes(), IntArrayRef({3, 2, 2}));
}

TEST(Lazy, MembersAndOptimizersSeeTheTensorsThatWereThere) {
  nn::LazyLinear layer(2);
  const Tensor weight = layer->weight;
  layer(ones({4, 5}));
  EXPECT_TRUE(weight.is_same(layer->weight));
  EXPECT_TRUE(weight.is_same(layer->named_parameters()["weight"]));
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
  layer(ones({4, 5})).sum().backward();
  EXPECT_EQ(weight.grad().sizes(), IntArrayRef({2, 5}));
  optim::SGD(layer->parameters(), 0.1).step();
}

TEST(Lazy, ErrorsBeforeTheFirstInput) {
  nn::LazyConv2d layer(3, 3);
  EXPECT_TRUE(layer->has_uninitialized_params());
  EXPECT_TRUE(nn::is_lazy(layer->weight) && !nn::is_lazy(ones({1})));
  EXPECT_THROW(layer->weight + 1, ValueError);
  EXPECT_NE(error_of([&] { layer->weight.sum(); }).find("uninitialized tensor; call the module once"), std::string::npos);
  EXPECT_THROW(optim::SGD(layer->parameters(), 0.1), ValueError);
  EXPECT_THROW(layer(ones({1, 2})), Error);
  EXPECT_TRUE(layer->has_uninitialized_params());
  EXPECT_THROW(nn::LazyConv2d(nn::LazyConv2dOptions(4, 1).groups(2))(ones({1, 3, 2, 2})), Error);
}

TEST(Lazy, Normalisations) {
  const Tensor x = randn({4, 3, 5});
  nn::LazyBatchNorm1d batch;
  EXPECT_TRUE(equal(batch(x), nn::BatchNorm1d(3)(x)));
  EXPECT_EQ(batch->running_mean.sizes(), IntArrayRef({3}));
  EXPECT_EQ(batch->num_batches_tracked.item<int64_t>(), 1);
  nn::LazyInstanceNorm1d instance(nn::LazyInstanceNorm1dOptions().affine(true));
  EXPECT_TRUE(equal(instance(x[0]), nn::InstanceNorm1d(nn::InstanceNormOptions(3).affine(true))(x[0])));
  EXPECT_THROW(nn::LazyBatchNorm2d()(x), Error);
  nn::LazyInstanceNorm2d bare;  // has no parameters at all
  EXPECT_EQ(bare(ones({2, 3, 2, 2})).sizes(), IntArrayRef({2, 3, 2, 2}));
  EXPECT_EQ(bare->options.num_features(), 3);
}

TEST(Lazy, MovesBeforeTheFirstInput) {
  nn::Sequential net(nn::LazyLinear(2), nn::LazyBatchNorm1d());
  net->to(kDouble);
  manual_seed(3);
  EXPECT_EQ(net->forward(ones({2, 3}, kDouble)).scalar_type(), kDouble);
  manual_seed(3);
  // As in Python the numbers are drawn in double precision.
  EXPECT_TRUE(equal(net->at<nn::LazyLinearImpl>(0).weight, nn::init::kaiming_uniform_(empty({2, 3}, kDouble), std::sqrt(5.0))));
}

std::string saved(const std::shared_ptr<nn::Module>& module) {
  std::ostringstream stream;
  save(module, stream);
  return stream.str();
}
void load_from(const std::string& text, std::shared_ptr<nn::Module> module) {
  std::istringstream stream(text);
  load(module, stream);
}

TEST(Lazy, StateOfAnEagerModuleGivesShapes) {
  nn::Sequential eager(nn::Linear(3, 2), nn::BatchNorm1d(2)), lazy(nn::LazyLinear(2), nn::LazyBatchNorm1d());
  eager->forward(randn({5, 3}));
  load_from(saved(eager.ptr()), lazy.ptr());
  EXPECT_FALSE(nn::has_uninitialized_params(*lazy->ptr(0)));
  for (const auto& item : eager->named_parameters()) EXPECT_TRUE(equal(item.value(), lazy->named_parameters()[item.key()])) << item.key();
  for (const auto& item : eager->named_buffers()) EXPECT_TRUE(equal(item.value(), lazy->named_buffers()[item.key()])) << item.key();
  const Tensor x = randn({4, 3});
  eager->eval();
  lazy->eval();
  EXPECT_TRUE(equal(eager->forward(x), lazy->forward(x)));
}

TEST(Lazy, StateWithoutShapesIsSavedAndLoaded) {
  nn::LazyLinear first(2), second(2);
  load_from(saved(first.ptr()), second.ptr());
  EXPECT_TRUE(second->has_uninitialized_params());
  EXPECT_EQ(second->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
}

TEST(Lazy, StateOfAnotherModelChangesNothing) {
  nn::Sequential other(nn::Linear(3, 2), nn::Linear(5, 5)), lazy(nn::LazyLinear(2), nn::Linear(2, 2));
  const Tensor before = lazy->named_parameters()["1.weight"].clone();
  EXPECT_THROW(load_from(saved(other.ptr()), lazy.ptr()), Error);
  EXPECT_TRUE(nn::has_uninitialized_params(*lazy->ptr(0)));
  EXPECT_TRUE(equal(before, lazy->named_parameters()["1.weight"]));
  EXPECT_THROW(load_from(saved(nn::Linear(nn::LinearOptions(3, 2).bias(false)).ptr()), nn::LazyLinear(2).ptr()), Error);
}

TEST(Lazy, Copies) {
  nn::Sequential net(nn::LazyLinear(2));
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  EXPECT_TRUE(nn::has_uninitialized_params(*copy->ptr(0)));
  net->forward(ones({1, 3}));
  EXPECT_TRUE(nn::has_uninitialized_params(*copy->ptr(0)));
  copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  EXPECT_TRUE(equal(copy->forward(ones({1, 3})), net->forward(ones({1, 3}))));
}

TEST(Lazy, Prints) {
  std::ostringstream text;
  nn::LazyLinear layer(2);
  text << layer;
  layer(ones({1, 3}));
  text << ' ' << layer;
  EXPECT_EQ(text.str(), "torch::nn::LazyLinear(in_features=0, out_features=2, bias=true) torch::nn::Linear(in_features=3, out_features=2, bias=true)");
}

TEST(Lazy, ParametersOfOnesOwn) {
  nn::UninitializedParameter p(kDouble);
  p.materialize({2, 3});
  EXPECT_EQ(p.sizes(), IntArrayRef({2, 3}));
  EXPECT_TRUE(p.requires_grad() && p.scalar_type() == kDouble);
  EXPECT_THROW(p.materialize({2}), Error);
  EXPECT_FALSE(nn::UninitializedBuffer().requires_grad());
}

}  // namespace
