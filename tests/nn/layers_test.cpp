// Every layer against PyTorch's: the same seed gives the same parameters, to the bit; outputs and gradients agree.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cresset/cresset.h"

namespace {

using namespace cresset;
namespace F = nn::functional;

const std::map<std::string, std::vector<float>>& golden() {
  static const std::map<std::string, std::vector<float>> values = {
#include "golden_layers.inc"
  };
  return values;
}

void expect_values(const std::string& row, const Tensor& tensor, bool exact) {
  auto found = golden().find(row);
  ASSERT_NE(found, golden().end()) << row;
  const std::vector<float>& expected = found->second;
  ASSERT_TRUE(tensor.defined()) << row;
  ASSERT_EQ(static_cast<size_t>(tensor.numel()), expected.size()) << row;
  const Tensor flat = tensor.detach().to(kFloat).contiguous();
  const float* got = flat.data_ptr<float>();
  for (size_t i = 0; i < expected.size(); i++) {
    if (exact) EXPECT_EQ(got[i], expected[i]) << row << " at " << i;
    else EXPECT_NEAR(got[i], expected[i], 2e-5 + 2e-5 * std::abs(expected[i])) << row << " at " << i;
  }
}

Tensor labels(int64_t high, std::vector<int64_t> shape) { return cresset::randint(0, high, shape, kLong); }
Tensor normal(std::vector<int64_t> shape) { return cresset::randn(shape).requires_grad_(); }

// A function in the shape of a module: no parameters.
struct NoModule : nn::Module {};

void check(const std::string& name, nn::Module& module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& initial, const Tensor& output) {
  size_t i = 0;
  for (const auto& item : module.named_parameters()) expect_values(name + ": parameter " + item.key(), initial[i++], true);
  expect_values(name + ": output", output, false);
  const Tensor weights = cresset::arange(1, output.numel() + 1, kFloat).view(output.sizes()) / output.numel();
  (output * weights).sum().backward();
  for (size_t k = 0; k < inputs.size(); k++) {
    const std::string row = name + ": grad of input " + std::to_string(k);
    if (golden().count(row)) expect_values(row, inputs[k].grad(), false);
  }
  for (const auto& item : module.named_parameters()) expect_values(name + ": grad of " + item.key(), item.value().grad(), false);
  for (const auto& item : module.named_buffers())
    if (item.key().find("running") != std::string::npos) expect_values(name + ": buffer " + item.key(), item.value(), false);
}

std::vector<Tensor> copies(const nn::Module& module) {
  std::vector<Tensor> all;
  for (const Tensor& p : module.parameters()) all.push_back(p.detach().clone());
  return all;
}

#define LAYER_TEST(Name, make, ...)                     \
  TEST(Layers, Name) {                                  \
    manual_seed(0);                                     \
    auto layer = make;                                  \
    const std::vector<Tensor> initial = copies(*layer); \
    const std::vector<Tensor> inputs = {__VA_ARGS__};   \
    const Tensor output = call(layer, inputs);          \
    check(#Name, *layer, inputs, initial, output);      \
  }
#define FUNCTION_TEST(Name, expression, ...)             \
  TEST(Layers, Name) {                                   \
    manual_seed(0);                                      \
    const std::vector<Tensor> inputs = {__VA_ARGS__};    \
    const Tensor& x = inputs[0];                         \
    const Tensor& y = inputs.size() > 1 ? inputs[1] : x; \
    const Tensor& z = inputs.size() > 2 ? inputs[2] : x; \
    (void)y, (void)z;                                    \
    const Tensor output = expression;                    \
    NoModule none;                                       \
    check(#Name, none, inputs, {}, output);              \
  }

template <class Layer> Tensor call(Layer& layer, const std::vector<Tensor>& inputs) {
  if constexpr (std::is_invocable_r_v<Tensor, Layer&, Tensor>) {
    if (inputs.size() == 1) return layer(inputs[0]);
  }
  if constexpr (std::is_invocable_r_v<Tensor, Layer&, Tensor, Tensor>) {
    if (inputs.size() == 2) return layer(inputs[0], inputs[1]);
  }
  if constexpr (std::is_invocable_r_v<Tensor, Layer&, Tensor, Tensor, Tensor>) {
    if (inputs.size() == 3) return layer(inputs[0], inputs[1], inputs[2]);
  }
  ADD_FAILURE() << "no forward for " << inputs.size() << " inputs";
  return Tensor();
}

template <class Holder> Holder evaluating(Holder holder) {
  holder->eval();
  return holder;
}

LAYER_TEST(Linear, nn::Linear(5, 3), normal({2, 5}))
LAYER_TEST(LinearNoBias, nn::Linear(nn::LinearOptions(5, 3).bias(false)), normal({2, 2, 5}))
LAYER_TEST(Bilinear, nn::Bilinear(3, 4, 2), normal({5, 3}), normal({5, 4}))
LAYER_TEST(Flatten, nn::Flatten(), normal({2, 2, 3}))
LAYER_TEST(Unflatten, nn::Unflatten(nn::UnflattenOptions(1, {2, 3})), normal({2, 6}))
LAYER_TEST(Conv1d, nn::Conv1d(nn::Conv1dOptions(2, 3, 3).padding(1)), normal({2, 2, 6}))
LAYER_TEST(Conv2d, nn::Conv2d(nn::Conv2dOptions(2, 4, 3).stride(2).padding(1).groups(2)), normal({2, 2, 5, 5}))
LAYER_TEST(Conv2dSame, nn::Conv2d(nn::Conv2dOptions(1, 2, {2, 3}).padding(kSame).dilation(2)), normal({1, 1, 5, 5}))
LAYER_TEST(Conv2dCircular, nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding(1).padding_mode(kCircular).bias(false)), normal({1, 1, 4, 4}))
LAYER_TEST(Conv2dReflect, nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding(kSame).padding_mode(kReflect)), normal({1, 1, 4, 4}))
LAYER_TEST(Conv3d, nn::Conv3d(1, 2, 2), normal({1, 1, 3, 3, 3}))
LAYER_TEST(ConvTranspose1d, nn::ConvTranspose1d(nn::ConvTranspose1dOptions(2, 3, 3).stride(2).output_padding(1)), normal({1, 2, 4}))
LAYER_TEST(ConvTranspose2d, nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 2, 3).stride(2).padding(1).bias(false)), normal({1, 2, 3, 3}))
LAYER_TEST(ConvTranspose3d, nn::ConvTranspose3d(nn::ConvTranspose3dOptions(2, 2, 2).groups(2)), normal({1, 2, 2, 2, 2}))
LAYER_TEST(MaxPool1d, nn::MaxPool1d(2), normal({1, 2, 6}))
LAYER_TEST(MaxPool2d, nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1).ceil_mode(true)), normal({1, 2, 6, 5}))
LAYER_TEST(AvgPool1d, nn::AvgPool1d(nn::AvgPool1dOptions(3).stride(1).padding(1)), normal({1, 2, 5}))
LAYER_TEST(AvgPool2d, nn::AvgPool2d(nn::AvgPool2dOptions(2).count_include_pad(false).padding(1)), normal({1, 2, 4, 5}))
LAYER_TEST(LPPool1d, nn::LPPool1d(2, 2), normal({1, 2, 6}))
LAYER_TEST(LPPool2d, nn::LPPool2d(nn::LPPool2dOptions(2, 2)), normal({1, 2, 4, 4}))
LAYER_TEST(AdaptiveAvgPool1d, nn::AdaptiveAvgPool1d(3), normal({1, 2, 7}))
LAYER_TEST(AdaptiveAvgPool2d, nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({2, std::nullopt})), normal({1, 2, 5, 3}))
LAYER_TEST(AdaptiveMaxPool1d, nn::AdaptiveMaxPool1d(3), normal({1, 2, 7}))
LAYER_TEST(AdaptiveMaxPool2d, nn::AdaptiveMaxPool2d(2), normal({1, 2, 5, 3}))
LAYER_TEST(BatchNorm1d, nn::BatchNorm1d(3), normal({4, 3}))
LAYER_TEST(BatchNorm2d, nn::BatchNorm2d(nn::BatchNorm2dOptions(2).momentum(std::nullopt)), normal({2, 2, 3, 3}))
LAYER_TEST(BatchNorm3d, nn::BatchNorm3d(nn::BatchNorm3dOptions(2).affine(false)), normal({2, 2, 2, 2, 2}))
LAYER_TEST(BatchNormEval, evaluating(nn::BatchNorm1d(3)), normal({4, 3}))
LAYER_TEST(InstanceNorm1d, nn::InstanceNorm1d(2), normal({2, 2, 5}))
LAYER_TEST(InstanceNorm2d, nn::InstanceNorm2d(nn::InstanceNorm2dOptions(2).affine(true).track_running_stats(true)), normal({2, 2, 3, 3}))
LAYER_TEST(LayerNorm, nn::LayerNorm(nn::LayerNormOptions({3, 4})), normal({2, 3, 4}))
LAYER_TEST(GroupNorm, nn::GroupNorm(2, 4), normal({2, 4, 3}))
LAYER_TEST(LocalResponseNorm, nn::LocalResponseNorm(nn::LocalResponseNormOptions(3).alpha(0.1)), normal({1, 5, 2, 2}))
LAYER_TEST(Dropout, nn::Dropout(0.3), normal({4, 6}))
LAYER_TEST(Dropout2d, nn::Dropout2d(0.5), normal({2, 4, 2, 2}))
LAYER_TEST(AlphaDropout, nn::AlphaDropout(0.3), normal({4, 6}))
LAYER_TEST(FeatureAlphaDropout, nn::FeatureAlphaDropout(0.4), normal({2, 4, 3}))
LAYER_TEST(DropoutEval, evaluating(nn::Dropout(0.3)), normal({4, 6}))
LAYER_TEST(ELU, nn::ELU(nn::ELUOptions().alpha(0.7)), normal({3, 4}))
LAYER_TEST(SELU, nn::SELU(), normal({3, 4}))
LAYER_TEST(GLU, nn::GLU(), normal({3, 4}))
LAYER_TEST(GELU, nn::GELU(), normal({3, 4}))
LAYER_TEST(GELUTanh, nn::GELU(nn::GELUOptions().approximate("tanh")), normal({3, 4}))
LAYER_TEST(Hardshrink, nn::Hardshrink(0.4), normal({3, 4}))
LAYER_TEST(Hardtanh, nn::Hardtanh(nn::HardtanhOptions().min_val(-0.5).max_val(0.8)), normal({3, 4}))
LAYER_TEST(LeakyReLU, nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)), normal({3, 4}))
LAYER_TEST(ReLU, nn::ReLU(), normal({3, 4}))
LAYER_TEST(ReLU6, nn::ReLU6(), normal({3, 4}))
LAYER_TEST(RReLU, nn::RReLU(), normal({3, 4}))
LAYER_TEST(CELU, nn::CELU(nn::CELUOptions().alpha(0.7)), normal({3, 4}))
LAYER_TEST(Softplus, nn::Softplus(nn::SoftplusOptions().beta(2.0).threshold(1.0)), normal({3, 4}))
LAYER_TEST(Softshrink, nn::Softshrink(0.4), normal({3, 4}))
LAYER_TEST(Threshold, nn::Threshold(0.1, -2.0), normal({3, 4}))
LAYER_TEST(PReLU, nn::PReLU(nn::PReLUOptions().num_parameters(3)), normal({2, 3, 2}))
LAYER_TEST(LogSigmoid, nn::LogSigmoid(), normal({3, 4}))
LAYER_TEST(SiLU, nn::SiLU(), normal({3, 4}))
LAYER_TEST(Mish, nn::Mish(), normal({3, 4}))
LAYER_TEST(Sigmoid, nn::Sigmoid(), normal({3, 4}))
LAYER_TEST(Softsign, nn::Softsign(), normal({3, 4}))
LAYER_TEST(Tanh, nn::Tanh(), normal({3, 4}))
LAYER_TEST(Tanhshrink, nn::Tanhshrink(), normal({3, 4}))
LAYER_TEST(Softmax2d, nn::Softmax2d(), normal({1, 3, 2, 2}))
LAYER_TEST(Softmax, nn::Softmax(1), normal({3, 4}))
LAYER_TEST(Softmin, nn::Softmin(0), normal({3, 4}))
LAYER_TEST(LogSoftmax, nn::LogSoftmax(-1), normal({3, 4}))
FUNCTION_TEST(GumbelSoftmax, F::gumbel_softmax(x, F::GumbelSoftmaxFuncOptions().tau(0.5)), normal({3, 4}))
LAYER_TEST(Embedding, nn::Embedding(nn::EmbeddingOptions(6, 3).padding_idx(2)), labels(6, {2, 3}))
LAYER_TEST(EmbeddingMaxNorm, nn::Embedding(nn::EmbeddingOptions(6, 3).max_norm(1.0)), labels(6, {2, 3}))
LAYER_TEST(EmbeddingBagMean, nn::EmbeddingBag(6, 3), labels(6, {2, 3}))
// LibTorch fills the row of padding, PyTorch zeroes it.
nn::EmbeddingBag with_zero_row(nn::EmbeddingBag bag) {
  NoGradGuard guard;
  bag->weight[*bag->options.padding_idx()].zero_();
  return bag;
}
LAYER_TEST(EmbeddingBagSum, with_zero_row(nn::EmbeddingBag(nn::EmbeddingBagOptions(6, 3).mode(kSum).padding_idx(1))), labels(6, {2, 3}))
LAYER_TEST(EmbeddingBagMax, nn::EmbeddingBag(nn::EmbeddingBagOptions(6, 3).mode(kMax)), labels(6, {2, 3}))
LAYER_TEST(CosineSimilarity, nn::CosineSimilarity(), normal({3, 4}), normal({3, 4}))
LAYER_TEST(PairwiseDistance, nn::PairwiseDistance(nn::PairwiseDistanceOptions().p(3.0).keepdim(true)), normal({3, 4}), normal({3, 4}))
FUNCTION_TEST(Pdist, F::pdist(x), normal({4, 3}))
LAYER_TEST(PixelShuffle, nn::PixelShuffle(2), normal({1, 8, 2, 3}))
LAYER_TEST(PixelUnshuffle, nn::PixelUnshuffle(2), normal({1, 2, 4, 6}))
LAYER_TEST(UpsampleNearest, nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2.0})), normal({1, 2, 2, 3}))
LAYER_TEST(UpsampleBilinear, nn::Upsample(nn::UpsampleOptions().size(std::vector<int64_t>{4, 5}).mode(kBilinear)), normal({1, 2, 2, 3}))
LAYER_TEST(UpsampleBilinearAligned, nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{1.7}).mode(kBilinear).align_corners(true)),
           normal({1, 1, 3, 3}))
