// A generator of transposed convolutions learns to paint grey squares that a discriminator cannot tell from real ones.
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <tuple>

using namespace torch;

constexpr int64_t kLatent = 12;

struct PainterImpl : nn::Module {
  explicit PainterImpl(int64_t latent)
      : grow1(nn::ConvTranspose2dOptions(latent, 16, 4).bias(false)),
        norm1(16),
        grow2(nn::ConvTranspose2dOptions(16, 8, 4).stride(2).padding(1).bias(false)),
        norm2(8),
        grow3(nn::ConvTranspose2dOptions(8, 1, 3).stride(2).padding(1).output_padding(1)) {
    register_module("grow1", grow1);
    register_module("norm1", norm1);
    register_module("grow2", grow2);
    register_module("norm2", norm2);
    register_module("grow3", grow3);
  }

  Tensor forward(Tensor z) {
    z = torch::relu(norm1(grow1(z)));
    z = torch::relu(norm2(grow2(z)));
    return torch::tanh(grow3(z));
  }

  nn::ConvTranspose2d grow1;
  nn::BatchNorm2d norm1;
  nn::ConvTranspose2d grow2;
  nn::BatchNorm2d norm2;
  nn::ConvTranspose2d grow3;
};
TORCH_MODULE(Painter);

// Normal weights, as such networks like them.
static void initialise(nn::Module& module) {
  NoGradGuard guard;
  if (auto* conv = module.as<nn::Conv2d>()) conv->weight.normal_(0.0, 0.05);
  if (auto* conv = module.as<nn::ConvTranspose2d>()) nn::init::normal_(conv->weight, 0.0, 0.05);
}

struct GreySquares : data::Dataset<GreySquares> {
  data::Example<> get(size_t index) override { return {torch::full({1, 16, 16}, 0.4 + 0.02 * static_cast<double>(index % 5)), torch::zeros({1})}; }
  torch::optional<size_t> size() const override { return 96; }
};

int main(int argc, const char* argv[]) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  torch::manual_seed(4);
  torch::Device device(torch::kCPU);
  if (torch::cuda::is_available()) device = torch::Device(torch::kCUDA);

  Painter painter(kLatent);
  nn::Sequential critic(nn::Conv2d(nn::Conv2dOptions(1, 8, 4).stride(2).padding(1).bias(false)), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
                        nn::Conv2d(nn::Conv2dOptions(8, 16, 4).stride(2).padding(1).bias(false)), nn::BatchNorm2d(16),
                        nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)), nn::Conv2d(nn::Conv2dOptions(16, 1, 4).bias(false)), nn::Sigmoid());
  painter->apply(initialise);
  critic->apply(initialise);
  painter->to(device);
  critic->to(device);

  auto loader = torch::data::make_data_loader(GreySquares().map(data::transforms::Normalize<>(0.5, 0.5)).map(data::transforms::Stack<>()),
                                              torch::data::DataLoaderOptions().batch_size(16).workers(2).drop_last(true));
  optim::Adam painter_steps(painter->parameters(), optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.999)));
  optim::Adam critic_steps(critic->parameters(), optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.999)));

  const Tensor probe = torch::randn({8, kLatent, 1, 1}, device);
  const float before = painter->forward(probe).sub(-0.12).abs().mean().item<float>();
  for (int epoch = 1; epoch <= 12; ++epoch) {
    Tensor critic_loss, painter_loss;
    for (const torch::data::Example<>& batch : *loader) {
      const Tensor real = batch.data.to(device);
      const int64_t n = real.size(0);

      critic->zero_grad();
      Tensor soft_ones = torch::empty(n, device).uniform_(0.8, 1.0);
      Tensor verdict = critic->forward(real).reshape(soft_ones.sizes());
      Tensor on_real = torch::binary_cross_entropy(verdict, soft_ones);
      on_real.backward();
      Tensor painted = painter->forward(torch::randn({n, kLatent, 1, 1}, device));
      Tensor zeros = torch::zeros(n, device);
      Tensor on_painted = torch::binary_cross_entropy(critic->forward(painted.detach()).reshape(zeros.sizes()), zeros);
      on_painted.backward();
      critic_loss = on_real + on_painted;
      critic_steps.step();

      painter->zero_grad();
      painter_loss = torch::binary_cross_entropy(critic->forward(painted).reshape(zeros.sizes()), torch::ones_like(zeros));
      painter_loss.backward();
      painter_steps.step();
    }
    std::cout << "epoch " << epoch << ": critic " << critic_loss.item<float>() << ", painter " << painter_loss.item<float>() << std::endl;
    if (!std::isfinite(painter_loss.item<float>())) return 1;
  }
  const float after = painter->forward(probe).sub(-0.12).abs().mean().item<float>();
  std::cout << "distance to grey " << before << " -> " << after << std::endl;

  // Checkpoints of module and optimizer.
  const std::string weights = folder + "/painter.pt", steps = folder + "/painter_steps.pt";
  torch::save(painter, weights);
  torch::save(painter_steps, steps);
  Painter again(kLatent);
  torch::load(again, weights);
  torch::load(painter_steps, steps);
  std::remove(weights.c_str());
  std::remove(steps.c_str());
  painter->eval();
  again->eval();
  if (!torch::equal(painter->forward(probe), again->forward(probe))) return 2;
  return after < before ? 0 : 3;
}
