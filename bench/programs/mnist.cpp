// The training step of examples/mnist at batch 64 on random data: milliseconds a step, the last loss, the peak of resident memory after
// 100 steps. Usage: mnist [threads [steps to time]]
#include <sys/resource.h>
#include <torch/torch.h>

#include <cstdlib>

#include "timing.h"

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv1(register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3)))),
        conv2(register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3)))),
        fc1(register_module("fc1", torch::nn::Linear(9216, 128))),
        fc2(register_module("fc2", torch::nn::Linear(128, 10))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(conv2->forward(torch::relu(conv1->forward(x))));
    x = torch::max_pool2d(x, 2).flatten(1);
    return fc2->forward(torch::relu(fc1->forward(x)));
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(Net);

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1, steps = argc > 2 ? std::atoi(argv[2]) : 100;
  torch::set_num_threads(threads);
  torch::manual_seed(0);
  Net net;
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(1e-3));
  const torch::Tensor x = torch::rand({64, 1, 28, 28}), y = torch::randint(10, {64}, torch::kLong);
  double loss = 0, best = 1e9;
  for (int step = 0; step < steps; step++) {
    const double start = bench::seconds(threads);
    optimizer.zero_grad();
    const torch::Tensor value = torch::cross_entropy_loss(net->forward(x), y);
    value.backward();
    optimizer.step();
    best = std::min(best, bench::seconds(threads) - start);
    if (step == 9) loss = value.item<double>();
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  bench::row("mnist_step", best * 1e3, "ms");
  bench::row("mnist_loss_of_step_10", loss, "nats");
  bench::row("mnist_resident", static_cast<double>(usage.ru_maxrss) / 1024, "MiB");
}
