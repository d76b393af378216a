// Pruned parameters. The masks and numbers are PyTorch 2.13's, for weights sin(0.3 i^2).

#include "cresset/nn/utils/prune.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "cresset/cresset.h"
#include "cresset/nn/more.h"
#include "error_of.h"

namespace {

using namespace cresset;
namespace prune = nn::utils::prune;

nn::Linear layer_of(int64_t out = 3, int64_t in = 4) {
  nn::Linear layer(in, out);
  const Tensor i = arange(out * in, kFloat);
  layer->weight.set_data((i * i * 0.3).sin().view({out, in}));
  layer->bias.set_data(arange(out, kFloat));
  return layer;
}
std::string mask_of(const nn::Linear& layer, const std::string& name = "weight") {
  std::string text;
  const Tensor mask = layer->named_buffers()[name + "_mask"].flatten();
  for (int64_t i = 0; i < mask.numel(); i++) text += mask[i].item<float>() == 1 ? '1' : mask[i].item<float>() == 0 ? '0' : '?';
  return text;
}

TEST(Prune, AtRandomAsInPython) {
  nn::Linear layer = layer_of();
  manual_seed(4);
  prune::random_unstructured(layer, "weight", 5);
  EXPECT_EQ(mask_of(layer), "011111000011");
  prune::random_unstructured(layer, "weight", 0.5);
  EXPECT_EQ(mask_of(layer), "001000000011");
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"bias", "weight_orig"}));

  layer = layer_of();
  manual_seed(4);
  prune::random_structured(layer, "weight", 2, 1);
  EXPECT_EQ(mask_of(layer), "110011001100");
  prune::random_structured(layer, "weight", 1, 0);
  EXPECT_EQ(mask_of(layer), "000011001100");
  const auto all = prune::BasePruningMethod::apply<prune::L1Unstructured>(layer, "weight", 0.3);
  EXPECT_EQ(mask_of(layer), "000011000100");
  EXPECT_EQ(dynamic_cast<prune::PruningContainer&>(*all).size(), 3u);
}

TEST(Prune, BySize) {
  nn::Linear layer = layer_of();
  prune::ln_structured(layer, "weight", 1, 2, 0);
  EXPECT_EQ(mask_of(layer), "000011111111");
  prune::ln_structured(layer, "weight", 0.5, std::numeric_limits<double>::infinity(), -1);
  EXPECT_EQ(mask_of(layer), "000010101010");
  layer = layer_of();
  prune::l1_unstructured(layer, "weight", 3, -layer->weight.abs());
  EXPECT_EQ(mask_of(layer), "001111110111");
  prune::ln_structured(layer, "weight", 0.34, 1, 1);
  EXPECT_EQ(mask_of(layer), "001101110111");
}

TEST(Prune, AcrossModules) {
  nn::Linear a = layer_of(), b = layer_of(2, 3);
  prune::l1_unstructured(a, "weight", 2);
  prune::global_unstructured({{a, "weight"}, {b, "weight"}, {a, "bias"}}, prune::L1Unstructured(0.4));
  EXPECT_EQ(mask_of(a), "001011100011");
  EXPECT_EQ(mask_of(b), "001011");
  EXPECT_EQ(mask_of(a, "bias"), "011");
  manual_seed(2);
  prune::global_unstructured({{a, "weight"}, {b, "weight"}}, prune::RandomUnstructured(4));
  EXPECT_EQ(mask_of(a), "000010100000");
  EXPECT_EQ(mask_of(b), "001011");
  EXPECT_THROW(prune::global_unstructured({{a, "weight"}}, prune::LnStructured(1, 2)), TypeError);
}

