#include "cresset/transform/autocast.h"
#include "training.h"

namespace training {

namespace {

void lbfgs(Losses& losses) {
  const Tensor x = linspace(-2, 2, 60).unsqueeze(1), y = sin(x * 3);
  auto model = chain(LAYER(Linear(1, 16)), LAYER(Tanh()), LAYER(Linear(16, 1)));
  optim::LBFGS optimizer(model->parameters(), optim::LBFGSOptions(1.0).max_iter(8).history_size(5).line_search_fn("strong_wolfe"));
  const auto closure = [&] {
    optimizer.zero_grad();
    const Tensor loss = F::mse_loss(model(x), y);
    loss.backward();
    return loss;
  };
  for (int i = 0; i < 4; i++) losses.add(optimizer.step(closure));
  losses.add(F::mse_loss(model(x), y));
}

void muon(Losses& losses) {
  auto model = chain(LAYER(Linear(nn::LinearOptions(24, 48).bias(false))), LAYER(GELU()), LAYER(Linear(nn::LinearOptions(48, 6).bias(false))));
  optim::Muon optimizer(model->parameters(), optim::MuonOptions(0.02).weight_decay(0.01));
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, 6);
  for (const Tensor& x : batches(6, {32, 24})) {
    const Tensor y = randn({32, 6});
    const Tensor loss = F::smooth_l1_loss(model(x), y);
    minimize(optimizer, loss);
    schedule.step();
    losses.add(loss);
  }
}

void adafactor(Losses& losses) {
  namespace swa_utils = optim::swa_utils;
  auto model = chain(LAYER(Linear(16, 40)), LAYER(Softplus()), LAYER(Linear(40, 3)));
  swa_utils::AveragedModel average(model.ptr(), swa_utils::get_ema_multi_avg_fn(0.9));
  optim::Adafactor optimizer(model->parameters(), optim::AdafactorOptions(0.05));
  const auto options = F::HuberLossFuncOptions().delta(0.7);
  for (const Tensor& x : batches(6, {32, 16})) {
    const Tensor y = randn({32, 3});
    const Tensor loss = F::huber_loss(model(x), y, options);
    minimize(optimizer, loss);
    average.update_parameters(*model);
    losses.add(loss);
    NoGradGuard no_grad;
    losses.add(F::huber_loss(average.model_as<nn::SequentialImpl>().forward(x), y, options));
  }
}

void swa(Losses& losses) {
  auto model = chain(LAYER(Linear(12, 24)), LAYER(BatchNorm1d(24)), LAYER(Hardtanh()), LAYER(Linear(24, 2)));
  optim::swa_utils::AveragedModel average(model.ptr());
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.2).momentum(0.9).dampening(0.1));
  optim::lr_scheduler::SWALR schedule(optimizer, {0.05}, 3);
  const auto data = batches(6, {32, 12});
  Tensor y;
  for (const Tensor& x : data) {
    y = randn({32, 2});
    const Tensor loss = F::mse_loss(model(x), y);
    minimize(optimizer, loss);
    average.update_parameters(*model);
    schedule.step();
    losses.add(loss);
  }
  auto* averaged = &average.model_as<nn::SequentialImpl>();
  optim::swa_utils::update_bn(data, averaged);
  averaged->eval();
  NoGradGuard no_grad;
  losses.add(F::mse_loss(averaged->forward(data[0]), y));
}

void mixed_precision(Losses& losses) {
  auto model = chain(LAYER(Linear(64, 128)), LAYER(ReLU()), LAYER(LayerNorm(nn::LayerNormOptions({128}))), LAYER(Linear(128, 8)));
  optim::ASGD optimizer(model->parameters(), optim::ASGDOptions(0.05));
  amp::GradScaler scaler(256.0);
  for (const Tensor& x : batches(6, {48, 64})) {
    const Tensor y = randint(0, 8, {48}, kLong);
    optimizer.zero_grad();
    Tensor loss;
    {
      autocast region(kCPU, kBFloat16);
      loss = F::cross_entropy(model(x), y);
    }
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    scaler.step(optimizer);
    scaler.update();
    losses.add(loss);
  }
}

void accumulation(Losses& losses) {
  auto model = chain(LAYER(Linear(30, 50)), LAYER(SELU()), LAYER(AlphaDropout(0.1)), LAYER(Linear(50, 1)));
  optim::Adamax optimizer(model->parameters(), optim::AdamaxOptions(1e-2));
  optim::lr_scheduler::ReduceLROnPlateau schedule(optimizer, optim::lr_scheduler::ReduceLROnPlateau::min, 0.5, 1);
  for (int i = 0; i < 5; i++) {
    optimizer.zero_grad();
    Tensor total = zeros({});
    for (const Tensor& x : batches(3, {16, 30})) {
      const Tensor loss = F::poisson_nll_loss(model(x), x.narrow(1, 0, 1).abs()) / 3;
      loss.backward();
      total = total + loss.detach();
    }
    nn::utils::clip_grad_value_(model->parameters(), 0.05);
    optimizer.step();
    schedule.step(total.item<double>());
    losses.add(total);
  }
}

}  // namespace

void add_methods(std::map<std::string, Program>& programs) {
  programs.insert(
      {{"lbfgs", lbfgs}, {"muon", muon}, {"adafactor", adafactor}, {"swa", swa}, {"mixed_precision", mixed_precision}, {"accumulation", accumulation}});
}

}  // namespace training
