// Calls through containers with arguments left out, and the tables of ParameterList and ParameterDict.

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/nn/all.h"
#include "error_of.h"

namespace {

using namespace cresset;

TEST(DefaultArguments, OfEmbeddingBagInASequential) {
  nn::EmbeddingBag bag(10, 3);
  nn::Sequential net(bag);
  const Tensor ids = tensor(std::vector<int64_t>{1, 2, 3, 4}).view({2, 2});
  EXPECT_TRUE(equal(net->forward(ids), bag->forward(ids)));
  const Tensor flat = ids.view(-1), starts = tensor(std::vector<int64_t>{0, 3});
  EXPECT_TRUE(equal(net->forward(flat, starts), bag->forward(flat, starts)));
}

TEST(DefaultArguments, OfAttention) {
  nn::MultiheadAttention attention(4, 2);
  nn::AnyModule any(attention);
  const Tensor x = randn({3, 1, 4});
  using Result = std::tuple<Tensor, Tensor>;
  EXPECT_TRUE(equal(std::get<0>(any.forward<Result>(x, x, x)), std::get<0>(attention->forward(x, x, x))));
  EXPECT_NE(error_of([&] { any.any_forward(x, x); }).find("at least 3"), std::string::npos);
}

TEST(DefaultArguments, OfUnpooling) {
  nn::MaxPool1d pool(2);
  const auto [values, places] = pool->forward_with_indices(randn({1, 1, 4}));
  nn::AnyModule any(nn::MaxUnpool1d(2));
  EXPECT_EQ(any.forward(values, places).sizes(), IntArrayRef({1, 1, 4}));
}

TEST(ParameterList, TakesThoseOfAnotherList) {
  nn::ParameterList a(ones({1}), ones({2})), b(ones({3}));
  *a += *b;
  *a += std::vector<Tensor>{ones({4})};
  ASSERT_EQ(a->size(), 4u);
  for (int64_t i = 0; i < 4; i++) EXPECT_EQ(a[static_cast<size_t>(i)].size(0), i + 1);
}

TEST(ParameterDict, UpdateRefusesANewNameAndChangesNothing) {
  OrderedDict<std::string, Tensor> first, second;
  first.insert("a", ones({1}));
  second.insert("a", zeros({2}));
  second.insert("b", zeros({2}));
  nn::ParameterDict dict(first);
  EXPECT_NE(error_of([&] { dict->update(second); }).find("b"), std::string::npos);
  EXPECT_EQ(dict->get("a").size(0), 1);
  first["a"] = zeros({3});
  dict->update(first);
  EXPECT_EQ(dict->get("a").size(0), 3);
}

TEST(Hardtanh, RefusesAnEmptyRange) {
  EXPECT_NE(error_of<ValueError>([] { nn::Hardtanh(nn::HardtanhOptions().min_val(1).max_val(1)); }).find("max_val"), std::string::npos);
}

TEST(Recurrent, OptionsBaseIsWhatTheKindsShare) {
  nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(2).proj_size(2));
  EXPECT_EQ(lstm->options_base.hidden_size(), 4);
  EXPECT_EQ(lstm->options_base.proj_size(), 2);
  lstm->flatten_parameters();
  EXPECT_EQ(nn::GRU(3, 4)->options_base.num_layers(), 1);
}

TEST(CtcLoss, RefusesLengthsThatAreNoIntegers) {
  const Tensor scores = randn({5, 1, 3}).log_softmax(2), labels = tensor(std::vector<int64_t>{1, 2}).view({1, 2});
  const Tensor floats = tensor({5.0}), steps = tensor(std::vector<int64_t>{5}), count = tensor(std::vector<int64_t>{2});
  EXPECT_NE(error_of([&] { nn::functional::ctc_loss(scores, labels, floats, count); }).find("input_lengths must be integral"), std::string::npos);
  EXPECT_NE(error_of([&] { nn::functional::ctc_loss(scores, labels, steps, floats); }).find("target_lengths must be integral"), std::string::npos);
}

}  // namespace