TEST(Prune, MasksGoWithTheCallsUntilRemoved) {
  nn::Linear layer = layer_of();
  const Tensor weight = layer->weight, x = tensor({1.f, -2.f, 0.5f, 1.f}).unsqueeze(0);
  prune::l1_unstructured(layer, "weight", 6);
  optim::SGD optimizer(layer->parameters(), 0.1);
  layer(x).pow(2).sum().backward();
  EXPECT_TRUE(weight.is_same(layer->named_parameters()["weight_orig"]));
  const auto expect = [](const Tensor& got, const std::vector<float>& expected) {
    EXPECT_TRUE(allclose(got.detach().flatten(), tensor(expected), 1e-5, 1e-5)) << got;
  };
  expect(weight.grad(), {0, 0, 0.4660195f, 0, -4.7252655f, 9.4505310f, -2.3626327f, 0, 0, 0, 0.5206865f, 1.0413730f});
  optimizer.step();
  expect(layer(x), {0.3495147f, 0.5906579f, 0.2863775f});
  EXPECT_TRUE(prune::is_pruned(layer) && prune::is_pruned(*nn::Sequential(layer)));
  prune::remove(layer, "weight");
  expect(layer->weight, {0, 0, 0.8854371f, 0, -0.5236380f, -0.0070530f, -0.7446730f, 0, 0, 0, -1.0401000f, -1.0894352f});
  EXPECT_TRUE(layer->weight.is_same(weight) && weight.requires_grad());
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"bias", "weight"}));
  EXPECT_FALSE(prune::is_pruned(layer));
  EXPECT_THROW(prune::remove(layer, "weight"), ValueError);
  // The hook that is left does nothing, and serves again.
  {
    NoGradGuard guard;
    weight.fill_(1);
    layer->bias.zero_();
  }
  expect(layer(ones({1, 4})), {4, 4, 4});
  prune::custom_from_mask(layer, "weight", cat({zeros({3, 1}), ones({3, 3})}, 1));
  expect(layer(ones({1, 4})), {3, 3, 3});
}

TEST(Prune, Errors) {
  nn::Linear layer = layer_of();
  EXPECT_THROW(prune::l1_unstructured(layer, "weight", 13), ValueError);
  EXPECT_THROW(prune::l1_unstructured(layer, "weight", -1), ValueError);
  EXPECT_THROW(prune::l1_unstructured(layer, "weight", 1.5), ValueError);
  EXPECT_THROW(prune::l1_unstructured(layer, "scale", 1), ValueError);
  EXPECT_THROW(prune::l1_unstructured(layer, "weight", 1, ones({2})), Error);
  EXPECT_THROW(prune::ln_structured(layer, "bias", 1, 2, 0), ValueError);
  EXPECT_THROW(prune::ln_structured(layer, "weight", 1, 2, 2), IndexError);
  EXPECT_THROW(prune::custom_from_mask(layer, "weight", ones({2})), Error);
  EXPECT_FALSE(prune::is_pruned(layer));
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_THROW(prune::L1Unstructured(1).apply_mask(*layer), Error);
  EXPECT_THROW(prune::PruningContainer({nullptr}), TypeError);
  auto first = std::make_shared<prune::Identity>(), second = std::make_shared<prune::Identity>();
  first->set_tensor_name("weight");
  second->set_tensor_name("bias");
  EXPECT_THROW(prune::PruningContainer({first, second}), ValueError);
}

TEST(Prune, MethodsAlone) {
  const Tensor t = tensor({1.f, -2.f});
  EXPECT_TRUE(equal(prune::L1Unstructured(0.5).prune(t), tensor({0.f, -2.f})));
  EXPECT_TRUE(equal(prune::L1Unstructured(1).prune(t, {}, tensor({3.f, 1.f})), tensor({1.f, 0.f})));
  EXPECT_TRUE(equal(prune::CustomFromMask(tensor({0.f, 1.f})).prune(t), tensor({0.f, -2.f})));
  EXPECT_TRUE(equal(prune::Identity().prune(t), t));
}

TEST(Prune, StateIsSavedAndLoaded) {
  nn::Linear first = layer_of(), second = layer_of();
  prune::l1_unstructured(first, "weight", 5);
  prune::identity(second, "weight");
  std::stringstream file;
  save(first, file);
  load(second, file);
  EXPECT_TRUE(equal(first(ones({1, 4})), second(ones({1, 4}))));
  EXPECT_EQ(mask_of(second), mask_of(first));
}

TEST(Prune, NothingIsKnownOfAModuleThatIsGone) {
  // Others are made where it was.
  for (int i = 0; i < 20; i++) {
    nn::Linear layer = layer_of();
    EXPECT_FALSE(prune::is_pruned(layer));
    prune::identity(layer, "weight");
  }
}

}  // namespace