FUNCTION_TEST(InterpolateNearestExact, F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{5}).mode(kNearestExact)), normal({1, 2, 3}))
FUNCTION_TEST(InterpolateArea, F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 3}).mode(kArea)), normal({1, 2, 5, 4}))
LAYER_TEST(Unfold, nn::Unfold(nn::UnfoldOptions({2, 3}).dilation({2, 1}).padding(1).stride({1, 2})), normal({2, 2, 4, 5}))
LAYER_TEST(Fold, nn::Fold(nn::FoldOptions({4, 5}, {2, 2}).stride(2).padding({0, 1})), normal({2, 8, 6}))
LAYER_TEST(ReflectionPad1d, nn::ReflectionPad1d(nn::ReflectionPad1dOptions({2, 1})), normal({1, 2, 4}))
LAYER_TEST(ReflectionPad2d, nn::ReflectionPad2d(1), normal({1, 1, 3, 3}))
LAYER_TEST(ReplicationPad2d, nn::ReplicationPad2d(nn::ReplicationPad2dOptions({1, 2, 0, 1})), normal({1, 1, 3, 3}))
LAYER_TEST(ZeroPad2d, nn::ZeroPad2d(nn::ZeroPad2dOptions({1, 0, 2, -1})), normal({1, 1, 3, 3}))
LAYER_TEST(ConstantPad1d, nn::ConstantPad1d(2, 3.5), normal({1, 2, 3}))
LAYER_TEST(ConstantPad3d, nn::ConstantPad3d(nn::ConstantPad3dOptions(1, -1.5)), normal({1, 1, 2, 2, 2}))
FUNCTION_TEST(Normalize, F::normalize(x), normal({3, 4}))
LAYER_TEST(L1Loss, nn::L1Loss(), normal({3, 4}), normal({3, 4}))
LAYER_TEST(MSELoss, nn::MSELoss(kSum), normal({3, 4}), normal({3, 4}))
LAYER_TEST(MSELossNone, nn::MSELoss(nn::MSELossOptions(kNone)), normal({3, 4}), normal({3, 4}))
LAYER_TEST(KLDivLoss, nn::KLDivLoss(nn::KLDivLossOptions(kBatchMean).log_target(true)), normal({3, 4}), normal({3, 4}))
LAYER_TEST(SmoothL1Loss, nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(0.5)), normal({3, 4}), normal({3, 4}))
LAYER_TEST(HuberLoss, nn::HuberLoss(nn::HuberLossOptions().delta(0.7)), normal({3, 4}), normal({3, 4}))
LAYER_TEST(BCEWithLogitsLoss, nn::BCEWithLogitsLoss(nn::BCEWithLogitsLossOptions().pos_weight(tensor({1.0f, 2.0f, 3.0f, 0.5f}))), normal({3, 4}),
           normal({3, 4}))
