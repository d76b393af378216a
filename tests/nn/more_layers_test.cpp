// Layers beside those of cresset.h: CTC, adaptive softmax, fractional pooling, grids, packed sequences, CrossMapLRN2d; replicas, and hooks.
// The numbers are PyTorch 2.13's for the same seeds.

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/cresset.h"
#include "cresset/nn/all.h"
#include "cresset/ops/namespaces.h"
#include "error_of.h"

namespace {

using namespace cresset;
namespace F = nn::functional;

void expect_near(const Tensor& got, const std::vector<float>& expected) {
  ASSERT_EQ(static_cast<size_t>(got.numel()), expected.size());
  EXPECT_TRUE(allclose(got.detach().flatten(), tensor(expected), 1e-5, 1e-5)) << got << "\nexpected\n" << tensor(expected);
}

TEST(CtcLoss, AgreesWithPyTorch) {
  manual_seed(3);
  const Tensor scores = log_softmax(randn({6, 2, 5}), 2).requires_grad_();
  nn::CTCLoss loss;
  const Tensor value = loss(scores, tensor({1, 2, 2, 3, 4, 0}).view({2, 3}), tensor({6, 5}), tensor({3, 2}));
  value.backward();
  expect_near(value, {2.41863465f});
  expect_near(scores.grad().narrow(0, 0, 2), {0.0202227198f,  -0.119499862f,  0.0130667724f, 0.0306801908f, 0.0555303022f,  -0.0797914714f, 0.164255232f,
                                              0.00658084126f, -0.114968978f,  0.0239243116f, 0.0129281534f, 0.00187656039f, -0.080840759f,  0.0269841291f,
                                              0.0390519351f,  -0.0924653113f, 0.052867163f,  0.103276059f,  -0.0626728535f, -0.00100519881f});
}

TEST(CtcLoss, WhatCannotBeSpelledIsInfiniteOrNothing) {
  const Tensor scores = log_softmax(ones({2, 1, 3}), 2), target = tensor({1, 1, 1}), steps = tensor({2}), length = tensor({3});
  EXPECT_EQ(F::ctc_loss(scores, target, steps, length, F::CTCLossFuncOptions().reduction(kSum)).item<float>(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(F::ctc_loss(scores, target, steps, length, F::CTCLossFuncOptions().reduction(kSum).zero_infinity(true)).item<float>(), 0.0f);
  EXPECT_NE(error_of([&] { F::ctc_loss(scores, target, tensor({3}), length); }).find("lengths of inputs must be 0 to 2"), std::string::npos);
}

// LibTorch draws the second layer of a cluster first, which Python does not.
TEST(AdaptiveLogSoftmax, AgreesWithLibTorch) {
  manual_seed(3);
  nn::AdaptiveLogSoftmaxWithLoss layer(nn::AdaptiveLogSoftmaxWithLossOptions(6, 8, {2, 5}).div_value(2.0));
  const Tensor input = randn({3, 6});
  const auto result = layer(input, tensor({0, 3, 7}));
  expect_near(result.output, {-1.91260779f, -2.37112546f, -1.86334324f});
  EXPECT_NEAR(result.loss, 2.04902554, 1e-5);
  expect_near(layer->log_prob(input)[0], {-1.91260779f, -0.866656184f, -2.44318104f, -2.50398231f, -2.57010603f, -3.26667237f, -3.06639671f, -2.28220963f});
  EXPECT_TRUE(equal(layer->predict(input), tensor({1, 1, 0})));
  result.mean.backward();
  EXPECT_TRUE(layer->head->weight.grad().defined());
  EXPECT_THROW(nn::AdaptiveLogSoftmaxWithLoss(6, 8, std::vector<int64_t>{5, 2}), ValueError);
}

TEST(FractionalMaxPool, DrawsPyTorchsWindows) {
  manual_seed(3);
  const auto [values, indices] = F::fractional_max_pool2d_with_indices(randn({1, 2, 7, 7}), F::FractionalMaxPool2dFuncOptions(2).output_size(3));
  expect_near(values[0][0], {0.35988152f, 0.248501748f, 1.62055075f, 0.573984683f, 0.931124449f, 1.86926007f, 0.681411088f, 0.429033041f, 0.8194592f});
  EXPECT_TRUE(equal(indices[0][1].flatten(), tensor({0, 10, 13, 14, 23, 20, 36, 44, 47})));
  nn::FractionalMaxPool3d pool(nn::FractionalMaxPool3dOptions(2).output_ratio(nn::FractionalMaxPool3dOptions::ExpandingArrayDouble(0.5)));
  expect_near(pool(randn({1, 1, 5, 5, 5})), {1.42628014f, 1.06337678f, 2.69226122f, 1.18132401f, 1.78217578f, 1.04854834f, 1.74580252f, 1.99622822f});
  EXPECT_THROW(nn::FractionalMaxPool2d{2}, ValueError);
}

TEST(Grid, AgreesWithPyTorch) {
  const Tensor theta = tensor({.8f, .1f, .05f, -.2f, .9f, 0.f}).view({1, 2, 3});
  const Tensor grid = F::affine_grid(theta, {1, 1, 2, 3});
  expect_near(grid, {-0.533333361f, -0.316666663f, 0.0f, -0.449999988f, 0.533333361f, -0.583333313f, -0.433333337f, 0.583333313f, 0.100000001f, 0.449999988f,
                     0.633333385f, 0.316666663f});
  const Tensor image = arange(12, kFloat).view({1, 1, 3, 4});
  expect_near(F::grid_sample(image, grid, F::GridSampleFuncOptions().mode(kBicubic).padding_mode(kReflection).align_corners(true)),
              {2.72700834f, 2.98224998f, 3.3334918f, 7.87969828f, 8.13362694f, 8.46592426f});
  EXPECT_THROW(F::affine_grid(theta, {1, 1, 0, 3}), ValueError);
}

TEST(Interpolate, SmoothsAndPicksTheNearestAsPyTorch) {
  const Tensor image = (arange(24, kFloat) * 5 % 17).view({1, 1, 4, 6});
  const auto options = F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 3});
  expect_near(F::interpolate(image, F::InterpolateFuncOptions(options).mode(kBilinear).antialias(true)),
              {5.9183679f, 9.0357141f, 8.1632652f, 9.f, 7.9107146f, 8.1224489f});
  expect_near(F::interpolate(image, F::InterpolateFuncOptions(options).mode(kBicubic).antialias(true)),
              {5.3201876f, 9.4670362f, 8.1289282f, 9.4368925f, 7.6572142f, 8.1577339f});
  expect_near(F::interpolate(image, F::InterpolateFuncOptions(options).mode(kNearestExact)), {1.f, 11.f, 4.f, 10.f, 3.f, 13.f});
  for (const bool align : {false, true})  // LibTorch refuses it for the other two modes that look at one pixel alone
    expect_near(F::interpolate(image, F::InterpolateFuncOptions(options).mode(kNearestExact).align_corners(align)), {1.f, 11.f, 4.f, 10.f, 3.f, 13.f});
  EXPECT_THROW(F::interpolate(image, F::InterpolateFuncOptions(options).mode(kNearest).align_corners(false)), Error);
  EXPECT_THROW(F::interpolate(image, F::InterpolateFuncOptions(options).mode(kArea).align_corners(false)), Error);
  const auto twice = F::InterpolateFuncOptions().scale_factor(std::vector<double>{2}).mode(kNearestExact);
  EXPECT_TRUE(equal(F::interpolate(image, twice), image.repeat_interleave(2, 2).repeat_interleave(2, 3)));
  EXPECT_THROW(F::interpolate(image, F::InterpolateFuncOptions(options).antialias(true)), ValueError);
}

TEST(CrossMapLRN2d, AgreesWithPyTorch) {
  const Tensor input = (arange(40, kFloat).view({1, 5, 2, 4}) / 10).requires_grad_();
  nn::CrossMapLRN2d layer(nn::CrossMapLRN2dOptions(3).alpha(0.5));
  const Tensor output = layer(input);
  output.sum().backward();
  expect_near(output.select(3, 0).select(2, 0), {0.0f, 0.580580652f, 0.806370676f, 0.833975732f, 1.20766473f});
  expect_near(input.grad().select(3, 0).select(2, 0), {0.926802874f, 0.64999789f, 0.223161563f, -0.195984289f, -0.30781579f});
}

TEST(PackedSequence, RunsThroughNetworksAsInPyTorch) {
  manual_seed(3);
  nn::LSTM network(nn::LSTMOptions(3, 4).bidirectional(true));
  const std::vector<Tensor> sequences = {randn({2, 3}), randn({4, 3}), randn({1, 3})};
  const auto packed = nn::utils::rnn::pack_sequence(sequences, false);
  EXPECT_TRUE(equal(packed.batch_sizes(), tensor({3, 2, 1, 1})));
  const auto [output, states] = network->forward_with_packed_input(packed);
  const auto [padded, lengths] = nn::utils::rnn::pad_packed_sequence(output, true);
  EXPECT_TRUE(equal(lengths, tensor({2, 4, 1})));
  expect_near(padded[0][1], {-0.000715290895f, -0.0956450552f, -0.407735735f, -0.24700819f, -0.13600643f, 0.00408439618f, -0.0755068362f, -0.035190247f});
  expect_near(std::get<0>(states)[1], {-0.171416804f, -0.174488232f, -0.105386741f, -0.0571091175f, -0.0609944873f, -0.0590663105f, -0.120886214f,
                                       -0.105123773f, -0.137398228f, -0.139485389f, -0.054749433f, -0.0349309854f});
  const auto back = nn::utils::rnn::unpack_sequence(packed);
  for (size_t i = 0; i < 3; i++) EXPECT_TRUE(equal(back[i], sequences[i])) << i;
  // Phrases that LibTorch's tests look for.
  for (const char* words : {"must be sorted in decreasing order", "You can pass `enforce_sorted=False`"})
    EXPECT_NE(error_of([&] { nn::utils::rnn::pack_sequence(sequences); }).find(words), std::string::npos);
  EXPECT_NE(error_of([&] { nn::utils::rnn::pack_padded_sequence(randn({2, 0, 3}), empty({0}, kLong)); }).find("empty tensor"), std::string::npos);
  EXPECT_NE(error_of([&] { nn::utils::rnn::pad_packed_sequence(packed, false, 0, 1); }).find("Expected total_length to be at least"), std::string::npos);
}

TEST(DataParallel, GradientsOfReplicasReachTheModule) {
  manual_seed(1);
  nn::Linear whole(3, 2), parts = nn::Linear(std::dynamic_pointer_cast<nn::LinearImpl>(whole->clone()));
  const Tensor input = randn({5, 3});
  const Tensor output = nn::parallel::data_parallel(parts, input, std::vector<Device>{kCPU, kCPU});
  EXPECT_TRUE(allclose(output, whole(input)));
  output.square().sum().backward();
  whole(input).square().sum().backward();
  EXPECT_TRUE(allclose(parts->weight.grad(), whole->weight.grad()));
}

TEST(Hooks, RunInOrderAndReplaceWhatPasses) {
  manual_seed(1);
  nn::Linear layer(2, 2);
  std::string seen;
  auto global = nn::register_module_forward_pre_hook([&](nn::Module&, std::vector<Tensor>&) { seen += "g"; });
  auto pre = layer->register_forward_pre_hook([&](nn::Module&, std::vector<Tensor>& inputs) { seen += "p", inputs[0] = inputs[0] * 2; });
  auto post = layer->register_forward_hook([&](nn::Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
    seen += m.name() == layer->name() && inputs.size() == 1 ? "f" : "?";
    outputs[0] = outputs[0] + 1;
  });
  const Tensor input = randn({3, 2});
  EXPECT_TRUE(allclose(layer(input), layer->forward(input * 2) + 1));
  EXPECT_EQ(seen, "gpf");
  nn::Sequential model(layer, nn::Identity());
  EXPECT_TRUE(allclose(model(input), layer->forward(input * 2) + 1));
  global.remove();
  pre.remove();
  post.remove();
  seen.clear();
  EXPECT_TRUE(equal(layer(input), layer->forward(input)));
  EXPECT_EQ(seen, "");
}

TEST(Hooks, OfBackwardSeeAndReplaceGradients) {
  nn::Linear layer(2, 2);
  std::string seen;
  auto pre = layer->register_full_backward_pre_hook([&](nn::Module&, std::vector<Tensor>& grads) { seen += "p", grads[0] = grads[0] * 3; });
  auto full = layer->register_full_backward_hook([&](nn::Module&, std::vector<Tensor>& grad_inputs, const std::vector<Tensor>& grad_outputs) {
    seen += "b";
    EXPECT_TRUE(equal(grad_outputs[0], full_like(grad_outputs[0], 3)));
    EXPECT_TRUE(allclose(grad_inputs[0], layer->weight.detach().sum(0).mul(3).expand({4, 2})));
    grad_inputs[0] = zeros_like(grad_inputs[0]);
  });
  const Tensor input = randn({4, 2}).requires_grad_();
  layer(input).sum().backward();
  EXPECT_EQ(seen, "pb");
  EXPECT_TRUE(equal(input.grad(), zeros({4, 2})));
  EXPECT_TRUE(equal(layer->bias.grad(), cresset::full({2}, 12.0)));
  // An input that needs no gradient: the hook gets none.
  full.remove();
  auto without = layer->register_full_backward_hook(
      [&](nn::Module&, std::vector<Tensor>& grad_inputs, const std::vector<Tensor>&) { seen += grad_inputs.empty() || !grad_inputs[0].defined() ? "n" : "?"; });
  layer(randn({4, 2})).sum().backward();
  EXPECT_EQ(seen, "pbpn");
}

TEST(Hooks, OfRegistrationSeeWhatIsRegistered) {
  std::string names;
  auto handle = nn::register_module_parameter_registration_hook([&](nn::Module&, const std::string& name, Tensor&) { names += name + " "; });
  auto buffers = nn::register_module_buffer_registration_hook([&](nn::Module&, const std::string& name, Tensor&) { names += "(" + name + ") "; });
  nn::BatchNorm1d layer(2);
  EXPECT_EQ(names, "weight bias (running_mean) (running_var) (num_batches_tracked) ");
  handle.remove();
  buffers.remove();
}

TEST(Load, AnotherModelsStateIsListedAndChangesNothing) {
  nn::Sequential source(nn::Linear(2, 3), nn::Linear(3, 1)), target(nn::Linear(2, 3), nn::Linear(4, 1), nn::Linear(1, 1));
  serialize::OutputArchive out;
  source->save(out);
  std::stringstream file;
  out.save_to(file);
  serialize::InputArchive in;
  in.load_from(file);
  std::vector<Tensor> before;
  for (const Tensor& p : target->parameters()) before.push_back(p.detach().clone());
  const std::string message = error_of([&] { target->load(in); });
  for (const char* part : {"1.weight is [1, 3], expected [1, 4]", "No such serialized tensor '2.weight', '2.bias'"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  const auto after = target->parameters();
  for (size_t i = 0; i < after.size(); i++) EXPECT_TRUE(equal(after[i], before[i])) << i;
}

TEST(Reparametrize, WeightsAreComputedBeforeEachCallAndBecomeOrdinaryAgain) {
  manual_seed(2);
  nn::Linear layer(4, 3);
  const Tensor input = randn({2, 4}), before = layer(input);
  auto handle = nn::utils::weight_norm(layer);
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"bias", "weight_g", "weight_v"}));
  EXPECT_TRUE(allclose(layer(input), before));
  NoGradGuard guard;
  layer->named_parameters()["weight_g"].mul_(2);
  EXPECT_TRUE(allclose(layer(input) - layer->bias, (before - layer->bias) * 2));
  EXPECT_NE(error_of([&] { nn::utils::weight_norm(layer); }).find("is computed already"), std::string::npos);
  nn::utils::remove_weight_norm(layer, handle);
  EXPECT_TRUE(allclose(layer(input) - layer->bias, (before - layer->bias) * 2));
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"bias", "weight"}));

  auto spectral = nn::utils::spectral_norm(layer, 50);
  layer(input);
  EXPECT_NEAR(linalg::matrix_norm(layer->weight, 2).item<double>(), 1.0, 1e-4);
  nn::utils::remove_spectral_norm(layer, spectral);
  EXPECT_NEAR(linalg::matrix_norm(layer->weight, 2).item<double>(), 1.0, 1e-4);
}

