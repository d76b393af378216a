#include "training.h"

namespace training {

namespace {

void mlp(Losses& losses) {
  auto model = chain(LAYER(Linear(784, 256)), LAYER(ReLU()), LAYER(Dropout(0.2)), LAYER(Linear(256, 10)));
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(1e-4));
  for (const Tensor& x : batches(8, {64, 784})) {
    const Tensor y = randint(0, 10, {64}, kLong);
    const Tensor loss = F::cross_entropy(model(x), y);
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void vae(Losses& losses) {
  nn::Linear encoder(100, 40), mean(40, 6), spread(40, 6);
  auto decoder = chain(LAYER(Linear(6, 40)), LAYER(Tanh()), LAYER(Linear(40, 100)), LAYER(Sigmoid()));
  optim::Adam optimizer(parameters_of(encoder, mean, spread, decoder), optim::AdamOptions(3e-3));
  for (int i = 0; i < 6; i++) {
    const Tensor x = rand({32, 100});
    const Tensor hidden = relu(encoder(x)), mu = mean(hidden), log_variance = spread(hidden);
    const Tensor z = mu + randn_like(mu) * (log_variance * 0.5).exp();
    const Tensor loss = F::binary_cross_entropy(decoder(z), x, F::BinaryCrossEntropyFuncOptions().reduction(kSum)) -
                        (1 + log_variance - mu.square() - log_variance.exp()).sum() * 0.5;
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void gan(Losses& losses) {
  auto generator = chain(LAYER(Linear(4, 32)), LAYER(BatchNorm1d(32)), LAYER(ReLU()), LAYER(Linear(32, 10)), LAYER(Tanh()));
  nn::Linear first(10, 32);
  nn::utils::spectral_norm(first);
  auto critic = chain([&] { return first; }, LAYER(LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2))), LAYER(Linear(32, 1)));
  const auto options = optim::AdamOptions(2e-3).betas({0.5, 0.999});
  optim::Adam for_generator(generator->parameters(), options), for_critic(critic->parameters(), options);
  const auto judge = [&](const Tensor& x, double label) { return F::binary_cross_entropy_with_logits(critic(x), full({24, 1}, label)); };
  for (const Tensor& real : batches(5, {24, 10})) {
    const Tensor fake = generator(randn({24, 4}));
    const Tensor good = judge(real, 1.0);
    const Tensor bad = judge(fake.detach(), 0.0);
    minimize(for_critic, good + bad);
    for_generator.zero_grad();
    const Tensor loss = judge(fake, 1.0);
    loss.backward();
    for_generator.step();
    losses.add(good + bad);
    losses.add(loss);
  }
}

void word2vec(Losses& losses) {
  nn::EmbeddingBag context(nn::EmbeddingBagOptions(50, 12).mode(kMean));
  nn::Embedding word(50, 12);
  optim::Adagrad optimizer(parameters_of(context, word), optim::AdagradOptions(0.1).lr_decay(0.01));
  for (int i = 0; i < 6; i++) {
    const Tensor around = randint(0, 50, {40, 4}, kLong), centre = randint(0, 50, {40}, kLong), noise = randint(0, 50, {40, 5}, kLong);
    const Tensor hidden = context(around);
    const Tensor near = F::logsigmoid((hidden * word(centre)).sum(1));
    const Tensor far = F::logsigmoid(-bmm(word(noise), hidden.unsqueeze(2)).squeeze(2)).sum(1);
    const Tensor loss = -(near + far).mean();
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void ranking(Losses& losses) {
  auto model = chain(LAYER(Linear(20, 32)), LAYER(LayerNorm(nn::LayerNormOptions({32}))), LAYER(Mish()), LAYER(Linear(32, 8)));
  optim::NAdam optimizer(model->parameters(), optim::NAdamOptions(5e-3));
  for (int i = 0; i < 6; i++) {
    const auto x = batches(3, {16, 20});
    const Tensor anchor = model(x[0]), positive = model(x[1]), negative = model(x[2]);
    const Tensor sides = sign(randn({16}));
    Tensor loss = F::triplet_margin_loss(anchor, positive, negative, F::TripletMarginLossFuncOptions().margin(0.5).swap(true));
    loss = loss + F::cosine_embedding_loss(anchor, negative, sides, F::CosineEmbeddingLossFuncOptions().margin(0.1));
    loss = loss + F::margin_ranking_loss(anchor.norm(2, 1), positive.norm(2, 1), sides, F::MarginRankingLossFuncOptions().margin(0.2));
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

}  // namespace

void add_dense(std::map<std::string, Program>& programs) {
  programs.insert({{"mlp", mlp}, {"vae", vae}, {"gan", gan}, {"word2vec", word2vec}, {"ranking", ranking}});
}

}  // namespace training