FUNCTION_TEST(BCELoss, F::binary_cross_entropy(x.sigmoid(), y.sigmoid()), normal({3, 4}), normal({3, 4}))
LAYER_TEST(NLLLoss, nn::NLLLoss(nn::NLLLossOptions().weight(tensor({1.0f, 2.0f, 0.5f, 3.0f})).ignore_index(1)), normal({5, 4}), labels(4, {5}))
LAYER_TEST(CrossEntropyLoss, nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().label_smoothing(0.1)), normal({5, 4}), labels(4, {5}))
LAYER_TEST(CrossEntropyLossWeighted, nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().weight(tensor({1.0f, 2.0f, 0.5f, 3.0f})).reduction(kSum)),
           normal({3, 4, 2}), labels(4, {3, 2}))
FUNCTION_TEST(CrossEntropyProbabilities, F::cross_entropy(x, y.softmax(1)), normal({3, 4}), normal({3, 4}))
FUNCTION_TEST(HingeEmbeddingLoss, F::hinge_embedding_loss(x, y.sign(), F::HingeEmbeddingLossFuncOptions().margin(0.8)), normal({3, 4}), normal({3, 4}))
FUNCTION_TEST(CosineEmbeddingLoss, F::cosine_embedding_loss(x, y, z.sign(), F::CosineEmbeddingLossFuncOptions().margin(0.1)), normal({3, 4}), normal({3, 4}),
              normal({3}))
