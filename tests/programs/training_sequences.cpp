#include "cresset/transform/checkpoint.h"
#include "training.h"

namespace training {

namespace {

namespace rnn = nn::utils::rnn;

void lstm(Losses& losses) {
  nn::LSTM network(nn::LSTMOptions(8, 24).num_layers(2).dropout(0.3).bidirectional(true));
  nn::Linear head(48, 4);
  optim::Adam optimizer(parameters_of(network, head), optim::AdamOptions(5e-3).amsgrad(true));
  for (int i = 0; i < 6; i++) {
    std::vector<Tensor> sequences;
    for (int64_t n : {5, 9, 2, 7}) sequences.push_back(randn({n, 8}));
    const Tensor y = randint(0, 4, {4}, kLong);
    const auto output = std::get<0>(network->forward_with_packed_input(rnn::pack_sequence(sequences, false)));
    const auto [padded, lengths] = rnn::pad_packed_sequence(output, true);
    const Tensor mean = padded.sum(1) / lengths.unsqueeze(1).to(kFloat);
    const Tensor loss = F::nll_loss(log_softmax(head(mean), 1), y);
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void gru(Losses& losses) {
  nn::Embedding embedding(30, 16);
  nn::GRU network(nn::GRUOptions(16, 32).batch_first(true));
  nn::Linear head(32, 30);
  const auto parameters = parameters_of(embedding, network, head);
  optim::RMSprop optimizer(parameters, optim::RMSpropOptions(1e-3).momentum(0.5).centered(true));
  Tensor output, state;
  for (int i = 0; i < 6; i++) {
    const Tensor text = randint(0, 30, {8, 13}, kLong);
    optimizer.zero_grad();
    std::tie(output, state) = network(embedding(text.narrow(1, 0, 12)), state);
    state = state.detach();
    const Tensor loss = F::cross_entropy(head(output).flatten(0, 1), text.narrow(1, 1, 12).flatten());
    loss.backward();
    nn::utils::clip_grad_norm_(parameters, 0.5);
    optimizer.step();
    losses.add(loss);
  }
}

void transformer(Losses& losses) {
  nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(32, 4).dim_feedforward(64).dropout(0.1).activation(kGELU));
  nn::TransformerEncoder model(nn::TransformerEncoderOptions(layer, 2));
  manual_seed(6);  // copies of the layer have drawn, as in LibTorch, which Python's do not
  nn::Linear head(32, 12);
  optim::AdamW optimizer(parameters_of(model, head), optim::AdamWOptions(1e-2));
  optim::lr_scheduler::LambdaLR schedule(optimizer, [](int64_t epoch) {
    const auto n = static_cast<double>(epoch + 1);
    return std::min(n / 3, 3 / n);
  });
  for (const Tensor& x : batches(6, {10, 8, 32})) {
    const Tensor y = randint(0, 12, {80}, kLong);
    const Tensor loss = F::cross_entropy(head(model(x)).flatten(0, 1), y, F::CrossEntropyFuncOptions().label_smoothing(0.1));
    minimize(optimizer, loss);
    schedule.step();
    losses.add(loss);
  }
}

void ctc(Losses& losses) {
  nn::GRU network(6, 16);
  nn::Linear head(16, 7);
  optim::RAdam optimizer(parameters_of(network, head), optim::RAdamOptions(1e-2));
  for (const Tensor& x : batches(5, {12, 4, 6})) {
    const Tensor targets = randint(1, 7, {4, 3}, kLong);
    const Tensor scores = log_softmax(head(std::get<0>(network(x))), 2);
    const Tensor loss = F::ctc_loss(scores, targets, tensor({12, 12, 10, 9}), tensor({3, 2, 3, 1}));
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void checkpointed(Losses& losses) {
  std::vector<nn::Sequential> blocks;
  std::vector<Tensor> parameters;
  for (int i = 0; i < 4; i++) {
    nn::Linear linear(16, 16);
    nn::utils::weight_norm(linear);
    blocks.push_back(chain([&] { return linear; }, LAYER(GELU()), LAYER(Dropout(0.2))));
    for (const Tensor& p : blocks.back()->parameters()) parameters.push_back(p);
  }
  nn::Linear head(16, 2);
  for (const Tensor& p : head->parameters()) parameters.push_back(p);
  optim::Adam optimizer(parameters, optim::AdamOptions(1e-2).weight_decay(1e-3));
  for (const Tensor& x : batches(5, {20, 16})) {
    const Tensor y = randn({20, 2});
    Tensor hidden = x;
    for (auto& block : blocks) hidden = hidden + utils::checkpoint([block](const Tensor& in) mutable { return block(in); }, hidden);
    const Tensor loss = F::mse_loss(head(hidden), y);
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

}  // namespace

void add_sequences(std::map<std::string, Program>& programs) {
  programs.insert({{"lstm", lstm}, {"gru", gru}, {"transformer", transformer}, {"ctc", ctc}, {"checkpointed", checkpointed}});
}

}  // namespace training
