// Programs of TorchScript in C++, one row of milliseconds: jit start, or jit load|steady|loop FILE
#include <torch/script.h>

#include <cstdlib>
#include <string>

#include "timing.h"

namespace {

// Milliseconds, of the thread's CPU time where there is one thread.
double now() {
  static const char* const threads = std::getenv("OMP_NUM_THREADS");
  return bench::seconds(threads ? std::atoi(threads) : 0) * 1e3;
}

// Of calls within a second, the shortest.
template <class F> double best(const F& call) {
  for (int i = 0; i < 3; i++) call();
  double shortest = 1e9;
  for (const double start = now(); now() - start < 1000;) {
    const double begin = now();
    call();
    shortest = std::min(shortest, now() - begin);
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "start") return 0;
  if (argc != 3) return std::fprintf(stderr, "usage: jit start, or jit load|steady|loop FILE\n"), 2;
  const torch::NoGradGuard no_gradients;
  const double start = now();
  torch::jit::Module model = torch::jit::load(argv[2]);
  if (mode == "loop") {
    bench::row("loop", best([&] { model.forward({int64_t{1000000}}); }), "ms");
    return 0;
  }
  const torch::Tensor x = torch::ones({1, 3, 224, 224});
  if (model.forward({x}).toTensor().numel() != 1000) return 1;
  const double first = now() - start;
  bench::row(mode.c_str(), mode == "load" ? first : best([&] { model.forward({x}); }), "ms");
}
