// Recovers a plane and a cubic from noisy samples: by an optimizer, by hand-written steps, and in closed form.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <utility>
#include <vector>

#include "expect.h"

// Samples of y = X w + b with a little noise.
static std::pair<torch::Tensor, torch::Tensor> plane(int64_t n, const torch::Tensor& w, double b) {
  torch::Tensor x = torch::rand({n, w.size(0)}) * 2 - 1;
  torch::Tensor y = x.mm(w) + b + 0.01 * torch::randn({n, 1});
  return {x, y};
}

static torch::Tensor powers(const torch::Tensor& x, int degree) {
  std::vector<torch::Tensor> columns;
  for (int i = 1; i <= degree; ++i) columns.push_back(torch::pow(x, i));
  return torch::stack(columns, /*dim=*/1);
}

int main() {
  torch::manual_seed(3);
  const torch::Tensor w = torch::tensor({2.0f, -3.0f, 0.5f}).unsqueeze(1);
  auto [x, y] = plane(256, w, 1.5);

  // By an optimizer on mini-batches.
  torch::nn::Linear layer(torch::nn::LinearOptions(3, 1));
  torch::optim::SGD sgd(layer->parameters(), /*lr=*/0.2);
  for (int step = 0; step < 300; ++step) {
    const int64_t at = (step * 32) % 256;
    sgd.zero_grad();
    auto loss = torch::mse_loss(layer->forward(x.slice(0, at, at + 32)), y.slice(0, at, at + 32));
    loss.backward();
    sgd.step();
  }
  std::cout << "weight " << layer->weight << "\nbias " << layer->bias << std::endl;
  check(torch::allclose(layer->weight.t(), w, 0.05, 0.05), "weights of the plane");
  check(std::abs(layer->bias.item<float>() - 1.5f) < 0.05f, "bias of the plane");

  // By hand, on leaves of our own.
  auto line = torch::rand(200) * 2 - 1;
  auto target = 0.3 * line - 0.8 * line.pow(2) + 1.2 * line.pow(3);
  auto features = powers(line, 3);
  auto c = torch::zeros({3}, torch::requires_grad());
  for (int step = 0; step < 2000; ++step) {
    auto loss = (features.matmul(c) - target).square().mean();
    loss.backward();
    torch::NoGradGuard guard;
    c -= 0.5 * c.grad();
    c.mutable_grad().zero_();
  }
  std::cout << "cubic " << c << std::endl;
  check(torch::allclose(c, torch::tensor({0.3f, -0.8f, 1.2f}), 0.05, 0.05), "coefficients of the cubic");

  // L-BFGS needs few evaluations for the same.
  auto d = torch::zeros({3}, torch::requires_grad());
  torch::optim::LBFGS lbfgs({d}, torch::optim::LBFGSOptions(1).max_iter(30).line_search_fn("strong_wolfe"));
  lbfgs.step([&]() -> torch::Tensor {
    lbfgs.zero_grad();
    auto loss = (features.matmul(d) - target).square().sum();
    loss.backward();
    return loss;
  });
  check(torch::allclose(d, torch::tensor({0.3f, -0.8f, 1.2f}), 1e-2, 1e-2), "coefficients by L-BFGS");
  return failures;
}
