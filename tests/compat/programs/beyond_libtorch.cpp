// Parts that LibTorch leaves to Python: hooks on modules, checkpointing, packed sequences, normalised weights, every schedule, SparseAdam.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

namespace rnn = torch::nn::utils::rnn;
namespace schedules = torch::optim::lr_scheduler;

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    words = register_module("words", torch::nn::Embedding(torch::nn::EmbeddingOptions(20, 6)));
    network = register_module("network", torch::nn::LSTM(6, 8));
    head = register_module("head", torch::nn::Linear(8, 3));
  }
  torch::Tensor forward(const rnn::PackedSequence& text) {
    const auto states = std::get<1>(network->forward_with_packed_input(text));
    return torch::utils::checkpoint([this](const torch::Tensor& x) { return head(x); }, std::get<0>(states)[0]);
  }
  torch::nn::Embedding words{nullptr};
  torch::nn::LSTM network{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Net);

bool schedules_run() {
  auto w = torch::ones({1}, torch::requires_grad());
  torch::optim::SGD optimizer({w}, torch::optim::SGDOptions(0.1).momentum(0.9));
  std::vector<std::shared_ptr<schedules::EpochScheduler>> all = {
      std::make_shared<schedules::LambdaLR>(optimizer, [](int64_t epoch) { return 1.0 / double(epoch + 1); }),
      std::make_shared<schedules::MultiplicativeLR>(optimizer, [](int64_t) { return 0.9; }),
      std::make_shared<schedules::StepLR>(optimizer, 2),
      std::make_shared<schedules::MultiStepLR>(optimizer, std::vector<int64_t>{1, 3}),
      std::make_shared<schedules::ConstantLR>(optimizer),
      std::make_shared<schedules::LinearLR>(optimizer),
      std::make_shared<schedules::ExponentialLR>(optimizer, 0.9),
      std::make_shared<schedules::PolynomialLR>(optimizer),
      std::make_shared<schedules::CosineAnnealingLR>(optimizer, 5),
      std::make_shared<schedules::CosineAnnealingWarmRestarts>(optimizer, 2),
      std::make_shared<schedules::CyclicLR>(optimizer, std::vector<double>{0.01}, std::vector<double>{0.1}),
      std::make_shared<schedules::SWALR>(optimizer, std::vector<double>{0.05}),
  };
  for (auto& schedule : all) {
    for (int i = 0; i < 4; i++) {
      optimizer.step();
      schedule->step();
    }
    if (schedule->last_epoch() != 4 || !std::isfinite(schedule->get_last_lr()[0])) return false;
  }
  schedules::ReduceLROnPlateau plateau(optimizer);
  plateau.step(1.0);
  schedules::ChainedScheduler chained(all);
  chained.step();
  return true;
}

bool ranges() {
  return torch::arange(0, 10).numel() == 10 && torch::arange(0, 10).scalar_type() == torch::kLong && at::arange(0.0, 1.0).scalar_type() == torch::kFloat &&
         torch::arange(10, torch::kFloat).numel() == 10 && torch::arange(2, 8, 3).numel() == 2 && torch::arange(2, 8, torch::kFloat).numel() == 6;
}

int main() {
  torch::manual_seed(0);
  Net net;
  auto handle = torch::nn::utils::spectral_norm(net->head);
  int calls = 0, gradients = 0;
  auto forward = net->head->register_forward_hook([&](torch::nn::Module&, const std::vector<torch::Tensor>&, std::vector<torch::Tensor>&) { calls++; });
  auto backward = net->head->register_full_backward_hook(
      [&](torch::nn::Module&, std::vector<torch::Tensor>&, const std::vector<torch::Tensor>& grads) { gradients += grads[0].defined(); });
  torch::optim::SparseAdam for_words(net->words->parameters(), torch::optim::SparseAdamOptions(0.05));
  std::vector<torch::Tensor> rest;
  for (const auto& item : net->named_parameters())
    if (item.key().rfind("words", 0) != 0) rest.push_back(item.value());
  torch::optim::RAdam for_rest(rest, torch::optim::RAdamOptions(0.05));
  const auto target = torch::tensor({0, 1, 2});
  float first = 0, last = 0;
  for (int step = 0; step < 30; step++) {
    std::vector<torch::Tensor> sequences;
    for (int64_t i = 0; i < 3; i++) sequences.push_back(torch::embedding(net->words->weight, torch::arange(5 * i, 5 * i + 2 + i), -1, false, true));
    for_words.zero_grad();
    for_rest.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(net(rnn::pack_sequence(sequences, false)), target);
    loss.backward();
    for_words.step();
    for_rest.step();
    (step == 0 ? first : last) = loss.item<float>();
  }
  std::cout << "loss from " << first << " to " << last << ", " << calls << " calls, " << gradients << " gradients" << std::endl;
  // Checkpointed: each call of the head runs twice, and once with gradients.
  if (calls != 60 || gradients != 30 || !(last < first / 2)) return 1;
  torch::nn::utils::remove_spectral_norm(net->head, handle);
  return net->named_parameters().contains("head.weight") && schedules_run() && ranges() ? 0 : 2;
}
