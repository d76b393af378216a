// Modules as functions of their parameters and buffers.

#include "cresset/nn/module/functional_call.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/nn/more.h"
#include "cresset/transform/vmap.h"
#include "error_of.h"

namespace {

using namespace cresset;
using func::TensorDict;

TensorDict doubled(const nn::Module& module) {
  TensorDict all;
  for (const auto& item : module.named_parameters()) all.insert(item.key(), item.value().detach() * 2);
  return all;
}

TEST(FunctionalCall, TakesOtherTensorsForOneCall) {
  nn::Sequential net(nn::Linear(3, 4), nn::Sequential(nn::LayerNorm(std::vector<int64_t>{4}), nn::Linear(4, 2)));
  const Tensor x = randn({5, 3}), before = net->forward(x);
  nn::Sequential other(std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone()));
  {
    NoGradGuard guard;
    for (Tensor& p : other->parameters()) p.mul_(2);
  }
  EXPECT_TRUE(equal(func::functional_call(net, doubled(*net), x), other->forward(x)));
  EXPECT_TRUE(equal(net->forward(x), before));
}

TEST(FunctionalCall, GradientsReachTheTensorsThatWereGiven) {
  nn::Linear layer(2, 1);
  TensorDict tensors = doubled(*layer);
  tensors["weight"].set_requires_grad(true);
  func::functional_call(layer, tensors, tensor({3.f, 4.f})).sum().backward();
  EXPECT_TRUE(equal(tensors["weight"].grad(), tensor({3.f, 4.f}).unsqueeze(0)));
  EXPECT_FALSE(layer->weight.grad().defined());
}

TEST(FunctionalCall, BuffersAreTheOnesThatAreUpdated) {
  nn::BatchNorm1d norm(2);
  TensorDict buffers;
  for (const auto& item : norm->named_buffers()) buffers.insert(item.key(), item.value().clone());
  func::functional_call(norm, buffers, randn({4, 2}));
  EXPECT_EQ(buffers["num_batches_tracked"].item<int64_t>(), 1);
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
}

TEST(FunctionalCall, ComputedWeightsAndTables) {
  const Tensor x = randn({2, 3});
  nn::Linear normed(3, 3), pruned(3, 3), spectral(3, 3);
  nn::utils::parametrizations::weight_norm(normed);
  nn::utils::prune::identity(pruned, "weight");
  nn::utils::spectral_norm(spectral);
  spectral->eval();
  TensorDict zeros;
  zeros.insert("parametrizations.weight.original0", cresset::zeros({3, 1}));
  EXPECT_TRUE(allclose(func::functional_call(normed, zeros, x), normed->bias.expand({2, 3})));
  zeros.clear();
  zeros.insert("weight_mask", cresset::zeros({3, 3}));
  EXPECT_TRUE(allclose(func::functional_call(pruned, zeros, x), pruned->bias.expand({2, 3})));
  zeros.clear();
  zeros.insert("bias", cresset::zeros({3}));
  zeros.insert("weight_orig", eye(3) * 5);
  const Tensor u = spectral->named_buffers()["weight_u"], v = spectral->named_buffers()["weight_v"];
  EXPECT_TRUE(allclose(func::functional_call(spectral, zeros, x), x / u.dot(v), 1e-4, 1e-5));
  nn::GRU rnn(3, 2);
  TensorDict weights;
  for (const auto& item : rnn->named_parameters()) weights.insert(item.key(), cresset::zeros_like(item.value()));
  EXPECT_TRUE(equal(std::get<0>(func::functional_call(rnn, weights, std::make_tuple(x.unsqueeze(0)))), cresset::zeros({1, 2, 2})));
}

struct TiedImpl : nn::Module {
  TiedImpl() {
    first = register_module("first", nn::Linear(nn::LinearOptions(2, 2).bias(false)));
    second = register_module("second", nn::Linear(nn::LinearOptions(2, 2).bias(false)));
    second->unregister_parameter("weight");
    second->weight = second->register_parameter("weight", first->weight);
  }
  Tensor forward(const Tensor& x) { return second(first(x)); }
  nn::Linear first = nullptr, second = nullptr;
};
CRESSET_MODULE(Tied);

TEST(FunctionalCall, TiedTensorsGoTogether) {
  Tied net;
  TensorDict tensors;
  tensors.insert("first.weight", eye(2) * 3);
  const Tensor x = tensor({1.f, 2.f});
  EXPECT_TRUE(equal(func::functional_call(net, tensors, x), x * 9));
  EXPECT_TRUE(equal(func::functional_call(net, tensors, x, false), net->first->weight.matmul(x * 3)));
  EXPECT_TRUE(equal(func::functional_call(net, tensors, x, true, true), x * 9));
  EXPECT_NE(error_of([&] { func::functional_call(net, tensors, x, false, true); }).find("missing keys [second.weight]"), std::string::npos);
  tensors.insert("second.weight", eye(2));
  EXPECT_TRUE(equal(func::functional_call(net, tensors, x), x * 3));
}