// Numbers of LibTorch 2.13 under seed 3: `next` draws one number after the module is made.
float next() { return rand({1}).item<float>(); }
float first(const nn::Module& module, const char* parameter) { return module.named_parameters()[parameter].flatten()[0].item<float>(); }

TEST(Draws, OfACopyAreThoseOfResetAsInLibTorch) {
  manual_seed(3);
  nn::LSTM lstm(3, 3);
  lstm->clone();
  EXPECT_FLOAT_EQ(next(), 0.218385339f);
  manual_seed(3);
  nn::Sequential model(nn::Linear(3, 3), nn::ReLU());
  const auto copy = model->clone();
  EXPECT_FLOAT_EQ(next(), 0.180877209f);
  EXPECT_TRUE(equal(copy->parameters()[0], model->parameters()[0]));
}

TEST(Draws, OfTransformersAreLibTorchs) {
  const auto encoder_layer = [] { return nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(6); };
  const auto decoder_layer = [] { return nn::TransformerDecoderLayerOptions(8, 2).dim_feedforward(6); };
  manual_seed(3);
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(encoder_layer(), 2));
  EXPECT_FLOAT_EQ(next(), 0.126728475f);
  manual_seed(3);
  nn::TransformerDecoder decoder(nn::TransformerDecoderOptions(decoder_layer(), 2));
  EXPECT_FLOAT_EQ(next(), 0.0827457309f);
  manual_seed(3);
  nn::Transformer both(nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(6));
  EXPECT_FLOAT_EQ(next(), 0.832595766f);
  EXPECT_FLOAT_EQ(first(*both, "encoder.layers.0.linear2.weight"), -0.612502873f);
  EXPECT_FLOAT_EQ(first(*both, "decoder.layers.0.self_attn.in_proj_weight"), -0.0211937856f);
  EXPECT_FLOAT_EQ(first(*both, "decoder.layers.0.linear2.weight"), 0.512615681f);
  both->clone();
  EXPECT_FLOAT_EQ(next(), 0.240391314f);
}

TEST(Draws, OfBagsFillTheRowOfPaddingToo) {
  manual_seed(3);
  nn::EmbeddingBag bag(nn::EmbeddingBagOptions(4, 2).padding_idx(1));
  EXPECT_FLOAT_EQ(bag->weight[1][0].item<float>(), 0.0889780968f);
}

}  // namespace
