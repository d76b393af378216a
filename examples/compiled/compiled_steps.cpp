// Trains one model as it is and another compiled, on the same numbers, and compares times and losses.
//
//   compiled_steps [STEPS]
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cresset/cresset.h"
#include "cresset/graph/codegen/compile.h"
#include "cresset/nn/nn.h"
#include "cresset/optim/optim.h"

using namespace cresset;

// x * sigmoid(1.702 x) and a norm of rows, in plain operators: compiled, they are one kernel each way.
struct NetImpl : nn::Module {
  nn::Linear first = nullptr, last = nullptr;
  NetImpl() {
    first = register_module("first", nn::Linear(64, 1024));
    last = register_module("last", nn::Linear(1024, 8));
  }
  Tensor forward(const Tensor& x) {
    Tensor y = first(x);
    y = y * (y * 1.702).sigmoid();
    y = y - y.mean({-1}, true);
    y = y / ((y * y).mean({-1}, true) + 1e-5).sqrt();
    return last(y);
  }
};
CRESSET_MODULE(Net);

template <class Forward> static double train(Net& model, const Forward& forward, int steps) {
  optim::AdamW optimizer(model->parameters(), 1e-3);
  manual_seed(7);
  const Tensor x = randn({256, 64}), target = x.slice(1, 0, 8).sin();
  double loss = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; i++) {
    optimizer.zero_grad();
    const Tensor l = mse_loss(forward(x), target);
    l.backward();
    optimizer.step();
    loss = l.item<double>();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  std::printf("%.3f ms a step, loss %.6f\n", spent.count() / steps, loss);
  return loss;
}

int main(int argc, char** argv) try {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  manual_seed(1);
  Net plain;
  manual_seed(1);
  Net compiled;
  const auto fast = compile(compiled);
  std::printf("as it is: ");
  const double expected = train(
      plain, [&](const Tensor& x) { return plain->forward(x); }, steps);
  std::printf("compiled: ");
  const double found = train(compiled, fast, steps);
  const CompileReport report = fast.report();
  std::printf("%zu program, %zu kernels\n", report.programs, report.kernels);
  return std::abs(found - expected) < 1e-3 * (1 + expected) ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
