// Recurrent networks: an LSTM tells which symbol came first in a sequence; a GRU as one step of a loop; a convolution over time.
#include <torch/torch.h>

#include <iostream>
#include <tuple>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

constexpr int64_t kSymbols = 5, kLength = 6;

struct TellerImpl : nn::Module {
  TellerImpl()
      : embedding(register_module("embedding", nn::Embedding(kSymbols, 8))),
        lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(8, 24).num_layers(1).batch_first(true)))),
        head(register_module("head", nn::Linear(24, kSymbols))) {}
  torch::Tensor forward(const torch::Tensor& symbols) {
    auto [output, state] = lstm->forward(embedding(symbols));
    const auto& hidden = std::get<0>(state);
    TORCH_CHECK(output.size(1) == symbols.size(1) && hidden.size(0) == 1, "shapes of the LSTM");
    return head(output.select(1, -1));
  }
  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear head;
};
TORCH_MODULE(Teller);

static double teller() {
  Teller model;
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  torch::Tensor right;
  for (int step = 0; step < 150; step++) {
    auto symbols = torch::randint(kSymbols, {32, kLength}, torch::TensorOptions(torch::kLong));
    auto first = symbols.index({torch::indexing::Slice(), 0});
    optimizer.zero_grad();
    auto scores = model(symbols);
    auto loss = F::cross_entropy(scores, first);
    loss.backward();
    optimizer.step();
    right = scores.argmax(1).eq(first).to(torch::kFloat).mean();
  }
  std::cout << "teller: " << right.item<float>() * 100 << "% right" << std::endl;
  return right.item<double>();
}

// A sine wave is continued from its own last value.
static double wave() {
  nn::GRUCell cell(nn::GRUCellOptions(1, 16));
  nn::Linear read(16, 1);
  auto parameters = cell->parameters();
  for (auto& p : read->parameters()) parameters.push_back(p);
  torch::optim::RMSprop optimizer(parameters, torch::optim::RMSpropOptions(5e-3));
  auto signal = torch::sin(torch::arange(0, 60, torch::kFloat) * 0.3).view({60, 1, 1});
  double loss_value = 0;
  for (int epoch = 0; epoch < 60; epoch++) {
    auto state = torch::zeros({1, 16});
    auto loss = torch::zeros({});
    for (int64_t t = 0; t + 1 < signal.size(0); t++) {
      state = cell(signal[t], state);
      loss += torch::mse_loss(read(state), signal[t + 1]);
    }
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_value_(parameters, 1.0);
    optimizer.step();
    loss_value = loss.item<double>() / 59;
  }
  std::cout << "wave: " << loss_value << std::endl;
  return loss_value;
}

int main() {
  torch::manual_seed(5);
  nn::Sequential smooth(nn::Conv1d(nn::Conv1dOptions(1, 4, 3).padding(1)), nn::Tanh(), nn::AvgPool1d(2), nn::Flatten(), nn::Linear(12, 1));
  if (smooth->forward(torch::randn({2, 1, 6})).sizes() != torch::IntArrayRef({2, 1})) return 1;
  nn::RNN rnn(nn::RNNOptions(3, 5).num_layers(2).nonlinearity(torch::kReLU).bidirectional(true));
  auto result = rnn(torch::randn({7, 2, 3}));
  if (std::get<0>(result).sizes() != torch::IntArrayRef({7, 2, 10}) || std::get<1>(result).size(0) != 4) return 2;
  if (teller() < 0.9) return 3;
  return wave() < 0.02 ? 0 : 4;
}
