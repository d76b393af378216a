// Trains a convolutional network on MNIST and prints its test accuracy.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "../command_line.h"
#include "cresset/cresset.h"

using namespace cresset;

struct NetImpl : nn::Module {
  NetImpl()
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 32, 3)))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(32, 64, 3)))),
        fc1(register_module("fc1", nn::Linear(9216, 128))),
        fc2(register_module("fc2", nn::Linear(128, 10))) {}

  Tensor forward(Tensor x) {
    x = relu(conv1->forward(x));
    x = max_pool2d(relu(conv2->forward(x)), 2).flatten(1);
    return log_softmax(fc2->forward(relu(fc1->forward(x))), 1);
  }

  nn::Conv2d conv1, conv2;
  nn::Linear fc1, fc2;
};
CRESSET_MODULE(Net);

struct Settings {
  std::string data = MNIST_DATA, save = "mnist.safetensors";
  long epochs = 2, steps = 0, batch = 64, seed = 1, threads = 0;
  double lr = 1e-3;
  bool losses = false;
};

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

static Settings parse(int argc, char** argv) {
  Settings s;
  CommandLine("mnist")
      .number("--epochs", s.epochs, 1, "passes over the training set (2)")
      .number("--steps", s.steps, 0, "stop after so many steps (0: at the end of the epochs)")
      .number("--batch", s.batch, 1, "samples to a step (64)")
      .real("--lr", s.lr, 1e-12, "rate of AdamW: rises for 200 steps, falls to 0 at the end (0.001)")
      .number("--seed", s.seed, 0, "of initialisation and shuffling (1)")
      .number("--threads", s.threads, 1, "threads to compute with (all cores)")
      .text("--data", "DIR", s.data, "folder of the four MNIST files, gzipped or not")
      .text("--save", "FILE", s.save, "where the weights go; empty: nowhere (mnist.safetensors)")
      .flag("--losses", s.losses, "print the loss of every step with all digits")
      .parse(argc, argv);
  return s;
}

// A bar that is redrawn in place, and only on a terminal.
static void progress(size_t done, size_t total, double loss, double seconds) {
  if (static const bool terminal = isatty(STDERR_FILENO); !terminal) return;
  const int width = 30, filled = static_cast<int>(width * done / total);
  std::fprintf(stderr, "\r[%.*s%*s] %5zu/%zu  loss %.4f  %.0f samples/s ", filled, "##############################", width - filled, "", done, total, loss,
               static_cast<double>(done) / seconds);
  if (done == total) std::fputc('\n', stderr);
}

static double accuracy(Net& net, const data::datasets::MNIST& test) {
  NoGradGuard no_grad;
  net->eval();
  const int64_t n = test.images().size(0), step = 50;  // the activations of a small batch reuse memory that is warm
  int64_t right = 0;
  for (int64_t i = 0; i < n; i += step) {
    const Tensor x = test.images().slice(0, i, i + step), y = test.targets().slice(0, i, i + step);
    right += net->forward((x - 0.1307) / 0.3081).argmax(1).eq(y).sum().item<int64_t>();
  }
  net->train();
  return static_cast<double>(right) / static_cast<double>(n);
}

static void run(const Settings& s) {
  if (s.threads) set_num_threads(static_cast<int>(s.threads));
  const data::datasets::MNIST test(s.data, data::datasets::MNIST::Mode::kTest);
  auto train = data::datasets::MNIST(s.data).map(data::transforms::Normalize<>(0.1307, 0.3081)).map(data::transforms::Stack<>());
  const size_t total = train.size().value();
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(std::move(train), data::DataLoaderOptions().batch_size(static_cast<size_t>(s.batch)));
  manual_seed(static_cast<uint64_t>(s.seed));
  Net net;
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(s.lr));
  auto& rates = static_cast<optim::AdamWOptions&>(optimizer.param_groups()[0].options());
  const auto steps = static_cast<double>(s.epochs * ((static_cast<long>(total) + s.batch - 1) / s.batch));
  long step = 0;
  for (long epoch = 1; epoch <= s.epochs; epoch++) {
    const double start = now();
    double loss_sum = 0;
    size_t done = 0;
    for (auto& batch : *loader) {
      rates.lr(s.lr * std::min(static_cast<double>(step + 1) / 200, 1 - static_cast<double>(step) / steps));
      optimizer.zero_grad();
      const Tensor loss = nll_loss(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      if (s.losses) std::printf("loss %ld %.9g\n", step, loss.item<double>());
      const size_t count = static_cast<size_t>(batch.target.size(0));
      loss_sum += loss.item<double>() * static_cast<double>(count);
      done += count;
      progress(done, total, loss_sum / static_cast<double>(done), now() - start);
      if (++step == s.steps) return;
    }
    const double seconds = now() - start;
    std::printf("epoch %ld/%ld: loss %.4f, test accuracy %.2f %%, %.0f samples/s\n", epoch, s.epochs, loss_sum / static_cast<double>(done),
                100 * accuracy(net, test), static_cast<double>(done) / seconds);
    std::fflush(stdout);
  }
  if (!s.save.empty()) {
    io::save_safetensors(*net, s.save);
    std::printf("weights saved to %s, ", s.save.c_str());
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory %.0f MiB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mnist: %s\n", error.what());
    return 1;
  }
}