struct ScaledImpl : nn::Module {
  ScaledImpl() { scale = register_parameter("scale", ones({2})); }
  Tensor forward(const Tensor& x) { return x * scale; }
  Tensor scale;
};
CRESSET_MODULE(Scaled);
struct DeclaredImpl : ScaledImpl {};
CRESSET_MODULE(Declared);

TEST(FunctionalCall, Errors) {
  Scaled net;
  TensorDict tensors;
  tensors.insert("scale", full({2}, 3.0));
  EXPECT_NE(error_of([&] { func::functional_call(net, tensors, ones({2})); }).find("declare_member(\"scale\""), std::string::npos);
  nn::declare_member("scale", &DeclaredImpl::scale);
  EXPECT_TRUE(equal(func::functional_call(Declared(), tensors, ones({2})), full({2}, 3.0)));
  nn::Linear layer(2, 2);
  EXPECT_THROW(func::functional_call(layer, {doubled(*layer), doubled(*layer)}, std::make_tuple(ones({2}))), ValueError);
  EXPECT_NE(error_of([&] { func::functional_call(layer, tensors, ones({2}), true, true); }).find("unexpected keys [scale]"), std::string::npos);
  const Tensor weight = layer->weight;
  EXPECT_THROW(func::functional_call(layer, doubled(*layer), ones({7})), Error);
  EXPECT_TRUE(layer->weight.is_same(weight) && layer->named_parameters()["weight"].is_same(weight));
}

TEST(StackModuleState, AnEnsembleIsOneCall) {
  std::vector<nn::Linear> models = {nn::Linear(3, 2), nn::Linear(3, 2), nn::Linear(3, 2)};
  const auto [parameters, buffers] = func::stack_module_state(models);
  EXPECT_EQ(parameters["weight"].sizes(), IntArrayRef({3, 2, 3}));
  EXPECT_TRUE(parameters["weight"].requires_grad() && parameters["weight"].is_leaf() && buffers.is_empty());
  const Tensor x = randn({5, 3});
  const auto all = func::vmap([&](const func::Tensors& own) -> func::Tensors {
    TensorDict tensors;
    tensors.insert("weight", own[0]);
    tensors.insert("bias", own[1]);
    return {func::functional_call(models[0], tensors, x)};
  })({parameters["weight"], parameters["bias"]});
  for (int64_t i = 0; i < 3; i++) EXPECT_TRUE(allclose(all[0][i], models[static_cast<size_t>(i)](x), 1e-5, 1e-6));
  models[1]->eval();
  EXPECT_THROW(func::stack_module_state(models), Error);
  EXPECT_THROW(func::stack_module_state(std::vector<nn::Linear>()), Error);
  EXPECT_THROW(func::stack_module_state(std::vector<std::shared_ptr<nn::Module>>{nn::Linear(1, 1).ptr(), nn::ReLU().ptr()}), Error);
}

TEST(ReplaceAllBatchNormModules, StatisticsAreAlwaysOfTheBatch) {
  nn::Sequential net(nn::Linear(2, 2), nn::Sequential(nn::BatchNorm1d(2)));
  func::replace_all_batch_norm_modules_(net);
  EXPECT_TRUE(net->named_buffers().is_empty());
  const Tensor x = randn({6, 2}), trained = net->forward(x);
  net->eval();
  EXPECT_TRUE(equal(net->forward(x), trained));
  EXPECT_TRUE(allclose(trained.mean(0), zeros({2}), 1e-5, 1e-5));
}

TEST(SkipInit, DrawsNothing) {
  manual_seed(7);
  const Tensor next = rand({3});
  manual_seed(7);
  auto layer = nn::utils::skip_init<nn::Linear>(1000, 3);
  auto norm = nn::utils::skip_init<nn::BatchNorm1d>(nn::BatchNormOptions(2).affine(false));
  EXPECT_TRUE(equal(rand({3}), next));
  EXPECT_EQ(layer->weight.sizes(), IntArrayRef({3, 1000}));
  EXPECT_TRUE(layer->weight.device().is_cpu() && layer->weight.requires_grad() && norm->running_var.device().is_cpu());
  layer->reset_parameters();
  EXPECT_EQ(layer(ones({1, 1000})).sizes(), IntArrayRef({1, 3}));
}

}  // namespace
