#include "training.h"

namespace training {

namespace {

void convnet(Losses& losses) {
  auto model = chain(LAYER(Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1).bias(false))), LAYER(BatchNorm2d(16)), LAYER(ReLU()), LAYER(MaxPool2d(2)),
                     LAYER(Conv2d(nn::Conv2dOptions(16, 32, 3).stride(2).padding(1).groups(2))), LAYER(BatchNorm2d(32)), LAYER(SiLU()),
                     LAYER(AdaptiveAvgPool2d(1)), LAYER(Flatten()), LAYER(Linear(32, 10)));
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-2));
  optim::lr_scheduler::StepLR schedule(optimizer, 3, 0.5);
  Tensor y;
  const auto data = batches(8, {16, 3, 20, 20});
  for (const Tensor& x : data) {
    y = randint(0, 10, {16}, kLong);
    const Tensor loss = F::cross_entropy(model(x), y);
    minimize(optimizer, loss);
    schedule.step();
    losses.add(loss);
  }
  model->eval();
  NoGradGuard no_grad;
  losses.add(F::cross_entropy(model(data.back()), y));
}

void autoencoder(Losses& losses) {
  auto model =
      chain(LAYER(Conv2d(nn::Conv2dOptions(1, 8, 3).stride(2).padding(1))), LAYER(ELU()), LAYER(Conv2d(nn::Conv2dOptions(8, 4, 3).stride(2).padding(1))),
            LAYER(ELU()), LAYER(ConvTranspose2d(nn::ConvTranspose2dOptions(4, 8, 4).stride(2).padding(1))), LAYER(PReLU()),
            LAYER(Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2.0, 2.0}).mode(kBilinear).align_corners(false))),
            LAYER(Conv2d(nn::Conv2dOptions(8, 1, 3).padding(1))));
  optim::Adadelta optimizer(model->parameters(), optim::AdadeltaOptions(1.0));
  for (const Tensor& x : batches(6, {16, 1, 16, 16})) {
    const Tensor square = F::mse_loss(model(x), x);
    const Tensor loss = square + F::l1_loss(model(x), x) * 0.1;
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void segmentation(Losses& losses) {
  nn::Conv2d down(nn::Conv2dOptions(3, 8, 3).stride(2).padding(1));
  nn::GroupNorm norm(2, 8);
  nn::ConvTranspose2d up(nn::ConvTranspose2dOptions(8, 8, 2).stride(2));
  nn::Conv2d head(11, 4, 1);
  optim::AdamW optimizer(parameters_of(down, norm, up, head), optim::AdamWOptions(1e-2).weight_decay(0.05));
  const auto options = F::CrossEntropyFuncOptions().weight(tensor({1.0f, 2.0f, 0.5f, 1.5f})).ignore_index(255);
  for (const Tensor& x : batches(5, {6, 3, 12, 12})) {
    const Tensor y = randint(0, 4, {6, 12, 12}, kLong);
    y.narrow(1, 0, 2).fill_(255);
    const Tensor wide = up(relu(norm(down(x))));
    const Tensor loss = F::cross_entropy(head(cat({wide, x}, 1)), y, options);
    minimize(optimizer, loss);
    losses.add(loss);
  }
}

void loader(Losses& losses) {
  const Tensor inputs = randn({50, 10}), targets = randint(0, 3, {50}, kLong);
  struct Rows : data::datasets::Dataset<Rows> {
    Rows(Tensor x, Tensor y) : inputs(std::move(x)), targets(std::move(y)) {}
    data::Example<> get(size_t i) override { return {inputs[static_cast<int64_t>(i)], targets[static_cast<int64_t>(i)]}; }
    std::optional<size_t> size() const override { return static_cast<size_t>(inputs.size(0)); }
    Tensor inputs, targets;
  };
  auto model = chain(LAYER(Linear(10, 20)), LAYER(BatchNorm1d(20)), LAYER(Sigmoid()), LAYER(Linear(20, 3)));
  optim::Rprop optimizer(model->parameters(), optim::RpropOptions(0.01));
  auto batches_of = data::make_data_loader<data::samplers::SequentialSampler>(Rows(inputs, targets).map(data::transforms::Stack<>()),
                                                                              data::DataLoaderOptions(12).drop_last(true));
  for (int epoch = 0; epoch < 2; epoch++) {
    for (auto& batch : *batches_of) {
      const Tensor loss = F::multi_margin_loss(model(batch.data), batch.target);
      minimize(optimizer, loss);
      losses.add(loss);
    }
  }
}

}  // namespace

void add_images(std::map<std::string, Program>& programs) {
  programs.insert({{"convnet", convnet}, {"autoencoder", autoencoder}, {"segmentation", segmentation}, {"loader", loader}});
}

}  // namespace training
