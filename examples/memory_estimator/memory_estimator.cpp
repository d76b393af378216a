// Estimates the memory of a model and of one training step before any of it is allocated: examples/python/memory_estimator.py in C++.
// With --run it also trains one step on the CPU and prints what the allocator has handed out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cresset/core/memory/allocator.h"
#include "cresset/cresset.h"
#include "cresset/transform/fake.h"

using namespace cresset;

struct Settings {
  std::string model = "convnet", device = "cuda";
  int64_t batch = 32;
  bool run = false;
};

static nn::Sequential make_model(const std::string& name) {
  if (name == "perceptron") {
    nn::Sequential net(nn::Linear(784, 1024), nn::ReLU());
    for (int i = 0; i < 2; i++) {
      net->push_back(nn::Linear(1024, 1024));
      net->push_back(nn::ReLU());
    }
    net->push_back(nn::Linear(1024, 10));
    return net;
  }
  nn::Sequential net;
  int64_t channels = 3;
  for (const int64_t n : {64, 128, 256}) {
    net->push_back(nn::Conv2d(nn::Conv2dOptions(channels, n, 3).padding(1)));
    net->push_back(nn::BatchNorm2d(n));
    net->push_back(nn::ReLU());
    net->push_back(nn::MaxPool2d(2));
    channels = n;
  }
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(16 * channels, 10));
  return net;
}

static Tensor make_batch(const std::string& name, int64_t n, Device device) {
  return name == "perceptron" ? randn({n, 784}, device) : randn({n, 3, 32, 32}, device);
}

static int64_t bytes(const std::vector<Tensor>& tensors) {
  int64_t n = 0;
  for (const Tensor& t : tensors)
    if (t.defined()) n += static_cast<int64_t>(t.nbytes());
  return n;
}

// The loss's graph is what keeps the activations: `after_forward` runs while it is alive.
template <class F> static void step(nn::Sequential& net, optim::Optimizer& optimizer, const Tensor& inputs, const Tensor& targets, F&& after_forward) {
  optimizer.zero_grad();
  const Tensor loss = cross_entropy_loss(net->forward(inputs), targets);
  after_forward();
  loss.backward();
  optimizer.step();
}

// Two steps, of which the first makes gradients and state; `reset` runs between them. `used` tells the bytes in use.
template <class Reset, class Used> static int64_t train(const Settings& s, Device device, Reset&& reset, Used&& used, bool print) {
  nn::Sequential net = make_model(s.model);
  net->to(device);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  const Tensor inputs = make_batch(s.model, s.batch, device), targets = zeros({s.batch}, TensorOptions(kLong).device(device));
  step(net, optimizer, inputs, targets, [] {});
  const int64_t gradients = bytes(net->parameters());
  const int64_t state = used() - 2 * gradients - bytes(net->buffers()) - bytes({inputs, targets});
  reset();
  int64_t before = used() - gradients, activations = 0;  // zero_grad frees the gradients
  step(net, optimizer, inputs, targets, [&] { activations = used() - before; });
  if (print) {
    const std::pair<const char*, int64_t> lines[] = {
        {"parameters", bytes(net->parameters())}, {"buffers", bytes(net->buffers())}, {"gradients", gradients}, {"optimizer state", state},
        {"batch", bytes({inputs, targets})},      {"activations", activations}};
    for (const auto& [what, n] : lines) std::printf("%-16s%12.2f MiB\n", what, static_cast<double>(n) / (1 << 20));
  }
  return used();
}

static void print_peak(const char* what, int64_t n) { std::printf("%-16s%12.2f MiB\n", what, static_cast<double>(n) / (1 << 20)); }

int main(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; i++) {
    const std::string flag = argv[i];
    if (flag == "--run") {
      s.run = true;
    } else if (i + 1 < argc && flag == "--model") {
      s.model = argv[++i];
    } else if (i + 1 < argc && flag == "--batch") {
      s.batch = std::strtol(argv[++i], nullptr, 10);
    } else if (i + 1 < argc && flag == "--device") {
      s.device = argv[++i];
    } else {
      std::fprintf(stderr, "usage: memory_estimator [--model perceptron|convnet] [--batch N] [--device NAME] [--run]\n");
      return 2;
    }
  }
  const Device device(s.device);
  std::printf("%s, %lld samples, adam, on %s\n", s.model.c_str(), static_cast<long long>(s.batch), s.device.c_str());
  {
    const auto mode = make_fake_mode();
    const FakeModeScope fake(mode.get());
    train(
        s, device, [&] { mode->reset_peak(device); }, [&] { return mode->memory(device).allocated_bytes; }, true);
    print_peak("peak", mode->memory(device).peak_allocated_bytes);
  }
  if (s.run) {
    const int64_t start = cpu_allocator_stats().allocated_bytes;
    train(
        s, kCPU, reset_cpu_allocator_peak, [&] { return cpu_allocator_stats().allocated_bytes - start; }, false);
    print_peak("peak, in truth", cpu_allocator_stats().peak_allocated_bytes - start);
  }
  return 0;
}