FUNCTION_TEST(MarginRankingLoss, F::margin_ranking_loss(x, y, z.sign(), F::MarginRankingLossFuncOptions().margin(0.1)), normal({3, 4}), normal({3, 4}),
              normal({3, 4}))
LAYER_TEST(MultiMarginLoss, nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2).margin(0.7).weight(tensor({1.0f, 2.0f, 0.5f}))), normal({4, 3}),
           labels(3, {4}))
FUNCTION_TEST(MultiLabelMarginLoss, F::multilabel_margin_loss(x, tensor({3, 0, -1, 1, 2, -1, 0, 0}, kLong).view({2, 4})), normal({2, 4}))
FUNCTION_TEST(SoftMarginLoss, F::soft_margin_loss(x, y.detach().sign()), normal({3, 4}), normal({3, 4}))
FUNCTION_TEST(MultiLabelSoftMarginLoss, F::multilabel_soft_margin_loss(x, y.sigmoid().round()), normal({3, 4}), normal({3, 4}))
LAYER_TEST(TripletMarginLoss, nn::TripletMarginLoss(nn::TripletMarginLossOptions().margin(0.5).swap(true)), normal({3, 4}), normal({3, 4}), normal({3, 4}))
LAYER_TEST(TripletMarginWithDistanceLoss, nn::TripletMarginWithDistanceLoss(), normal({3, 4}), normal({3, 4}), normal({3, 4}))
FUNCTION_TEST(PoissonNLLLoss, F::poisson_nll_loss(x, y.exp(), F::PoissonNLLLossFuncOptions().full(true)), normal({3, 4}), normal({3, 4}))

