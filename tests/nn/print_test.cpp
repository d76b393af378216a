// Models print as LibTorch prints them: programs written for it compare the text, or logs of both.

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/cresset.h"
#include "cresset/nn/all.h"
#include "error_of.h"

namespace {

using namespace cresset;

template <class M> std::string printed(const M& module) {
  std::ostringstream text;
  text << module;
  return text.str();
}

TEST(Print, OneDimensionalOptionsAreNumbers) {
  EXPECT_EQ(printed(nn::Conv1d(3, 4, 5)), "torch::nn::Conv1d(3, 4, kernel_size=5, stride=1)");
  EXPECT_EQ(printed(nn::MaxPool1d(5)), "torch::nn::MaxPool1d(kernel_size=5, stride=5, padding=0, dilation=1, ceil_mode=false)");
  EXPECT_EQ(printed(nn::AdaptiveAvgPool1d(5)), "torch::nn::AdaptiveAvgPool1d(output_size=5)");
  EXPECT_EQ(printed(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({5, std::nullopt}))), "torch::nn::AdaptiveAvgPool2d(output_size=[5, None])");
}

TEST(Print, ConvolutionsNameTheirPadding) {
  EXPECT_EQ(printed(nn::Conv2d(nn::Conv2dOptions(4, 4, 3).padding(kSame))), "torch::nn::Conv2d(4, 4, kernel_size=[3, 3], stride=[1, 1], padding='same')");
  EXPECT_EQ(printed(nn::Conv1d(nn::Conv1dOptions(4, 4, 3).padding(kValid))), "torch::nn::Conv1d(4, 4, kernel_size=3, stride=1, padding='valid')");
  EXPECT_EQ(printed(nn::Conv1d(nn::Conv1dOptions(4, 4, 3).padding_mode(kCircular))),
            "torch::nn::Conv1d(4, 4, kernel_size=3, stride=1, padding_mode=kCircular)");
}

TEST(Print, LossesWithAndWithoutOptions) {
  EXPECT_EQ(printed(nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.5))), "torch::nn::MarginRankingLoss()");
  EXPECT_EQ(printed(nn::SmoothL1Loss()), "torch::nn::SmoothL1Loss");
  EXPECT_EQ(printed(nn::HuberLoss()), "torch::nn::HuberLoss");
  EXPECT_EQ(printed(nn::MultiMarginLoss()), "torch::nn::MultiMarginLoss(p=1, margin=1, weight=[ Tensor (undefined) ], reduction=kMean)");
}

TEST(Print, CellsNameWhatIsNotTheDefault) {
  EXPECT_EQ(printed(nn::RNNCell(1, 2)), "torch::nn::RNNCell(1, 2)");
  EXPECT_EQ(printed(nn::RNNCell(nn::RNNCellOptions(1, 2).bias(false).nonlinearity(kReLU))), "torch::nn::RNNCell(1, 2, bias=false, nonlinearity=kReLU)");
  EXPECT_EQ(printed(nn::LSTMCell(nn::LSTMCellOptions(1, 2).bias(false))), "torch::nn::LSTMCell(1, 2, bias=false)");
}

TEST(Print, UnflattenByNumberAndByName) {
  EXPECT_EQ(printed(nn::Unflatten(nn::UnflattenOptions(0, {2, 2}))), "torch::nn::Unflatten(dim=0, unflattened_size={2, 2})");
  nn::Unflatten named(nn::UnflattenOptions("B", {{"B1", 2}, {"B2", 2}}));
  EXPECT_EQ(printed(named), "torch::nn::Unflatten(dim=\"B\", unflattened_size={{\"B1\", 2}, {\"B2\", 2}})");
  EXPECT_NE(error_of([&] { named->forward(ones({4})); }).find("no named dimensions"), std::string::npos);
}

TEST(Print, ClassesWithoutAnOwnTextHaveTheirName) {
  EXPECT_EQ(nn::Linear(2, 3)->name(), "torch::nn::LinearImpl");
  EXPECT_EQ(printed(nn::TransformerDecoderLayer(nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(3))).substr(0, 75),
            "torch::nn::TransformerDecoderLayerImpl(\n  (self_attn): torch::nn::Multihead");
}

TEST(Print, ParametersOfContainersKeepTheirColumn) {
  nn::ModuleDict dict;
  dict->update(std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>{{"p", nn::ParameterList(ones({2, 3})).ptr()}});
  EXPECT_EQ(printed(dict), "torch::nn::ModuleDict(\n  (p): torch::nn::ParameterList(\n(0): Parameter containing: [Float of size [2, 3]]\n)\n)");
}

}  // namespace
