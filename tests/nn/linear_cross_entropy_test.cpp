// The loss of a linear layer's scores, in one piece and in several. The numbers are PyTorch 2.13's.

#include "cresset/nn/layers/linear_cross_entropy.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"

namespace {

using namespace cresset;

Tensor waves(IntArrayRef shape, double c = 0.3) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  const Tensor i = arange(n, kFloat);
  return (i * i * c).sin().view(shape);
}
void expect_near(const Tensor& got, const std::vector<float>& expected) {
  ASSERT_EQ(static_cast<size_t>(got.numel()), expected.size());
  EXPECT_TRUE(allclose(got.detach().flatten(), tensor(expected), 1e-5, 2e-6)) << got;
}
Tensor classes() { return tensor({0, 3, 1, -100, 2}); }

struct Case {
  nn::LinearCrossEntropyLossOptions options;
  std::vector<float> loss, of_weight, of_input;
};

TEST(LinearCrossEntropyLoss, GivesPyTorchsLossesAndGradients) {
  const nn::LinearCrossEntropyLossOptions plain(3, 4);
  auto smooth = plain, weighted = plain, each = plain;
  smooth.bias(true).reduction(kSum).label_smoothing(0.1);
  weighted.weight(tensor({1.f, 2.f, 0.5f, 1.f}));
  each.reduction(kNone);
  const std::vector<Case> cases = {
      {plain, {1.419295f}, {0.010176f, -0.100577f, -0.004742f}, {-0.099764f, -0.018916f, -0.099386f}},
      {smooth, {8.577394f}, {-0.001973f, -0.497318f, -0.202852f}, {-0.705007f, -0.124433f, -0.839874f}},
      {weighted, {1.19012f}, {0.013159f, -0.062442f, 0.062963f}, {-0.088679f, -0.016814f, -0.088343f}},
      {each, {1.042535f, 0.220769f, 1.256866f, 0, 3.15701f}, {0.040705f, -0.402307f, -0.018969f}, {-0.399055f, -0.075662f, -0.397542f}},
  };
  for (const Case& c : cases)
    for (int64_t rows : {0, 2, 5, 7}) {
      SCOPED_TRACE(str(c.loss[0], " in pieces of ", rows));
      auto options = c.options;
      if (rows) options.options(nn::LinearCrossEntropyOptions().batch_chunk_size(rows));
      nn::LinearCrossEntropyLoss loss(options);
      loss->linear->weight.set_data(waves({4, 3}));
      if (options.bias()) loss->linear->bias.set_data(arange(4, kFloat));
      const Tensor x = waves({5, 3}, 0.7).requires_grad_(), value = loss(x, classes());
      expect_near(value, c.loss);
      value.sum().backward();
      expect_near(loss->linear->weight.grad()[0], c.of_weight);
      expect_near(x.grad()[0], c.of_input);
    }
}

TEST(LinearCrossEntropyLoss, PlacesAndProbabilities) {
  nn::LinearCrossEntropyLoss places(nn::LinearCrossEntropyLossOptions(3, 4).out_features({2})), plain(3, 4);
  places->linear->weight.set_data(waves({8, 3}));
  plain->linear->weight.set_data(waves({4, 3}));
  const Tensor x = waves({5, 3}, 0.7);
  expect_near(places(x, tensor({0, 1, 3, 2, 1, 0, 2, 2, 3, 3}).view({5, 2})), {1.804909f});
  const Tensor probabilities = waves({5, 4}, 0.9).softmax(1);
  expect_near(plain(x, probabilities), {2.065572f});
  auto in_pieces = plain->options;
  nn::LinearCrossEntropyLoss pieces(in_pieces.options(nn::LinearCrossEntropyOptions().batch_chunk_size(2)));
  pieces->linear->weight.set_data(waves({4, 3}));
  expect_near(pieces(x, probabilities), {2.065572f});
}

TEST(LinearCrossEntropyLoss, StateAndCopies) {
  nn::LinearCrossEntropyLoss loss(nn::LinearCrossEntropyLossOptions(3, 4).weight(ones({4})));
  EXPECT_EQ(loss->named_parameters().keys(), std::vector<std::string>{"linear.weight"});
  EXPECT_EQ(loss->named_buffers().keys(), std::vector<std::string>{"weight"});
  nn::LinearCrossEntropyLoss copy(std::dynamic_pointer_cast<nn::LinearCrossEntropyLossImpl>(loss->clone()));
  const Tensor x = waves({5, 3});
  EXPECT_TRUE(equal(copy(x, classes()), loss(x, classes())));
}

TEST(LinearCrossEntropyLoss, Errors) {
  const nn::LinearCrossEntropyLossOptions plain(3, 4);
  auto wrong = plain;
  EXPECT_THROW(nn::LinearCrossEntropyLoss(wrong.weight(ones({3}))), Error);
  EXPECT_THROW(nn::LinearCrossEntropyLoss(wrong.weight({}).label_smoothing(1.5)), Error);
  nn::LinearCrossEntropyLoss loss(plain);
  EXPECT_THROW(loss(ones({5, 2}), classes()), Error);
  EXPECT_THROW(loss(ones({4, 3}), classes()), ValueError);
  EXPECT_THROW(loss(ones({5, 3}), ones({5, 4}, kLong)), Error);
  wrong = plain;
  nn::LinearCrossEntropyLoss ignoring(wrong.ignore_index(1)), pieces(wrong.options(nn::LinearCrossEntropyOptions().batch_chunk_size(0)));
  EXPECT_THROW(ignoring(ones({5, 3}), ones({5, 4})), Error);
  EXPECT_THROW(pieces(ones({5, 3}), classes()), ValueError);
}

}  // namespace