// Outputs and states of recurrent layers in one tensor.
Tensor flat(const Tensor& values) { return values.reshape({-1}); }
template <class... T> Tensor flat(const std::tuple<T...>& values) {
  return std::apply([](const auto&... each) { return cat({flat(each)...}); }, values);
}
template <class Layer> void check_recurrent(const std::string& name, const std::function<Layer()>& make, const std::vector<std::vector<int64_t>>& shapes) {
  manual_seed(0);
  Layer layer = make();
  const std::vector<Tensor> initial = copies(*layer);
  std::vector<Tensor> inputs;
  for (const auto& shape : shapes) inputs.push_back(normal(shape));
  Tensor output;
  if constexpr (std::is_invocable_v<Layer&, Tensor, Tensor>) output = inputs.size() > 1 ? flat(layer(inputs[0], inputs[1])) : flat(layer(inputs[0]));
  else output = flat(layer(inputs[0]));
  check(name, *layer, inputs, initial, output);
}
#define RECURRENT_TEST(Name, Layer, options, ...)                                                           \
  TEST(Layers, Name) {                                                                                      \
    check_recurrent<nn::Layer>(#Name, [] { return nn::Layer(nn::Layer##Options options); }, {__VA_ARGS__}); \
  }
RECURRENT_TEST(RNN, RNN, (3, 4).num_layers(2), {5, 2, 3})
RECURRENT_TEST(RNNReLU, RNN, (3, 4).nonlinearity(kReLU).bias(false), {5, 3})
RECURRENT_TEST(LSTM, LSTM, (3, 4), {5, 2, 3})
RECURRENT_TEST(LSTMBidirectional, LSTM, (3, 4).num_layers(2).batch_first(true).bidirectional(true), {2, 5, 3})
RECURRENT_TEST(LSTMProjected, LSTM, (3, 4).num_layers(2).proj_size(2), {5, 2, 3})
RECURRENT_TEST(LSTMDropout, LSTM, (3, 4).num_layers(2).dropout(0.5), {5, 2, 3})
RECURRENT_TEST(GRU, GRU, (3, 4).num_layers(2).bidirectional(true), {5, 2, 3})
RECURRENT_TEST(GRUGivenState, GRU, (3, 4).batch_first(true), {2, 5, 3}, {1, 2, 4})
RECURRENT_TEST(RNNCell, RNNCell, (3, 4), {2, 3}, {2, 4})
RECURRENT_TEST(RNNCellReLU, RNNCell, (3, 4).nonlinearity(kReLU), {2, 3}, {2, 4})
RECURRENT_TEST(LSTMCell, LSTMCell, (3, 4), {2, 3})
RECURRENT_TEST(GRUCell, GRUCell, (3, 4).bias(false), {3}, {4})
TEST(Layers, RecurrentMistakes) {
  nn::LSTM layer(3, 4);
  EXPECT_THROW(layer(zeros({5, 2, 4})), Error);
  EXPECT_THROW(layer(zeros({3})), Error);
  EXPECT_THROW(layer(zeros({5, 2, 3}), std::make_tuple(zeros({1, 3, 4}), zeros({1, 2, 4}))), Error);
  EXPECT_THROW(nn::LSTM(nn::LSTMOptions(3, 4).proj_size(4)), ValueError);
  EXPECT_THROW(nn::GRUCell(3, 4)(zeros({2, 5})), Error);
}

LAYER_TEST(TransformerEncoderLayer, nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0)), normal({3, 2, 4}))
LAYER_TEST(TransformerEncoderLayerGELU, nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0).activation(kGELU)),
           normal({3, 2, 4}))
