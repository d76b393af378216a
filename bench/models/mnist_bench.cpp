// A training step of the MNIST convolutional network at batch 64 on one thread, its parts, and the peak memory of 100 steps.
// The row mnist_convnet_b64 is that of the same name in a peer's suite of models. Usage: mnist_bench [part of a row's name] [threads]
#include <sys/resource.h>

#include "bench/kernels/bench.h"
#include "cresset/cresset.h"

using namespace cresset;
using namespace cresset::bench;

namespace {

struct NetImpl : nn::Module {
  NetImpl()
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 32, 3)))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(32, 64, 3)))),
        fc1(register_module("fc1", nn::Linear(9216, 128))),
        fc2(register_module("fc2", nn::Linear(128, 10))) {}
  Tensor forward(Tensor x) {
    x = max_pool2d(relu(conv2->forward(relu(conv1->forward(x)))), 2).flatten(1);
    return fc2->forward(relu(fc1->forward(x)));
  }
  nn::Conv2d conv1, conv2;
  nn::Linear fc1, fc2;
};
CRESSET_MODULE(Net);

void time_row(const char* name, const std::function<void()>& f) {
  if (wanted(name)) row(name, seconds_per_call(f, 1.5) * 1e3, "ms");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  manual_seed(0);
  Net net;
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-3));
  const Tensor x = rand({64, 1, 28, 28}), y = randint(0, 10, {64}, kLong);
  Tensor loss;
  const auto step = [&] {
    optimizer.zero_grad();
    loss = cross_entropy_loss(net->forward(x), y);
    loss.backward();
    optimizer.step();
  };
  for (int i = 0; i < 100; i++) step();
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  if (wanted("mnist_peak_memory")) row("mnist_peak_memory", static_cast<double>(usage.ru_maxrss) / 1024, "MiB");
  time_row("mnist_convnet_b64", step);
  time_row("mnist_forward", [&] { loss = cross_entropy_loss(net->forward(x), y); });
  time_row("mnist_forward_no_grad", [&] {
    NoGradGuard no_grad;
    loss = cross_entropy_loss(net->forward(x), y);
  });
  time_row("mnist_optimizer", [&] { optimizer.step(); });
}