LAYER_TEST(TransformerDecoderLayer, nn::TransformerDecoderLayer(nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(6).dropout(0)), normal({3, 2, 4}),
           normal({5, 2, 4}))
TEST(Layers, Transformer) {
  manual_seed(0);
  nn::Transformer model(nn::TransformerOptions(8, 2, 2, 2).dim_feedforward(16));
  model->eval();
  const Tensor src = randn({5, 3, 8}), tgt = randn({4, 3, 8});
  const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(4);
  const Tensor output = model(src, tgt, Tensor(), mask);
  EXPECT_EQ(output.sizes(), tgt.sizes());
  // Later positions are not seen earlier, and is without the mask.
  Tensor changed = tgt.clone();
  changed[3] = 5.0;
  EXPECT_TRUE(allclose(model(src, changed, Tensor(), mask).slice(0, 0, 3), output.slice(0, 0, 3)));
  EXPECT_FALSE(allclose(model(src, changed).slice(0, 0, 3), model(src, tgt).slice(0, 0, 3)));
  // The parts one after another.
  auto encoder = model->encoder.get<nn::TransformerEncoder>();
  auto decoder = model->decoder.get<nn::TransformerDecoder>();
  EXPECT_TRUE(allclose(decoder(tgt, encoder(src), mask), output));
  const Tensor last = encoder->norm.forward(
      encoder->layers->ptr<nn::TransformerEncoderLayerImpl>(1)->forward(encoder->layers->ptr<nn::TransformerEncoderLayerImpl>(0)->forward(src)));
  EXPECT_TRUE(allclose(last, encoder(src)));
  EXPECT_EQ(model->parameters().size(), 2u * 12 + 2u * 18 + 4);
  const auto copy = std::dynamic_pointer_cast<nn::TransformerImpl>(model->clone());
  EXPECT_TRUE(equal(copy->forward(src, tgt, Tensor(), mask), output));
  model->train();
  EXPECT_FALSE(equal(model(src, tgt), model(src, tgt)));
  EXPECT_THROW(model(src, randn({4, 2, 8})), Error);
}

// Output and averaged weights in one tensor.
void check_attention(const std::string& name, const nn::MultiheadAttentionOptions& options, int64_t kdim, int64_t vdim) {
  manual_seed(0);
  nn::MultiheadAttention layer(options);
  const std::vector<Tensor> initial = copies(*layer);
  const Tensor query = normal({3, 2, 4}), key = normal({5, 2, kdim}), value = normal({5, 2, vdim});
  const auto [output, weights] = layer(query, key, value);
  check(name, *layer, {query, key, value}, initial, cat({output.reshape({-1}), weights.reshape({-1})}));
}
TEST(Layers, MultiheadAttention) { check_attention("MultiheadAttention", nn::MultiheadAttentionOptions(4, 2), 4, 4); }
TEST(Layers, MultiheadAttentionSeparate) {
  check_attention("MultiheadAttentionSeparate", nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(5).add_bias_kv(true).add_zero_attn(true), 3, 5);
}

}  // namespace
